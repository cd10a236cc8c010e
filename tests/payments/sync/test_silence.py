"""What silence of the gateway means, and what it does not (laws of money, 2)."""

from datetime import timedelta

import pytest

from app.core.vocabulary import Kind, State
from app.flows.on_demand import look_up_now
from app.rules.problems import problem_text
from app.worker.loop import Worker
from integration_base_tests.loopback import HangUp, Reply, json_reply
from tests.payments.fake_gateway import operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop

pytestmark = pytest.mark.law(2)


async def test_a_refund_is_not_given_up_while_the_gateway_does_not_even_show_the_payment(paid_shop: Shop) -> None:
    """A look-up that knows nothing of an order that was paid says nothing of its refund either."""
    paid_shop.gateway.will_answer(HangUp())
    await paid_shop.request_action("REFUND", "200.00", "one")
    paid_shop.record_refund("200.00", "first")  # the gateway did it; its look-ups lag behind, or answer 404 for a while
    book = paid_shop.gateway.book.pop(paid_shop.order_id)
    await paid_shop.pass_time(minutes=20)
    assert (await paid_shop.operation(Kind.REFUND)).state is State.UNKNOWN
    paid_shop.gateway.book[paid_shop.order_id] = book
    await paid_shop.pass_time(hours=1)
    assert (await paid_shop.operation(Kind.REFUND)).state is State.SUCCESS
    assert paid_shop.amounts == amounts(charged="369.50", refunded="200.00")
    assert paid_shop.gateway.calls == ["refund"]


@pytest.mark.parametrize("shown", ["init", "pending"])
async def test_nor_while_it_shows_the_payment_less_far_than_it_was(paid_shop: Shop, shown: str) -> None:
    paid_shop.gateway.will_answer(HangUp())
    await paid_shop.request_action("REFUND", "200.00", "one")
    paid_shop.gateway.book[paid_shop.order_id] = [payment(paid_shop.order_id, shown)]
    await paid_shop.pass_time(hours=2)
    assert (await paid_shop.operation(Kind.REFUND)).state is State.UNKNOWN


async def test_nor_while_it_shows_another_order(paid_shop: Shop) -> None:
    paid_shop.gateway.will_answer(HangUp())
    await paid_shop.request_action("REFUND", "200.00", "one")
    paid_shop.gateway.book[paid_shop.order_id] = [payment("another")]
    await paid_shop.pass_time(hours=2)
    assert (await paid_shop.operation(Kind.REFUND)).state is State.UNKNOWN


async def test_a_refund_of_which_a_shown_payment_has_no_trace_has_failed(paid_shop: Shop) -> None:
    paid_shop.gateway.will_answer(HangUp())
    await paid_shop.request_action("REFUND", "200.00", "one")
    await paid_shop.pass_time(minutes=14)
    assert (await paid_shop.operation(Kind.REFUND)).state is State.UNKNOWN
    await paid_shop.pass_time(minutes=2)
    refund = await paid_shop.operation(Kind.REFUND)
    assert (refund.state, refund.inferred) == (State.FAILURE, True)


@pytest.mark.fault("clock-ahead")
@pytest.mark.parametrize("ahead", [timedelta(minutes=20), timedelta(days=400)], ids=str)
async def test_a_clock_that_jumps_ahead_makes_no_long_silence_of_a_short_one(paid_shop: Shop, ahead: timedelta) -> None:
    """The gateway takes a minute to show what it did; meanwhile the machine's clock is put forward."""
    paid_shop.gateway.will_answer(HangUp())
    await paid_shop.request_action("REFUND", "200.00", "one")
    await paid_shop.pass_time(seconds=10)
    paid_shop.clock.now += ahead
    await paid_shop.work()
    assert (await paid_shop.operation(Kind.REFUND)).state is State.UNKNOWN
    await paid_shop.pass_time(seconds=50)
    assert (await paid_shop.operation(Kind.REFUND)).state is State.UNKNOWN
    paid_shop.record_refund("200.00", "first")
    await paid_shop.pass_time(minutes=10)
    assert (await paid_shop.operation(Kind.REFUND)).state is State.SUCCESS
    assert paid_shop.amounts == amounts(charged="369.50", refunded="200.00")
    assert paid_shop.gateway.calls == ["refund"]


@pytest.mark.fault("clock-ahead")
async def test_what_stays_silent_after_the_clock_has_jumped_has_failed_a_little_later(paid_shop: Shop) -> None:
    paid_shop.gateway.will_answer(HangUp())
    await paid_shop.request_action("REFUND", "200.00", "one")
    await paid_shop.pass_time(seconds=10)
    paid_shop.clock.now += timedelta(hours=2)
    await paid_shop.pass_time(minutes=6)
    assert (await paid_shop.operation(Kind.REFUND)).state is State.UNKNOWN
    await paid_shop.pass_time(minutes=10)
    refund = await paid_shop.operation(Kind.REFUND)
    assert (refund.state, refund.inferred) == (State.FAILURE, True)


