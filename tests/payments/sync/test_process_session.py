"""A shopper comes back to a payment: the gateway is asked, Saleor is answered from the aggregate."""

from decimal import Decimal

import pytest

from app.core.vocabulary import Kind, State
from integration_base_tests.loopback import Behaviour, HangUp, Silence, json_reply
from tests.payments.fake_gateway import BROKEN, payment
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop, run_concurrently


@pytest.fixture
async def waiting(shop: Shop) -> Shop:
    """A shop whose shopper was led to the payment page."""
    shop.gateway.will_answer(shop.gateway.page("abc"))
    await shop.begin()
    shop.gateway.requests.clear()
    return shop


async def test_the_shopper_has_paid(waiting: Shop) -> None:
    waiting.gateway.book[waiting.order_id] = [payment(waiting.order_id, cc_mask="424242******4242")]
    answer = await waiting.process_session()
    assert answer.result == "CHARGE_SUCCESS"
    assert answer.amount == Decimal(TOTAL)
    assert answer.actions is not None
    assert [action.value for action in answer.actions] == ["REFUND"]
    assert answer.card is not None
    assert answer.card.name == "Visa ****4242"
    assert waiting.amounts == amounts(charged=TOTAL)
    assert waiting.transaction.actions == ["REFUND"]


async def test_the_shopper_has_reserved(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin(flow="AUTHORIZATION")
    shop.gateway.book[shop.order_id] = [payment(shop.order_id, method="auth", status_code="1002")]
    answer = await shop.process_session(flow="AUTHORIZATION")
    assert answer.result == "AUTHORIZATION_SUCCESS"
    assert shop.amounts == amounts(authorized=TOTAL)
    assert shop.transaction.actions == ["CANCEL", "CHARGE"]


async def test_the_shopper_has_not_paid_yet(waiting: Shop) -> None:
    waiting.gateway.book[waiting.order_id] = [payment(waiting.order_id, "init")]
    answer = await waiting.process_session()
    assert answer.result == "CHARGE_ACTION_REQUIRED"
    assert answer.data["checkoutUrl"].endswith("/checkout/abc/form")
    assert waiting.gateway.calls == []


async def test_a_shopper_who_pays_right_after_a_look_up_is_not_led_back_to_the_page(waiting: Shop) -> None:
    """The gateway is asked each time: an answer from the record would have the address of a page that is paid.

    The storefront asks when its tab is shown again, and after that perhaps not for a long while.
    """
    waiting.gateway.book[waiting.order_id] = [payment(waiting.order_id, "init")]
    assert (await waiting.process_session()).result == "CHARGE_ACTION_REQUIRED"
    waiting.gateway.book[waiting.order_id] = [payment(waiting.order_id)]
    waiting.clock.forward(seconds=1)
    assert (await waiting.process_session()).result == "CHARGE_SUCCESS"


async def test_a_shopper_who_pays_while_a_look_up_is_answered_is_not_led_back_to_the_page(waiting: Shop) -> None:
    """Two calls do not share a look-up: what it shows was perhaps read before the second call was made."""
    waiting.gateway.book[waiting.order_id] = [payment(waiting.order_id, "init")]
    answers = []

    async def pay_and_come_back(_: object) -> None:
        waiting.gateway.on_request = None
        answers.append(await waiting.process_session())

    shown = ([payment(waiting.order_id, status)] for status in ("success", "init"))
    waiting.gateway.will_answer_look_ups(*map(json_reply, shown))
    waiting.gateway.on_request = pay_and_come_back
    await waiting.process_session()
    assert [answer.result for answer in answers] == ["CHARGE_SUCCESS"]


@pytest.mark.parametrize("code", ["2102", "2122", "2123", "2124"])
async def test_the_bank_waits_for_the_shopper(waiting: Shop, code: str) -> None:
    """It does not count as paid: the shopper may never come back."""
    waiting.gateway.book[waiting.order_id] = [payment(waiting.order_id, "pending", status_code=code)]
    answer = await waiting.process_session()
    assert answer.result == "CHARGE_ACTION_REQUIRED"
    assert waiting.amounts == amounts()


@pytest.mark.law(9)
async def test_the_bank_takes_its_time(waiting: Shop) -> None:
    """Saleor counts it as covered; the end of the chain has the same reference (law 9)."""
    waiting.gateway.book[waiting.order_id] = [payment(waiting.order_id, "pending")]
    answer = await waiting.process_session()
    assert answer.result == "CHARGE_REQUEST"
    assert waiting.amounts == amounts(charge_pending=TOTAL)
    await waiting.notify(payment(waiting.order_id))
    await waiting.work()
    assert waiting.amounts == amounts(charged=TOTAL)
    assert waiting.saleor.reports[-1].psp_reference == answer.psp_reference


async def test_the_bank_has_declined(waiting: Shop) -> None:
    waiting.gateway.book[waiting.order_id] = [payment(waiting.order_id, "failure", status_code="4009")]
    answer = await waiting.process_session()
    assert answer.result == "CHARGE_FAILURE"
    [error] = answer.data["errors"]
    assert error["code"] == "4009"
    assert error["message"].startswith("На картці недостатньо коштів")  # the shopper's language
    assert "Insufficient funds [4009]" in (answer.message or "")


@pytest.mark.law(11)
@pytest.mark.parametrize("trouble", [BROKEN, HangUp(), Silence()])
async def test_a_gateway_that_does_not_answer_changes_nothing(waiting: Shop, trouble: Behaviour) -> None:
    async with waiting.webhook_budget():
        waiting.gateway.will_answer_look_ups(trouble)
        answer = await waiting.process_session()
    assert answer.result == "CHARGE_ACTION_REQUIRED"
    assert (await waiting.operation(Kind.CREATE)).state is State.INIT


@pytest.mark.law(4)
async def test_a_concluded_payment_is_answered_without_asking_the_gateway(waiting: Shop) -> None:
    waiting.gateway.book[waiting.order_id] = [payment(waiting.order_id)]
    first = await waiting.process_session()
    asked = waiting.gateway.polls
    assert await waiting.process_session() == first
    assert waiting.gateway.polls == asked == 1


@pytest.mark.law(5)
async def test_what_the_answer_carried_is_reported_only_when_saleor_must_have_read_it(waiting: Shop) -> None:
    """An answer can get lost; but a report that overtakes it would only be noise."""
    waiting.gateway.book[waiting.order_id] = [payment(waiting.order_id)]
    await waiting.process_session()
    await waiting.work()
    assert "CHARGE_SUCCESS" not in waiting.saleor.reported_types
    waiting.clock.forward(seconds=26)
    await waiting.work()
    assert waiting.saleor.reported_types[-1] == "CHARGE_SUCCESS"
    assert waiting.amounts == amounts(charged=TOTAL)


@pytest.mark.law(5)
async def test_a_lost_answer_is_made_good_by_the_report(waiting: Shop) -> None:
    waiting.gateway.book[waiting.order_id] = [payment(waiting.order_id)]
    waiting.saleor.book_session = lambda *_: None  # type: ignore[method-assign] # Saleor reads no answer from now on
    await waiting.process_session()
    assert waiting.amounts == amounts()
    await waiting.pass_time(seconds=30)
    assert waiting.amounts == amounts(charged=TOTAL)


async def test_while_another_webhook_asks_the_gateway_its_payment_is_not_disturbed(shop: Shop) -> None:
    answers = []

    async def come_back_meanwhile(_: object) -> None:
        shop.gateway.on_request = None
        answers.append(await shop.process_session())

    shop.gateway.on_request = come_back_meanwhile
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    [early] = answers
    assert early.result == "CHARGE_ACTION_REQUIRED"
    assert early.data["errors"][0]["code"] == "CREATION_UNKNOWN"
    assert shop.gateway.polls == 0


async def test_a_payment_that_was_begun_while_we_could_not_be_reached_is_begun_now(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    answer = await shop.process_session()
    assert answer.result == "CHARGE_ACTION_REQUIRED"
    assert answer.data["checkoutUrl"]
    assert shop.gateway.calls == ["payment"]


async def test_many_windows_of_one_shopper_come_to_the_same_end(waiting: Shop) -> None:
    waiting.gateway.book[waiting.order_id] = [payment(waiting.order_id)]
    answers = await run_concurrently(*(waiting.process_session() for _ in range(4)))
    assert {answer.result for answer in answers} == {"CHARGE_SUCCESS"}
    await waiting.pass_time(minutes=1)
    assert waiting.saleor.reported_types.count("CHARGE_SUCCESS") == 1
    assert waiting.amounts == amounts(charged=TOTAL)


@pytest.mark.law(2)
async def test_who_comes_back_after_the_link_was_lost_is_told_to_try_again(shop: Shop) -> None:
    """Nobody can be sent to that page any more; that it is closed is nothing to wait for."""
    shop.gateway.will_answer(HangUp())
    await shop.begin()
    shop.gateway.book[shop.order_id] = [payment(shop.order_id, "init")]
    shop.clock.forward(seconds=20)
    shop.gateway.will_answer(json_reply([payment(shop.order_id, "failure", status_code="6007")]))
    answer = await shop.process_session()
    assert answer.result == "CHARGE_FAILURE"
    assert shop.gateway.calls == ["payment"]
    await shop.work()
    assert shop.gateway.calls == ["payment", "cancel"]
