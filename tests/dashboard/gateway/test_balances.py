"""The page of the balances: what is there, how old that is, and what is told when the gateway does not say it."""

import asyncio

import httpx2
import pytest

from app.store.tables import MerchantAccount
from gateway_client.sandbox.scripting import FaultRule
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import OTHER_STORE, StaffClient, other_store
from tests.dashboard.gateway.conftest import SandboxGateway
from tests.dashboard.payments import test_payment_page

BALANCES = "/api/v1/balances/*"


def text(answer: httpx2.Response) -> str:
    """Return what a page says, as it is read."""
    return test_payment_page.text(answer).replace(" ,", ",").replace("\N{NO-BREAK SPACE}", " ")


async def test_what_an_account_has_and_as_of_when(
    staff_client: StaffClient, account: MerchantAccount, at_hand: SandboxGateway
) -> None:
    at_hand.has("1234.5", "20.00")
    at_hand.has("-7.10", currency="EUR")
    page = await staff_client.see("/balances")
    said = text(page)
    assert "Main" in said
    assert "Sandbox account UAH 1,234.50 UAH 20.00 UAH" in said
    assert "Sandbox account EUR -7.10 EUR 0.00 EUR" in said
    assert "As of 12:00 UTC, just now." in said
    assert '<time class="clock" datetime="2026-11-21T12:00:00Z">' in page.text
    staff_client.shop.clock.forward(seconds=20)
    at_hand.has("1.00")
    again = text(await staff_client.see("/balances"))
    assert "As of 12:00 UTC, 20 seconds ago." in again
    assert "1,234.50" in again
    assert await at_hand.asked("/balances/") == 1
    uk = text(await staff_client.see("/balances", **{"Accept-Language": "uk"}))
    assert "20 секунд тому" in uk
    staff_client.shop.clock.forward(seconds=40)
    assert "1.00" in text(await staff_client.see("/balances"))
    assert await at_hand.asked("/balances/") == 2


async def test_refresh_asks_at_once_and_that_account_only(
    staff_client: StaffClient, account: MerchantAccount, at_hand: SandboxGateway
) -> None:
    await staff_client.see("/balances")
    at_hand.has("55.00")
    answer = await staff_client.do(f"/balances/{account.id}/refresh")
    assert "55.00" in text(answer)
    assert answer.headers["Content-Location"] == "/balances"
    assert await at_hand.asked("/balances/") == 2


@one_database
async def test_those_who_look_at_once_ask_once(
    staff_client: StaffClient, account: MerchantAccount, at_hand: SandboxGateway
) -> None:
    pages = await asyncio.gather(*(staff_client.see("/balances") for _ in range(10)))
    assert {page.status_code for page in pages} == {200}
    assert await at_hand.asked("/balances/") == 1


async def test_a_key_that_may_not_read_balances_is_told_so_with_what_to_do(
    staff_client: StaffClient, account: MerchantAccount, at_hand: SandboxGateway
) -> None:
    await at_hand.fault(BALANCES)
    page = text(await staff_client.see("/balances"))
    assert "These keys have no access to balances: the gateway at" in page
    assert "ask its support to allow it for this point of sale" in page
    assert "Payments and refunds still work." in page


