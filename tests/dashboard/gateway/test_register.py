"""The register from the page: any period, in pieces, never a file that looks whole and is not."""

import asyncio
import json
import tempfile
from base64 import b64decode
from datetime import UTC, datetime
from io import BytesIO
from typing import Any
from uuid import uuid4
from zipfile import ZipFile

import httpx2
import pytest
from playwright.async_api import Browser, expect

from app.store.tables import MerchantAccount
from app.web.dashboard.form import InvalidFieldsError
from app.web.dashboard.gateway.register import read_form
from gateway_client.models.reports import RegisterColumn
from gateway_client.sandbox.scripting import FaultRule
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import StaffClient, other_store
from tests.dashboard.framing import BrowserErrors, dashboard_of, sign_in
from tests.dashboard.gateway.conftest import SandboxGateway
from tests.dashboard.gateway.test_balances import text
from tests.payments.staff.test_sheet import cells

DAY = datetime(2026, 10, 5, 12, 0, tzinfo=UTC)
PERIOD = {"from": "2026-10-01", "to": "2026-10-31", "form": "csv"}


async def download(staff_client: StaffClient, account: MerchantAccount, **said: str | list[str]) -> httpx2.Response:
    form = {"account": account.id, **PERIOD, **said}
    return await staff_client.http.post("/parts/register/download", headers=staff_client.headers(), data=form)


def told(answer: httpx2.Response) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def file_in(answer: httpx2.Response) -> str:
    """Return the file that the page saves."""
    lines = told(answer)
    assert "whole" in lines[-1]
    return "".join(line.get("text", "") for line in lines)


@pytest.mark.threat("csv-formulas")
async def test_a_register_as_csv_that_no_spreadsheet_computes(
    staff_client: StaffClient, account: MerchantAccount, at_hand: SandboxGateway
) -> None:
    page = await staff_client.see("/register")
    assert 'value="2026-11-01"' in page.text
    assert "originalAmount" in text(page)
    at_hand.add_payment("=1+1", DAY, "100.00")
    at_hand.add_payment("later", DAY.replace(month=11))
    answer = await download(staff_client, account, field=["orderId", "amount", "dateTime"])
    lines = told(answer)
    assert (lines[0]["name"], lines[0]["type"]) == ("register-2026-10-01-2026-10-31.csv", "text/csv")
    assert file_in(answer).splitlines() == [
        "\N{BYTE ORDER MARK}orderId,amount,dateTime (UTC)",
        "'=1+1,100.00,2026-10-05 12:00:00",
    ]
    assert "Oct 1, 2026 to Oct 31, 2026, lines received: 1 of 1." in [line.get("told") for line in lines]
    assert lines[-1] == {"whole": "Lines saved: 1."}


@one_database
async def test_a_register_as_xlsx_in_the_zone_of_the_browser(
    staff_client: StaffClient, account: MerchantAccount, at_hand: SandboxGateway
) -> None:
    at_hand.add_payment("=1+1", DAY, "1708.50")
    columns = ["orderId", "amount", "dateTime"]
    answer = await download(staff_client, account, form="xlsx", zone="Europe/Kyiv", field=columns)
    lines = told(answer)
    assert lines[0]["name"] == "register-2026-10-01-2026-10-31.xlsx"
    assert lines[-1] == {"whole": "Lines saved: 1."}
    book = b"".join(b64decode(line.get("base64", "")) for line in lines)
    assert cells(ZipFile(BytesIO(book))) == [
        ("inlineStr", "orderId"), ("inlineStr", "amount"), ("inlineStr", "dateTime (Europe/Kyiv)"),
        ("inlineStr", "dateTime: UTC offset"),
        ("inlineStr", "=1+1"), ("", "1708.50"), ("", "46300.625"), ("inlineStr", "UTC+03:00"),
    ]  # fmt: skip
    csv = file_in(await download(staff_client, account, zone="Europe/Kyiv", field=columns)).splitlines()
    assert csv[1] == "'=1+1,1708.50,2026-10-05 15:00:00,UTC+03:00"
    assert csv[0].endswith("dateTime (Europe/Kyiv),dateTime: UTC offset")
    without = file_in(await download(staff_client, account, zone="Europe/Kyiv", field=columns[:2])).splitlines()
    assert without == ["\N{BYTE ORDER MARK}orderId,amount", "'=1+1,1708.50"]


async def test_json_lines_of_a_year_window_by_window(
    staff_client: StaffClient, account: MerchantAccount, at_hand: SandboxGateway
) -> None:
    for month in (1, 6, 12):
        at_hand.add_payment(f"order-{month}", DAY.replace(month=month))
    await at_hand.control.options(register_polls=0)
    year = {"from": "2026-01-01", "to": "2026-12-31", "form": "ndjson"}
    answer = await download(staff_client, account, **year, status="success", method="purchase")
    records = [json.loads(line) for line in file_in(answer).splitlines()]
    assert [record["orderId"] for record in records] == ["order-1", "order-6", "order-12"]
    assert await at_hand.asked("/streaming-report/start") == 12, "at most 31 days each"
    answer = await download(staff_client, account, **year, status=["failure", "init"])
    assert file_in(answer) == ""


