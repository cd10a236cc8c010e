"""The kit where a payment takes another way: what Saleor refuses by itself, pages that are not left, two elements."""

from typing import Any

import pytest
from playwright.async_api import expect

from tests.storefront_kit.conftest import CHECKOUT, OFFER, PROCESS, START, TRANSACTION, Answer, Visit, session
from tests.storefront_kit.shop import events_of, message, wait_for_events
from tests.storefront_kit.test_in_browser import OPEN, PAID, STAYS, presses

pytestmark = [pytest.mark.browser, pytest.mark.long]

NO_CHECKOUT = {"gatewayConfigs": None, "errors": [{"code": "NOT_FOUND", "message": "Couldn't resolve to a node"}]}
RECEIVED_NO_MONEY = "received no money"


def refused_by_saleor(code: str) -> Answer:
    """Return what a mutation gives that Saleor refuses without asking the app."""
    none: dict[str, Any] = {"transaction": None, "transactionEvent": None, "data": None}
    return none | {"errors": [{"code": code, "message": f"Saleor says {code}"}]}


@pytest.mark.parametrize("code", ["CHECKOUT_COMPLETION_IN_PROGRESS", "MISSING_PAYMENT_APP"])
async def test_payment_that_saleor_does_not_process_now_is_not_called_failed(visit: Visit, code: str) -> None:
    visit.saleor.set_answers(PROCESS, refused_by_saleor(code), PAID)
    await visit.open(transactionId=TRANSACTION, state="waiting")
    await expect(message(visit.page)).not_to_contain_text(RECEIVED_NO_MONEY)
    assert [line for line in visit.complaints if f"Saleor says {code}" in line]
    await visit.pass_time(4, until=lambda: visit.saleor.times(PROCESS) > 1)
    await visit.wait_for_state("paid")
    assert await events_of(visit.page, "failed") == []


@pytest.mark.parametrize("code", ["NOT_FOUND", "GRAPHQL_ERROR", "INVALID"])
async def test_address_of_a_transaction_that_there_is_not_leaves_the_button(visit: Visit, code: str) -> None:
    visit.saleor.set_answers(PROCESS, refused_by_saleor(code))
    visit.saleor.set_answers(START, PAID)
    await visit.open(transactionId="cut-off")
    assert "transactionId" not in visit.page.url
    assert await events_of(visit.page, "failed") == []
    await presses(visit)
    await visit.wait_for_state("paid")


ANOTHER = "VHJhbnNhY3Rpb25JdGVtOjI="


def of(pays_for: dict[str, Any]) -> Answer:
    """Return a paid session whose transaction pays for a checkout or an order, as Saleor says."""
    paid = session("CHARGE_SUCCESS", transaction=ANOTHER)
    assert isinstance(paid, dict)
    return paid | {"transaction": {"id": ANOTHER, "checkout": None, "order": None, **pays_for}}


@pytest.mark.parametrize(
    "pays_for",
    [{"checkout": {"id": "Q2hlY2tvdXQ6Mg=="}}, {"order": {"id": "T3JkZXI6Mg==", "checkoutId": "Q2hlY2tvdXQ6Mg=="}}],
    ids=["checkout", "order"],
)
async def test_address_of_a_payment_for_something_else_leaves_the_button(
    visit: Visit, pays_for: dict[str, Any]
) -> None:
    visit.saleor.set_answers(PROCESS, of(pays_for))
    await visit.open(transactionId=ANOTHER)
    assert "transactionId" not in visit.page.url
    assert await events_of(visit.page, "paid") == []
    assert await visit.page.evaluate("document.querySelector('gateway-payment').state") == "ready"


async def test_address_of_a_payment_for_something_else_leaves_the_tabs_own_attempt(visit: Visit) -> None:
    visit.saleor.set_answers(START, OPEN)
    await visit.open()
    await visit.evaluates(STAYS)
    await presses(visit)
    await wait_for_events(visit.page, "redirect")
    visit.saleor.set_answers(PROCESS, of({"checkout": {"id": "Q2hlY2tvdXQ6Mg=="}}), PAID)
    await visit.open(transactionId=ANOTHER, state="paid")
    assert [asked["transactionId"] for asked in visit.saleor.variables(PROCESS)] == [ANOTHER, TRANSACTION]


