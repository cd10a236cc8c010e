"""Nothing is waited for in silence for ever: what is not known for a day is a problem that staff see."""

import pytest

from app.core.vocabulary import Kind, State
from app.rules.problems import problem_text
from integration_base_tests.loopback import HangUp, json_reply
from tests.payments.fake_gateway import BROKEN, operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop


@pytest.mark.fault("gateway-slow")
@pytest.mark.law(13)
async def test_a_refund_that_hangs_at_the_bank(paid_shop: Shop) -> None:
    paid_shop.saleor.order(paid_shop.transaction)
    pending = operation("refund", paid_shop.order_id, "30.00", "pending", operation_id="refund-1")
    paid_shop.gateway.will_answer(json_reply(pending))
    paid_shop.gateway.book[paid_shop.order_id].append(pending)
    await paid_shop.request_action("REFUND", "30.00")
    await paid_shop.pass_time(hours=23)
    assert problem_text((await paid_shop.aggregate()).payment) is None
    await paid_shop.pass_time(hours=2)
    problem = problem_text((await paid_shop.aggregate()).payment)
    assert problem is not None
    assert "the outcome of the refund of 30.00 UAH" in problem
    assert paid_shop.saleor.reported_types.count("INFO") == 1

    polls = paid_shop.gateway.polls
    await paid_shop.pass_time(hours=5)
    assert polls < paid_shop.gateway.polls <= polls + 5  # it goes on, slowly
    assert paid_shop.saleor.reported_types.count("INFO") == 1  # and is told once
    paid_shop.record_refund("30.00", "refund-1")
    paid_shop.gateway.book[paid_shop.order_id].remove(pending)
    await paid_shop.pass_time(hours=2)
    assert paid_shop.amounts == amounts(charged="539.50", refunded="30.00")
    assert problem_text((await paid_shop.aggregate()).payment) is None


@pytest.mark.fault("gateway-down")
@pytest.mark.law(13)
async def test_a_gateway_that_cannot_be_asked_for_a_day(shop: Shop) -> None:
    await shop.complete_payment()
    shop.gateway.will_answer(HangUp())
    await shop.request_action("REFUND", TOTAL)
    shop.gateway.will_answer_look_ups(*[BROKEN] * 100)
    await shop.pass_time(hours=25)
    assert (await shop.operation(Kind.REFUND)).state is State.UNKNOWN
    assert "the outcome of the refund of 569.50 UAH" in (problem_text((await shop.aggregate()).payment) or "")


async def test_a_shopper_who_takes_time_is_no_problem(shop: Shop) -> None:
    """The account gives shoppers two days; the page is looked at all the while."""
    shop.account = await shop.services.accounts.change(shop.account.id, order_timeout=2 * 86400)
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    shop.gateway.book[shop.order_id] = [payment(shop.order_id, "init")]
    await shop.pass_time(hours=30)
    assert problem_text((await shop.aggregate()).payment) is None
    await shop.notify(payment(shop.order_id))
    await shop.work()
    assert shop.amounts == amounts(charged=TOTAL)
