"""What the button asks for: what is left to pay, or a part of it; and what stands in its place afterwards."""

from typing import Any

import pytest
from playwright.async_api import Locator, expect

from tests.pages.sight import faults
from tests.storefront_kit.conftest import (
    OFFER,
    OWED,
    PROCESS,
    START,
    TRANSACTION,
    Visit,
    gateway_config,
    refused_session,
    session,
)
from tests.storefront_kit.shop import button, events_of, message, wait_for_events

pytestmark = [pytest.mark.browser, pytest.mark.long]

PAID = session("CHARGE_SUCCESS")
ORDER = "T3JkZXI6MQ=="


def owed(
    left: float, *, total: float = 1569.5, authorized: str = "NONE", kind: str = "totalPrice", currency: str = "UAH"
) -> dict[str, Any]:
    """Return what Saleor says of a checkout, or of an order (``kind`` ``total``)."""
    return {
        "channel": {"slug": "uah"},
        "authorizeStatus": authorized,
        kind: {"gross": {"amount": total, "currency": currency}},
        "totalBalance": {"amount": -left},
    }


def pay(visit: Visit, name: str) -> Locator:
    return visit.page.get_by_role("button", name=name, exact=True)


def done(visit: Visit) -> Locator:
    return visit.page.locator("gateway-payment [part=done]")


@pytest.mark.parametrize(
    ("language", "label"),
    [("en", "Pay 1,569.50\N{NO-BREAK SPACE}UAH"), ("uk", "Оплатити 1\N{NO-BREAK SPACE}569,50\N{NO-BREAK SPACE}UAH")],
)
async def test_the_button_names_what_is_left_and_asks_for_it(visit: Visit, language: str, label: str) -> None:
    visit.saleor.set_answers(OWED, owed(1569.5), owed(0, authorized="FULL"))
    visit.saleor.set_answers(START, PAID)
    await visit.open(language)
    await pay(visit, label).click()
    await visit.wait_for_state("paid")
    assert visit.saleor.variables(START)[0]["amount"] == 1569.5
    await expect(done(visit)).to_have_text(label.replace("Pay", "✓ Paid").replace("Оплатити", "✓ Сплачено"))
    await expect(pay(visit, label)).to_be_hidden()
    assert visit.complaints == []


@pytest.mark.parametrize(("left", "label"), [(9999999, "9,999,999"), (100.5, "100.50")])
async def test_the_button_writes_yen_without_decimals_and_hides_no_fraction(
    visit: Visit, left: float, label: str
) -> None:
    visit.saleor.set_answers(OWED, owed(left, total=left, currency="JPY"))
    await visit.open()
    await expect(pay(visit, f"Pay {label}\N{NO-BREAK SPACE}JPY")).to_be_visible()


async def test_a_label_of_the_storefront_goes_before(visit: Visit) -> None:
    visit.saleor.set_answers(OWED, owed(100))
    await visit.open(label="Buy now")
    await expect(pay(visit, "Buy now")).to_be_visible()


async def test_what_an_order_owes_is_asked_of_the_order(visit: Visit) -> None:
    visit.saleor.set_answers("order", owed(369.5, kind="total"))
    await visit.open(checkout_id=ORDER)
    await expect(pay(visit, "Pay 369.50\N{NO-BREAK SPACE}UAH")).to_be_visible()
    assert visit.saleor.times(OWED) == 0


async def test_where_a_part_is_reserved_saleor_decides(visit: Visit) -> None:
    visit.saleor.set_answers(OWED, owed(1569.5, authorized="PARTIAL"))
    visit.saleor.set_answers(START, PAID)
    await visit.open()
    await pay(visit, "Pay").click()
    await wait_for_events(visit.page, "paid")
    assert "amount" not in visit.saleor.variables(START)[0]


@pytest.mark.parametrize(("balance", "reserved", "left"), [(70.1, 40.2, 29.9), (100, 40.2, 59.8)])
async def test_of_an_order_what_is_reserved_is_not_asked_for_again(
    visit: Visit, balance: float, reserved: float, left: float
) -> None:
    order = {**owed(balance, total=100, authorized="PARTIAL", kind="total"), "totalAuthorized": {"amount": reserved}}
    visit.saleor.set_answers("order", order, owed(0, authorized="FULL", kind="total"))
    visit.saleor.set_answers(START, PAID)
    await visit.open(checkout_id=ORDER)
    await pay(visit, f"Pay {left:.2f}\N{NO-BREAK SPACE}UAH").click()
    await wait_for_events(visit.page, "paid")
    assert visit.saleor.variables(START)[0]["amount"] == left


async def test_a_part_is_paid_and_the_rest_is_shown(visit: Visit) -> None:
    visit.saleor.set_answers(OWED, owed(1569.5), owed(1369.5))
    visit.saleor.set_answers(START, PAID)
    visit.saleor.set_answers(PROCESS, PAID)
    await visit.open(amount="200")
    await pay(visit, "Pay 200.00\N{NO-BREAK SPACE}UAH").click()
    await visit.wait_for_state("part")
    assert visit.saleor.variables(START)[0]["amount"] == 200
    rest = "Left to pay: 1,369.50\N{NO-BREAK SPACE}UAH"
    await expect(message(visit.page)).to_contain_text(rest)
    await expect(done(visit)).to_have_text("✓ Paid 200.00\N{NO-BREAK SPACE}UAH")
    told = {"transactionId": TRANSACTION, "confirmed": True, "left": 1369.5, "currency": "UAH"}
    assert await events_of(visit.page, "part") == [told]
    assert await events_of(visit.page, "paid") == []
    assert await faults(visit.page) == []

    await visit.open(amount="200", state="part")  # a reload pays no part twice
    await expect(message(visit.page)).to_contain_text(rest)
    assert visit.saleor.times(START) == 1

    visit.saleor.set_answers(OWED, owed(1369.5), owed(0, authorized="FULL"))
    await visit.evaluates("kit.removeAttribute('amount');")
    await pay(visit, "Pay 1,369.50\N{NO-BREAK SPACE}UAH").click()
    await visit.wait_for_state("paid")
    first, second = visit.saleor.variables(START)
    assert second["amount"] == 1369.5
    assert first["idempotencyKey"] != second["idempotencyKey"]