@one_database
@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (FaultRule(path=BALANCES, effect="status", status=503), "has problems (HTTP 503): try again later"),
        (FaultRule(path=BALANCES, effect="status", status=429), "is busy: try again in a minute"),
        (
            FaultRule(path=BALANCES, effect="status", status=429, headers={"Retry-After": "600"}),
            "is busy for a while: try again later",
        ),
        (
            FaultRule(path=BALANCES, effect="status", status=404, wording="html"),
            "is not this area of the gateway (HTTP",
        ),
        (FaultRule(path=BALANCES, effect="status", status=404), "does not offer this for this point of sale"),
        (FaultRule(path=BALANCES, effect="drop"), "gives no readable response: try again"),
        (FaultRule(path=BALANCES, effect="garbage", body='{"accounts": [{"id": 7}]}'), "no readable response"),
        (FaultRule(path=BALANCES, effect="garbage", body="<script>alert(1)</script>"), "is not this area"),
    ],
)
async def test_a_failed_ask_shows_the_older_figures_with_their_age(
    staff_client: StaffClient, account: MerchantAccount, at_hand: SandboxGateway, rule: FaultRule, words: str
) -> None:
    at_hand.has("77.70")
    await staff_client.see("/balances")
    staff_client.shop.clock.forward(hours=3)
    await at_hand.control.fault(rule)
    answer = await staff_client.see("/balances")
    assert answer.status_code == 200
    assert "<script>" not in answer.text
    page = text(answer)
    assert words in page
    assert "77.70" in page
    assert "As of 12:00 UTC, 3 hours ago." in page
    staff_client.shop.clock.forward(minutes=11)  # longer than any of them asks for
    assert "just now" in text(await staff_client.see("/balances")), "it is asked again, and not given up"


@pytest.mark.fault("gateway-busy")
@one_database
async def test_nobody_asks_while_the_gateway_wants_no_requests(
    staff_client: StaffClient, account: MerchantAccount, at_hand: SandboxGateway
) -> None:
    at_hand.has("77.70")
    await staff_client.see("/balances")
    staff_client.shop.clock.forward(minutes=2)
    await at_hand.control.fault(FaultRule(path=BALANCES, effect="status", status=429, headers={"Retry-After": "600"}))
    await staff_client.see("/balances")
    asked = await at_hand.asked("/balances/")
    staff_client.shop.clock.forward(minutes=5)
    page = text(await staff_client.see("/balances"))
    assert "77.70" in page
    assert "is busy for a while: try again later" in page
    assert await at_hand.asked("/balances/") == asked


@one_database
async def test_keys_that_cannot_be_opened_and_a_gateway_that_is_not_there(
    staff_client: StaffClient, account: MerchantAccount, at_hand: SandboxGateway
) -> None:
    accounts = staff_client.services.accounts
    await accounts.change(account.id, base_url="http://127.0.0.1:9")
    assert "cannot connect to 127.0.0.1:9" in text(await staff_client.see("/balances"))
    staff_client.shop.clock.forward(seconds=1)  # an account that was changed is asked anew
    await accounts.change(account.id, api_key_sealed="v1:nobody:opens:this")
    assert "the key is missing from the secret key file" in text(await staff_client.see("/balances"))


@pytest.mark.threat("xss-dashboard")
@one_database
async def test_names_of_the_gateway_are_text(
    staff_client: StaffClient, account: MerchantAccount, at_hand: SandboxGateway
) -> None:
    odd = '{"accounts": [{"id": "1", "name": "<b>\\u0000\\ud800 x", "currency": "UAH", "balances": {"available": 1}}]}'
    await at_hand.control.fault(FaultRule(path=BALANCES, effect="garbage", body=odd))
    answer = await staff_client.see("/balances")
    assert answer.status_code == 200
    assert "<b>" not in answer.text


@pytest.mark.threat("staff-of-another-store")
@one_database
async def test_a_store_sees_its_own_accounts_only(
    staff_client: StaffClient, account: MerchantAccount, at_hand: SandboxGateway
) -> None:
    other = await other_store(staff_client.shop)
    mine = text(await staff_client.see("/balances"))
    assert "Main" in mine
    assert "Next door" not in mine
    for strange in (other.id, "nobody", "%00", "a" * 5000, "%ED%A0%80"):
        answer = await staff_client.do(f"/balances/{strange}/refresh")
        assert (answer.status_code, answer.json()["detail"]["code"]) == (404, "UNKNOWN_ACCOUNT"), strange
    token = staff_client.token(iss=OTHER_STORE)
    theirs = await staff_client.http.get("/parts/balances", headers=staff_client.headers(token, OTHER_STORE))
    assert "Main" not in theirs.text
    assert (await staff_client.http.get("/parts/balances")).status_code == 401
    staff_client.permissions = ("MANAGE_ORDERS",)
    assert (await staff_client.see("/balances")).status_code == 403
