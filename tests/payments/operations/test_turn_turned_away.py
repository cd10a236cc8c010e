"""The turn of an operation that waited has come, and the gateway takes no request now: it goes on waiting.

The gateway has provably done nothing, and Saleor was answered that the operation is accepted.
"""

from datetime import timedelta

import pytest

from app.core.vocabulary import Kind, State
from app.reports.status import pending_steps
from integration_base_tests.loopback import Behaviour, json_reply
from tests.payments.fake_gateway import operation
from tests.payments.fake_saleor import amounts
from tests.payments.shop import Shop


def busy(pause: str | None = None) -> Behaviour:
    """Return the answer of a gateway that gets too many requests."""
    refusal = {"message": "Too many requests", "args": {"code": "P-429"}}
    return json_reply(refusal, 429) if pause is None else json_reply(refusal, 429, retry_after=pause)


@pytest.fixture
async def refunds(paid_shop: Shop) -> Shop:
    """A shop where 300.00 are being refunded, and 200.00 wait for that."""
    shop = paid_shop
    first = operation("refund", shop.order_id, "300.00", "pending", operation_id="first")
    shop.gateway.will_answer(json_reply(first))
    await shop.request_action("REFUND", "300.00", "one")
    assert (await shop.request_action("REFUND", "200.00", "two")).result is None
    return shop


async def end_first(shop: Shop) -> None:
    """Let the first refund succeed: it is the turn of the next."""
    await shop.notify(operation("refund", shop.order_id, "300.00", operation_id="first"))


def second_done(shop: Shop) -> Behaviour:
    """Return the gateway's answer that the second refund is done."""
    return json_reply(operation("refund", shop.order_id, "200.00", operation_id="second"))


@pytest.mark.fault("gateway-busy")
@pytest.mark.law(3)
async def test_refund_that_is_turned_away_is_sent_after_the_pause_that_the_gateway_states(refunds: Shop) -> None:
    refunds.gateway.will_answer(busy("600"), second_done(refunds))
    await end_first(refunds)
    await refunds.pass_time(seconds=590)
    assert refunds.gateway.calls == ["refund", "refund"]
    assert refunds.saleor.reported_types.count("REFUND_FAILURE") == 0
    assert refunds.amounts == amounts(charged="69.50", refunded="300.00", refund_pending="200.00")
    await refunds.pass_time(seconds=20)
    assert refunds.gateway.calls == ["refund"] * 3
    assert refunds.amounts == amounts(charged="69.50", refunded="500.00")
    assert refunds.saleor.reported_types.count("REFUND_SUCCESS") == 2


@pytest.mark.law(4)
async def test_the_same_request_while_it_waits_again_is_answered_as_before(refunds: Shop) -> None:
    refunds.gateway.will_answer(busy("600"))
    await end_first(refunds)
    await refunds.work()
    before = (await refunds.operation(Kind.REFUND, 1)).psp_reference
    answer = await refunds.request_action("REFUND", "200.00", "two", booked=False)
    assert (answer.result, answer.psp_reference) == (None, before)
    assert refunds.gateway.calls == ["refund", "refund"]


@pytest.mark.law(3)
async def test_nothing_overtakes_what_waits_again(refunds: Shop) -> None:
    await refunds.request_action("REFUND", "69.50", "three")
    third = json_reply(operation("refund", refunds.order_id, "69.50", operation_id="third"))
    refunds.gateway.will_answer(busy("600"), second_done(refunds), third)
    await end_first(refunds)
    await refunds.pass_time(seconds=590)
    assert refunds.gateway.calls == ["refund", "refund"]
    await refunds.pass_time(minutes=1)
    requests = [request.json for request in refunds.gateway.requests if request.method == "POST"]
    assert [str(request["refund_amount"]) for request in requests] == ["300.00", "200.00", "200.00", "69.50"]
    assert refunds.amounts == amounts(charged="0.00", refunded="569.50")


@pytest.mark.law(3)
async def test_what_is_left_is_computed_anew_at_each_turn(refunds: Shop) -> None:
    refunds.gateway.will_answer(busy("600"))
    await end_first(refunds)
    await refunds.work()
    await refunds.notify(operation("refund", refunds.order_id, "200.00", operation_id="portal"))
    await refunds.pass_time(minutes=20)
    assert refunds.gateway.calls == ["refund", "refund"]
    refused = await refunds.operation(Kind.REFUND, 1)
    assert (refused.state, "69.50 UAH" in (refused.message or "")) == (State.FAILURE, True)
    assert refunds.amounts == amounts(charged="69.50", refunded="500.00")


@pytest.mark.law(13)
async def test_a_day_of_busy_answers_ends_it_and_says_so(refunds: Shop) -> None:
    refunds.gateway.will_answer(*[busy()] * 100)
    await end_first(refunds)
    await refunds.pass_time(hours=23)
    assert refunds.saleor.reported_types.count("REFUND_FAILURE") == 0
    await refunds.pass_time(hours=3)
    assert refunds.saleor.reported_types.count("REFUND_FAILURE") == 1
    assert refunds.amounts == amounts(charged="269.50", refunded="300.00")
    calls = len(refunds.gateway.calls)
    await refunds.pass_time(hours=3)
    assert len(refunds.gateway.calls) == calls < 40


@pytest.mark.law(13)
async def test_the_day_of_busy_answers_begins_with_its_first_turn(refunds: Shop) -> None:
    """It has waited longer than that for the bank to decide about the one before it."""
    refunds.gateway.book[refunds.order_id].append(
        operation("refund", refunds.order_id, "300.00", "pending", operation_id="first")
    )
    await refunds.pass_time(hours=25)
    refunds.gateway.book[refunds.order_id].pop()
    refunds.gateway.will_answer(busy(), busy(), second_done(refunds))
    await end_first(refunds)
    await refunds.pass_time(minutes=1)
    assert refunds.saleor.reported_types.count("REFUND_FAILURE") == 0
    await refunds.pass_time(minutes=5)
    assert refunds.gateway.calls.count("refund") == 4
    assert refunds.amounts == amounts(charged="69.50", refunded="500.00")


async def test_staff_see_when_it_is_sent_again(refunds: Shop) -> None:
    await refunds.pass_time(seconds=5)
    refunds.gateway.will_answer(busy("600"))
    await end_first(refunds)
    await refunds.work()
    steps = pending_steps(await refunds.aggregate(), [])
    [until] = [step.until for step in steps if "the gateway did not take it before" in step.words]
    assert until == refunds.clock.now + timedelta(minutes=10)


async def test_webhook_that_waits_for_the_outcome_is_answered_with_the_failure(paid_shop: Shop) -> None:
    paid_shop.gateway.will_answer(busy("600"))
    answer = await paid_shop.request_action("REFUND", "200.00", "one")
    assert answer.result == "REFUND_FAILURE"
    await paid_shop.pass_time(minutes=20)
    assert paid_shop.gateway.calls == ["refund"]