@pytest.mark.parametrize(
    "pays_for",
    [{"checkout": {"id": CHECKOUT}}, {"order": {"id": "T3JkZXI6Mg==", "checkoutId": CHECKOUT}}, {}],
    ids=["checkout", "order", "nothing told"],
)
async def test_payment_of_the_address_is_of_this_checkout_also_once_it_is_an_order(
    visit: Visit, pays_for: dict[str, Any]
) -> None:
    visit.saleor.set_answers(PROCESS, of(pays_for))
    await visit.open(transactionId=ANOTHER, state="paid")


async def test_outcome_is_waited_for_while_there_is_no_network(visit: Visit) -> None:
    """The shopper has paid, perhaps: nothing is offered that would pay twice."""
    visit.saleor.set_answers(PROCESS, session("CHARGE_ACTION_REQUIRED"))
    await visit.open(transactionId=TRANSACTION, state="waiting")
    await visit.stop_clock()
    await visit.page.context.set_offline(True)
    await visit.pass_seconds(100)
    await visit.wait_for_state("waiting")
    assert await events_of(visit.page, "error") == []
    visit.saleor.set_answers(PROCESS, PAID)
    await visit.page.context.set_offline(False)
    await visit.wait_for_state("paid")


async def test_browser_that_is_wrongly_offline_asks_for_the_outcome_all_the_same(visit: Visit) -> None:
    """Some Linux machines and virtual ones say so for ever."""
    await visit.page.add_init_script('Object.defineProperty(navigator, "onLine", { value: false });')
    visit.saleor.set_answers(PROCESS, session("CHARGE_ACTION_REQUIRED"), PAID)
    await visit.open(transactionId=TRANSACTION, state="waiting")
    await visit.stop_clock()
    await visit.pass_seconds(40)
    await visit.wait_for_state("paid")


async def test_questions_asked_without_a_network_do_not_count_as_missed(visit: Visit) -> None:
    visit.saleor.set_answers(PROCESS, session("CHARGE_ACTION_REQUIRED"))
    await visit.open(transactionId=TRANSACTION, state="waiting")
    await visit.stop_clock()
    failed: list[str] = []
    visit.page.on("requestfailed", lambda request: failed.append(request.url))
    await visit.page.context.set_offline(True)
    await visit.pass_seconds(250)
    assert 6 < len(failed) < 12
    await visit.wait_for_state("waiting")
    assert await events_of(visit.page, "error") == []
    visit.saleor.set_answers(PROCESS, PAID)
    await visit.page.context.set_offline(False)
    await visit.wait_for_state("paid")


async def test_transaction_that_is_gone_while_it_is_waited_for_leaves_the_button(visit: Visit) -> None:
    visit.saleor.set_answers(PROCESS, session("CHARGE_ACTION_REQUIRED"), refused_by_saleor("NOT_FOUND"))
    await visit.open(transactionId=TRANSACTION, state="waiting")
    await visit.pass_time(4, until=lambda: visit.saleor.times(PROCESS) > 1)
    await visit.wait_for_state("ready")


async def test_checkout_that_has_become_an_order_meanwhile_is_not_called_unpaid(visit: Visit) -> None:
    """Another tab has paid it: what there is to pay, Saleor says."""
    await visit.open()
    visit.saleor.set_answers(START, refused_by_saleor("NOT_FOUND"))
    visit.saleor.set_answers(OFFER, NO_CHECKOUT)
    await presses(visit)
    await visit.wait_for_state("unavailable")
    await expect(message(visit.page)).not_to_contain_text(RECEIVED_NO_MONEY)
    assert [detail["code"] for detail in await events_of(visit.page, "unavailable")] == ["NOT_FOUND"]


async def test_order_that_is_just_being_made_is_not_called_unpaid(visit: Visit) -> None:
    visit.saleor.set_answers(START, refused_by_saleor("CHECKOUT_COMPLETION_IN_PROGRESS"), PAID)
    await visit.open()
    await presses(visit)
    await visit.wait_for_state("declined")
    await expect(message(visit.page)).to_contain_text("If you have paid, do not pay again.")
    await expect(message(visit.page)).not_to_contain_text(RECEIVED_NO_MONEY)
    await presses(visit, "Try again")
    await visit.wait_for_state("paid")