async def test_an_order_of_which_a_reservation_is_not_confirmed_is_not_asked_for_again(visit: Visit) -> None:
    """Saleor counts it for a checkout, and for an order only once the bank has confirmed it."""
    visit.saleor.set_answers("order", owed(1569.5, kind="total"))
    visit.saleor.set_answers(START, session("AUTHORIZATION_REQUEST"))
    visit.saleor.set_answers(PROCESS, session("AUTHORIZATION_REQUEST"))
    await visit.open(checkout_id=ORDER)
    await button(visit.page).click()
    reserved = {"transactionId": TRANSACTION, "confirmed": False}
    assert await wait_for_events(visit.page, "reserved") == [reserved]
    await visit.open(checkout_id=ORDER, state="reserved")
    await expect(done(visit)).to_have_text("✓ Reserved 1,569.50\N{NO-BREAK SPACE}UAH")
    assert await events_of(visit.page, "part") == []


async def test_a_part_of_an_order_whose_reservation_is_not_confirmed_leaves_the_rest(visit: Visit) -> None:
    visit.saleor.set_answers("order", owed(1569.5, kind="total"))
    visit.saleor.set_answers(START, session("AUTHORIZATION_REQUEST"))
    await visit.open(checkout_id=ORDER, amount="200.10")
    await pay(visit, "Pay 200.10\N{NO-BREAK SPACE}UAH").click()
    [part] = await wait_for_events(visit.page, "part")
    assert part["left"] == 1369.4
    await expect(message(visit.page)).to_contain_text("Left to pay: 1,369.40\N{NO-BREAK SPACE}UAH")


async def test_a_basket_that_has_grown_leaves_a_rest_that_can_be_paid(visit: Visit) -> None:
    visit.saleor.set_answers(OWED, owed(100), owed(20), owed(0, authorized="FULL"))
    visit.saleor.set_answers(START, PAID)
    await visit.open()
    await button(visit.page).click()
    await wait_for_events(visit.page, "part")
    await expect(message(visit.page)).to_contain_text("Left to pay: 20.00\N{NO-BREAK SPACE}UAH")
    await pay(visit, "Pay 20.00\N{NO-BREAK SPACE}UAH").click()
    await visit.wait_for_state("paid")
    assert [asked["amount"] for asked in visit.saleor.variables(START)] == [100, 20]


async def test_no_part_is_larger_than_what_is_left(visit: Visit) -> None:
    visit.saleor.set_answers(OWED, owed(100))
    await visit.open(amount="200,00")
    await expect(pay(visit, "Pay 100.00\N{NO-BREAK SPACE}UAH")).to_be_visible()


async def test_the_amount_follows_the_basket_when_the_storefront_says_so(visit: Visit) -> None:
    visit.saleor.set_answers(OWED, owed(100), owed(80))
    await visit.open()
    await expect(pay(visit, "Pay 100.00\N{NO-BREAK SPACE}UAH")).to_be_visible()
    await visit.evaluates("kit.refresh();")
    await expect(pay(visit, "Pay 80.00\N{NO-BREAK SPACE}UAH")).to_be_visible()


async def test_what_was_paid_elsewhere_is_said_to_be_instead_of_a_button(visit: Visit) -> None:
    visit.saleor.set_answers(OWED, owed(0, authorized="FULL"))
    await visit.open(state="paid")
    await expect(message(visit.page)).to_contain_text("Nothing is left to pay")
    await expect(done(visit)).to_have_text("✓ Paid")
    assert await events_of(visit.page, "paid") == [{"confirmed": False, "code": "ALREADY_PAID"}]
    assert visit.saleor.times(OFFER) == 0


async def test_a_price_that_fell_after_it_was_shown_is_asked_for_anew(visit: Visit) -> None:
    visit.saleor.set_answers(OWED, owed(100))
    visit.saleor.set_answers(START, refused_session("AMOUNT_TOO_HIGH", "Less is left", amountToPay=60), PAID)
    await visit.open()
    await button(visit.page).click()
    await wait_for_events(visit.page, "part")
    assert [asked["amount"] for asked in visit.saleor.variables(START)] == [100, 60]


@pytest.mark.parametrize("mode", ["hosted", "direct"])
@pytest.mark.parametrize("state", ["paid", "unavailable"])
async def test_nothing_empty_is_left(visit: Visit, state: str, mode: str) -> None:
    visit.saleor.set_answers(PROCESS, PAID)
    away: dict[str, Any] = {"available": False, "errors": [{"code": "CHANNEL_NOT_MAPPED", "message": "Map it."}]}
    visit.saleor.set_answers(OFFER, gateway_config(**away))
    more = {"transactionId": TRANSACTION} if state == "paid" else {}
    await visit.open(state=state, mode=mode, **more)
    box = await visit.page.locator("gateway-payment").bounding_box()
    assert box is not None
    assert box["height"] < 160
    assert [
        complaint for complaint in visit.complaints if "CHANNEL_NOT_MAPPED: Map it." in complaint
    ] or state == "paid"
