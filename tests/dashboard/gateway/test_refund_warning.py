"""A warning before a refund that the balance at the gateway does not cover: a warning, never a block, never a delay."""

import pytest
from playwright.async_api import Browser, expect

from app.store.tables import MerchantAccount
from gateway_client.sandbox.scripting import FaultRule
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import StaffClient, other_store
from tests.dashboard.framing import BrowserErrors, dashboard_of, sign_in
from tests.dashboard.gateway.conftest import SandboxGateway
from tests.dashboard.gateway.test_balances import BALANCES, text
from tests.dashboard.test_in_browser import open_dialog
from tests.payments.split.people import POTTER, SMITH

ORDER = f"{1:032x}"


@pytest.fixture
async def payment(staff_client: StaffClient, account: MerchantAccount) -> str:
    """A paid payment of 100.00 UAH."""
    return (await staff_client.payment(1)).order_id


async def warned(staff_client: StaffClient, order_id: str, **fields: str) -> str:
    return text(await staff_client.do(f"/payments/{order_id}/refund/warning", **fields))


async def test_what_the_balance_does_not_cover_is_said_before(
    staff_client: StaffClient, payment: str, at_hand: SandboxGateway
) -> None:
    at_hand.has("30.00", reserve="500.00")
    page = await staff_client.see(f"/payments/{payment}")
    assert f'data-advice="/payments/{payment}/refund/warning"' in page.text
    assert await at_hand.asked("/balances/") == 0, "the page does not wait for it"
    said = await warned(staff_client, payment, amount="100,00")
    assert "The balance at the gateway is 30.00 UAH; this refund of 100.00 UAH may be refused." in said
    assert "As of 12:00 UTC, just now." in said
    assert await warned(staff_client, payment, amount="30.00") == ""
    assert "this refund of 30.01 UAH" in await warned(staff_client, payment, amount="30.01")
    assert await at_hand.asked("/balances/") == 1
    uk = await staff_client.http.post(
        f"/parts/payments/{payment}/refund/warning",
        headers=staff_client.headers(**{"Accept-Language": "uk"}),
        data={"amount": "100"},
    )
    assert "30,00" in uk.text


@one_database
async def test_several_balances_of_the_currency_count_together_and_others_do_not(
    staff_client: StaffClient, payment: str, at_hand: SandboxGateway
) -> None:
    two = [("UAH", "60.00"), ("uah", "39.99"), ("EUR", "900.00")]
    body = ", ".join(
        f'{{"id": "{n}", "name": "x", "currency": "{code}", "balances": {{"available": {sum_}}}}}'
        for n, (code, sum_) in enumerate(two)
    )
    await at_hand.control.fault(FaultRule(path=BALANCES, effect="garbage", body=f'{{"accounts": [{body}]}}'))
    assert "balance at the gateway is 99.99 UAH" in await warned(staff_client, payment, amount="100")
    assert await warned(staff_client, payment, amount="99.99") == ""


@one_database
async def test_of_a_split_refund_the_parts_count(
    staff_client: StaffClient, payment: str, at_hand: SandboxGateway
) -> None:
    at_hand.has("30.00")
    parts = {f"from_{POTTER}": "20", f"from_{SMITH}": "10.01"}
    assert "this refund of 30.01 UAH" in await warned(staff_client, payment, amount="", **parts)


@one_database
async def test_where_nothing_is_known_nothing_is_said(
    staff_client: StaffClient, payment: str, at_hand: SandboxGateway
) -> None:
    await at_hand.fault(BALANCES)
    assert await warned(staff_client, payment, amount="100") == ""
    staff_client.shop.clock.forward(minutes=1)
    await at_hand.control.fault(FaultRule(path=BALANCES, effect="garbage", body='{"accounts": []}'))
    assert await warned(staff_client, payment, amount="100") == "", "nor where there is no balance of this currency"
    for odd in ("", "x", "-1", "1e999999", "\0", "9" * 5000, "٣"):
        assert await warned(staff_client, payment, amount=odd) == "", odd


@one_database
async def test_it_hinders_nothing(staff_client: StaffClient, payment: str, at_hand: SandboxGateway) -> None:
    at_hand.has("0")
    at_hand.add_payment(payment, amount="100.00")
    assert "may be refused" in await warned(staff_client, payment, amount="100")
    answer = await staff_client.do(f"/payments/{payment}/refund", key="0" * 32, amount="100.00")
    assert answer.status_code == 200
    assert await at_hand.asked("/api/v1/refund") == 1


@one_database
async def test_of_another_stores_payment_nothing_is_said(
    staff_client: StaffClient, payment: str, at_hand: SandboxGateway
) -> None:
    staff_client.shop.account = await other_store(staff_client.shop)
    theirs = await staff_client.payment(2)
    for order_id in (theirs.order_id, "nobody", "%00", "a" * 5000):
        answer = await staff_client.do(f"/payments/{order_id}/refund/warning", amount="100")
        assert answer.status_code == 404, order_id
    assert await at_hand.asked("/balances/") == 0


@pytest.mark.browser
@one_database
async def test_it_comes_and_goes_with_what_is_typed(
    browser: Browser, staff_client: StaffClient, payment: str, at_hand: SandboxGateway
) -> None:
    at_hand.has("30.00")
    complaints = BrowserErrors()
    async with dashboard_of(browser, staff_client.app, f"/payments/{payment}", complaints=complaints) as (page, frame):
        await sign_in(page, staff_client.token())
        form = await open_dialog(frame, "Refund")
        await expect(form.get_by_text("this refund of 100.00 UAH may be refused")).to_be_visible()
        await form.get_by_label("Amount, UAH").fill("30")
        await expect(form.get_by_text("may be refused")).to_have_count(0)
        await form.get_by_label("Amount, UAH").fill("30,01")
        await expect(form.get_by_text("this refund of 30.01 UAH may be refused")).to_be_visible()
        assert complaints == []