@pytest.mark.parametrize("prevented", [True, False], ids=["the storefront leads on", "an app opens"])
async def test_page_that_is_not_left_notices_the_payment(visit: Visit, prevented: bool) -> None:
    """On a phone the address of a bank may open its app, and the browser stays where it was."""
    visit.saleor.set_answers(START, OPEN)
    visit.saleor.set_answers(PROCESS, OPEN)
    await visit.page.route("https://pay.example.net/**", lambda route: route.fulfill(status=204))
    await visit.open()
    await visit.evaluates(STAYS if prevented else "")
    await presses(visit)
    await wait_for_events(visit.page, "redirect")
    await visit.pass_time(11, until=lambda: visit.saleor.times(PROCESS) == 1)
    await expect(message(visit.page)).to_contain_text("Not paid yet")
    await presses(visit)
    assert len(await events_of(visit.page, "redirect")) == 2
    visit.saleor.set_answers(PROCESS, PAID)
    await visit.pass_time(11, until=lambda: visit.saleor.times(PROCESS) == 2)
    await visit.wait_for_state("paid")
    assert visit.saleor.times(START) == 1


async def test_payment_in_another_window_is_noticed(visit: Visit) -> None:
    visit.saleor.set_answers(START, OPEN)
    visit.saleor.set_answers(PROCESS, OPEN)
    await visit.open()
    await visit.evaluates(STAYS)
    await presses(visit)
    await wait_for_events(visit.page, "redirect")
    await visit.pass_time(11, until=lambda: visit.saleor.times(PROCESS) == 1)
    await visit.wait_for_state("ready")
    visit.saleor.set_answers(PROCESS, PAID)
    await visit.pass_time(4, until=lambda: visit.saleor.times(PROCESS) == 2)
    await visit.wait_for_state("paid")


@pytest.mark.parametrize("amount", ["1,000", "1,234.50", "1 000", "200 UAH", "0", "-5", "0.00"])
async def test_amount_that_cannot_be_read_is_reported_and_asks_nobody_to_pay_everything(
    visit: Visit, amount: str
) -> None:
    await visit.open(amount=amount, state="error")
    assert [error["attributes"] for error in await events_of(visit.page, "error")] == [["amount"]]
    await visit.evaluates("kit.setAttribute('amount', '200,5');")
    await visit.wait_for_state("ready")


async def test_card_is_read_from_left_to_right_in_a_page_that_is_not(visit: Visit) -> None:
    """Else the groups of its number stand in the opposite order, and full stops before their sentences."""
    await visit.open("ar")
    await visit.page.evaluate("document.documentElement.dir = 'rtl'")
    await expect(message(visit.page)).to_have_css("direction", "ltr")


async def test_token_that_cannot_be_had_leaves_a_guest(visit: Visit) -> None:
    visit.saleor.set_answers(START, PAID)
    await visit.open()
    await visit.evaluates("kit.customerToken = () => Promise.reject(new Error('signed out')); kit.refresh();")
    await presses(visit)
    await visit.wait_for_state("paid")
    assert {token for _, token in visit.saleor.tokens} == {None}
    assert [line for line in visit.complaints if "`customerToken` fails (signed out)" in line]


async def test_two_elements_of_one_checkout_begin_one_payment(visit: Visit) -> None:
    """A shop may have one for phones and one for wide screens."""
    visit.saleor.set_answers(START, OPEN)
    await visit.open()
    await visit.evaluates("kit.after(kit.cloneNode());" + STAYS.replace("kit.", "document."))
    for element in await visit.page.locator("gateway-payment").all():
        await expect(element).to_have_attribute("state", "ready")
        await element.get_by_role("button", name="Pay", exact=True).click()
        await expect(element).to_have_attribute("state", "waiting")
    first, second = visit.saleor.variables(START)
    assert first["idempotencyKey"] == second["idempotencyKey"]
