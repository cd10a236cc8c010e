"""What silence of the gateway means, and what it does not (laws of money, 2)."""

from datetime import timedelta

import pytest

from app.db.tables import Kind, State
from app.payments.core.problems import problem_words
from app.payments.sync.on_demand import ask_now
from tests.loopback import HangUp, Reply, said
from tests.payments.fake_gateway import operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop

pytestmark = pytest.mark.law(2)


async def test_a_refund_is_not_given_up_while_the_gateway_does_not_even_show_the_payment(paid: Shop) -> None:
    """A look-up that knows nothing of an order that was paid says nothing of its refund either."""
    paid.gateway.will(HangUp())
    await paid.staff("REFUND", "200.00", "one")
    paid.refunded("200.00", "first")  # the gateway did it; its look-ups lag behind, or answer 404 for a while
    book = paid.gateway.book.pop(paid.order_id)
    await paid.later(minutes=20)
    assert (await paid.operation(Kind.REFUND)).state is State.UNKNOWN
    paid.gateway.book[paid.order_id] = book
    await paid.later(hours=1)
    assert (await paid.operation(Kind.REFUND)).state is State.SUCCESS
    assert paid.amounts == amounts(charged="369.50", refunded="200.00")
    assert paid.gateway.calls == ["refund"]


@pytest.mark.parametrize("shown", ["init", "pending"])
async def test_nor_while_it_shows_the_payment_less_far_than_it_was(paid: Shop, shown: str) -> None:
    paid.gateway.will(HangUp())
    await paid.staff("REFUND", "200.00", "one")
    paid.gateway.book[paid.order_id] = [payment(paid.order_id, shown)]
    await paid.later(hours=2)
    assert (await paid.operation(Kind.REFUND)).state is State.UNKNOWN


async def test_nor_while_it_shows_another_order(paid: Shop) -> None:
    paid.gateway.will(HangUp())
    await paid.staff("REFUND", "200.00", "one")
    paid.gateway.book[paid.order_id] = [payment("another")]
    await paid.later(hours=2)
    assert (await paid.operation(Kind.REFUND)).state is State.UNKNOWN


async def test_a_refund_of_which_a_shown_payment_has_no_trace_has_failed(paid: Shop) -> None:
    paid.gateway.will(HangUp())
    await paid.staff("REFUND", "200.00", "one")
    await paid.later(minutes=14)
    assert (await paid.operation(Kind.REFUND)).state is State.UNKNOWN
    await paid.later(minutes=2)
    refund = await paid.operation(Kind.REFUND)
    assert (refund.state, refund.inferred) == (State.FAILURE, True)


@pytest.mark.fault("clock-ahead")
@pytest.mark.parametrize("ahead", [timedelta(minutes=20), timedelta(days=400)], ids=str)
async def test_a_clock_that_jumps_ahead_makes_no_long_silence_of_a_short_one(paid: Shop, ahead: timedelta) -> None:
    """The gateway takes a minute to show what it did; meanwhile the machine's clock is put forward."""
    paid.gateway.will(HangUp())
    await paid.staff("REFUND", "200.00", "one")
    await paid.later(seconds=10)
    paid.clock.now += ahead
    await paid.work()
    assert (await paid.operation(Kind.REFUND)).state is State.UNKNOWN
    await paid.later(seconds=50)
    assert (await paid.operation(Kind.REFUND)).state is State.UNKNOWN
    paid.refunded("200.00", "first")
    await paid.later(minutes=10)
    assert (await paid.operation(Kind.REFUND)).state is State.SUCCESS
    assert paid.amounts == amounts(charged="369.50", refunded="200.00")
    assert paid.gateway.calls == ["refund"]


@pytest.mark.fault("clock-ahead")
async def test_what_stays_silent_after_the_clock_has_jumped_has_failed_a_little_later(paid: Shop) -> None:
    paid.gateway.will(HangUp())
    await paid.staff("REFUND", "200.00", "one")
    await paid.later(seconds=10)
    paid.clock.now += timedelta(hours=2)
    await paid.later(minutes=6)
    assert (await paid.operation(Kind.REFUND)).state is State.UNKNOWN
    await paid.later(minutes=10)
    refund = await paid.operation(Kind.REFUND)
    assert (refund.state, refund.inferred) == (State.FAILURE, True)


@pytest.mark.parametrize(
    "answer",
    [
        Reply(404, b"<html>not found</html>"),
        said({"message": "Not found"}, 404),
        said({"error": "Not Found", "status": 404, "message": "No static resource"}, 404),
        Reply(404),
    ],
)
async def test_that_there_is_no_such_order_is_believed_of_the_gateway_only(reserved: Shop, answer: Reply) -> None:
    """A proxy that has lost its way says the same of every order: the time to pay is over, but nobody knows of it."""
    reserved.transaction = reserved.saleor.new_transaction()
    reserved.gateway.will(reserved.gateway.page())
    await reserved.begin()
    reserved.gateway.will_look(*[answer] * 200)
    await reserved.later(hours=5)
    assert (await reserved.operation(Kind.CREATE)).state is State.INIT


async def test_what_the_gateway_has_named_is_never_given_up_for_silence(paid: Shop) -> None:
    """It was answered with a record that does not agree, and its record is gone from the list: that undoes nothing."""
    paid.gateway.will(said(operation("refund", paid.order_id, "90.00", named="ours")))  # 100.00 was asked
    await paid.staff("REFUND", "100.00", "one")
    refund = await paid.operation(Kind.REFUND)
    assert (refund.state, refund.operation_id) == (State.UNKNOWN, "ours")
    for _ in range(5):  # staff ask the gateway again and again, and it shows nothing of it
        paid.clock.forward(hours=1)
        assert await ask_now(paid.services, paid.order_id) is None
    assert (await paid.operation(Kind.REFUND)).state is State.UNKNOWN


async def test_one_that_waited_for_long_has_its_own_settling_time(paid: Shop) -> None:
    """It was asked for long ago and sent a moment ago: silence about it means nothing yet."""
    paid.gateway.will(said(operation("refund", paid.order_id, "10.00", "pending", named="first")))
    await paid.staff("REFUND", "10.00", "one")
    await paid.staff("REFUND", "20.00", "two")
    await paid.later(minutes=20)
    paid.gateway.will(HangUp())
    await paid.notify(operation("refund", paid.order_id, "10.00", named="first"))
    await paid.later(minutes=5)
    assert (await paid.operation(Kind.REFUND, 1)).state is State.UNKNOWN
    await paid.later(minutes=15)
    assert (await paid.operation(Kind.REFUND, 1)).state is State.FAILURE


async def test_a_payment_that_does_not_agree_is_never_given_up_for_silence(shop: Shop) -> None:
    shop.gateway.will(shop.gateway.page())
    await shop.begin()
    await shop.notify(payment(shop.order_id, amount="1.00"))
    await shop.work()
    shop.gateway.book.clear()
    for _ in range(5):
        shop.clock.forward(hours=1)
        await shop.come_back()
    await shop.later(hours=5)
    assert (await shop.operation(Kind.CREATE)).state is State.INIT
    assert shop.amounts == amounts()
    assert (
        problem_words((await shop.aggregate()).payment) == f"The gateway reports 1.00 UAH, but {TOTAL} UAH was asked."
    )