@pytest.mark.fault("clock-back")
@pytest.mark.parametrize("ahead", [timedelta(hours=3), timedelta(days=400)], ids=str)
async def test_what_was_requested_while_the_clock_was_ahead_is_concluded_once_it_is_put_back(
    paid_shop: Shop, ahead: timedelta
) -> None:
    """Its silence counts from now on: nobody waits until the wrong hour has come again, and nobody guesses sooner."""
    paid_shop.clock.now += ahead
    paid_shop.gateway.will_answer(HangUp())
    await paid_shop.request_action("REFUND", "200.00", "one")
    await paid_shop.pass_time(seconds=10)
    paid_shop.clock.now -= ahead
    await Worker(paid_shop.saleor).recover_from_clock_skew(paid_shop.services)
    await paid_shop.pass_time(minutes=14)
    assert (await paid_shop.operation(Kind.REFUND)).state is State.UNKNOWN
    await paid_shop.pass_time(minutes=20)
    refund = await paid_shop.operation(Kind.REFUND)
    assert (refund.state, refund.inferred) == (State.FAILURE, True)


@pytest.mark.parametrize(
    "answer",
    [
        Reply(404, b"<html>not found</html>"),
        json_reply({"message": "Not found"}, 404),
        json_reply({"error": "Not Found", "status": 404, "message": "No static resource"}, 404),
        Reply(404),
    ],
)
async def test_that_there_is_no_such_order_is_believed_of_the_gateway_only(reserved_shop: Shop, answer: Reply) -> None:
    """A proxy that has lost its way says the same of every order: the time to pay is over, but nobody knows of it."""
    reserved_shop.transaction = reserved_shop.saleor.new_transaction()
    reserved_shop.gateway.will_answer(reserved_shop.gateway.page())
    await reserved_shop.begin()
    reserved_shop.gateway.will_answer_look_ups(*[answer] * 200)
    await reserved_shop.pass_time(hours=5)
    assert (await reserved_shop.operation(Kind.CREATE)).state is State.INIT


async def test_what_the_gateway_has_named_is_never_given_up_for_silence(paid_shop: Shop) -> None:
    """It was answered with a record that does not agree, and its record is gone from the list: that undoes nothing."""
    paid_shop.gateway.will_answer(
        json_reply(operation("refund", paid_shop.order_id, "90.00", operation_id="ours"))
    )  # 100.00 was asked
    await paid_shop.request_action("REFUND", "100.00", "one")
    refund = await paid_shop.operation(Kind.REFUND)
    assert (refund.state, refund.operation_id) == (State.UNKNOWN, "ours")
    for _ in range(5):  # staff ask the gateway again and again, and it shows nothing of it
        paid_shop.clock.forward(hours=1)
        assert await look_up_now(paid_shop.services, paid_shop.order_id) is None
    assert (await paid_shop.operation(Kind.REFUND)).state is State.UNKNOWN


async def test_one_that_waited_for_long_has_its_own_settling_time(paid_shop: Shop) -> None:
    """It was asked for long ago and sent a moment ago: silence about it means nothing yet."""
    paid_shop.gateway.will_answer(
        json_reply(operation("refund", paid_shop.order_id, "10.00", "pending", operation_id="first"))
    )
    await paid_shop.request_action("REFUND", "10.00", "one")
    await paid_shop.request_action("REFUND", "20.00", "two")
    await paid_shop.pass_time(minutes=20)
    paid_shop.gateway.will_answer(HangUp())
    await paid_shop.notify(operation("refund", paid_shop.order_id, "10.00", operation_id="first"))
    await paid_shop.pass_time(minutes=5)
    assert (await paid_shop.operation(Kind.REFUND, 1)).state is State.UNKNOWN
    await paid_shop.pass_time(minutes=15)
    assert (await paid_shop.operation(Kind.REFUND, 1)).state is State.FAILURE


async def test_a_payment_that_does_not_agree_is_never_given_up_for_silence(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.notify(payment(shop.order_id, amount="1.00"))
    await shop.work()
    shop.gateway.book.clear()
    for _ in range(5):
        shop.clock.forward(hours=1)
        await shop.process_session()
    await shop.pass_time(hours=5)
    assert (await shop.operation(Kind.CREATE)).state is State.INIT
    assert shop.amounts == amounts()
    assert (
        problem_text((await shop.aggregate()).payment)
        == f"The gateway reports 1.00 UAH, but {TOTAL} UAH was requested."
    )