@one_database
@pytest.mark.parametrize("effect", ["truncate", "drop", "garbage"])
async def test_what_breaks_off_is_no_file(
    staff_client: StaffClient, account: MerchantAccount, at_hand: SandboxGateway, effect: Any
) -> None:
    at_hand.add_payment("order", DAY)
    await at_hand.control.options(register_polls=0)
    await at_hand.control.fault(FaultRule(path="/streaming-report/fetch/*", effect=effect))
    lines = told(await download(staff_client, account))
    assert not any("whole" in line for line in lines)
    assert lines[-1] == {
        "failed": (
            "The download was interrupted, and nothing was saved: the gateway did not send the whole "
            "register. Try again."
        )
    }


@one_database
@pytest.mark.fault("disk-full")
async def test_a_file_for_which_there_is_no_space_is_none(
    staff_client: StaffClient, account: MerchantAccount, at_hand: SandboxGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_hand.add_payment("order", DAY)
    await at_hand.control.options(register_polls=0)
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    lines = told(await download(staff_client, account, form="xlsx"))
    assert not any("whole" in line for line in lines)
    assert "The app has no space left to write this file." in lines[-1]["failed"]


@one_database
async def test_what_cannot_be_had_is_refused_at_once(
    staff_client: StaffClient, account: MerchantAccount, at_hand: SandboxGateway
) -> None:
    for _ in range(6):  # and takes no place of others
        await at_hand.fault("/streaming-report/start")
        answer = await download(staff_client, account)
        assert (answer.status_code, answer.json()["detail"]["code"]) == (502, "GATEWAY")
        assert "does not allow these keys to use this area [S-403]" in answer.json()["detail"]["message"]


@one_database
async def test_all_that_is_wrong_is_said_at_once(staff_client: StaffClient, account: MerchantAccount) -> None:
    answer = await download(staff_client, account, status="\0", method="x" * 5000, field="\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), form="exe", to="soon", **{"from": "\0"})  # fmt: skip  # noqa: E501
    detail = answer.json()["detail"]
    assert (answer.status_code, sorted(detail["fields"])) == (422, ["field", "form", "from", "method", "status", "to"])
    for first, last in (("2026-10-02", "2026-10-01"), ("2000-01-01", "2099-12-31"), ("0001-01-01", "9999-12-31")):
        answer = await download(staff_client, account, **{"from": first, "to": last})
        assert "to" in answer.json()["detail"]["fields"]


def test_fields_are_in_the_order_in_which_they_are_said_and_each_once() -> None:
    said = [("account", "a"), *PERIOD.items(), ("field", "status"), ("field", "orderId"), ("field", "status")]
    assert read_form(said).query.fields == (RegisterColumn.STATUS, RegisterColumn.ORDER_ID)
    with pytest.raises(InvalidFieldsError):
        read_form([])


@one_database
async def test_another_stores_register_is_not_found(
    staff_client: StaffClient, account: MerchantAccount, at_hand: SandboxGateway
) -> None:
    other = await other_store(staff_client.shop)
    for strange in (other.id, str(uuid4()), "", "\0"):
        answer = await staff_client.do("/register/download", account=strange, to="2026-10-31", **{"from": "2026-10-01"})
        assert (answer.status_code, answer.json()["detail"]["code"]) == (404, "UNKNOWN_ACCOUNT"), strange
    assert await at_hand.asked("/streaming-report/") == 0
    staff_client.permissions = ("MANAGE_ORDERS",)
    assert (await download(staff_client, account)).status_code == 403


@pytest.mark.browser
@one_database
async def test_a_file_is_saved_when_it_is_whole_and_only_then(
    browser: Browser, staff_client: StaffClient, account: MerchantAccount, at_hand: SandboxGateway
) -> None:
    at_hand.add_payment("order-1", datetime(2026, 11, 5, tzinfo=UTC))
    complaints = BrowserErrors()
    async with dashboard_of(browser, staff_client.app, "/balances", complaints=complaints) as (page, frame):
        await sign_in(page, staff_client.token())
        await frame.get_by_role("link", name="Download the gateway’s register for a period").click()
        async with page.expect_download() as coming:
            await frame.get_by_role("button", name="Download").click()
        saved = await coming.value
        assert saved.suggested_filename == "register-2026-11-01-2026-11-21.csv"
        assert "order-1" in await asyncio.to_thread((await saved.path()).read_text)
        await expect(frame.locator("output")).to_have_text("Lines saved: 1.")
        await at_hand.control.fault(FaultRule(path="/streaming-report/fetch/*", effect="truncate"))
        await frame.get_by_role("button", name="Download").click()
        await expect(frame.get_by_role("alert")).to_contain_text("nothing was saved")
        await expect(frame.locator("output")).to_have_text("")
        assert complaints == []


@one_database
@pytest.mark.parametrize("path", ["/register", "/balances"])
async def test_a_store_without_an_account_is_led_to_one(staff_client: StaffClient, path: str) -> None:
    assert await staff_client.services.accounts.remove(staff_client.shop.account.id)
    for permissions, links in ((("HANDLE_PAYMENTS", "MANAGE_APPS"), 1), (("HANDLE_PAYMENTS",), 0)):
        staff_client.permissions = permissions
        page = (await staff_client.see(path)).text
        assert "This store has no merchant account yet." in page
        assert page.count(">Connect a merchant account</a>") == links
