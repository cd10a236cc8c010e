"""Nothing is waited for in silence for ever: what is not known for a day is a problem that staff see."""

import pytest

from app.db.tables import Kind, State
from app.payments.core.problems import problem_words
from tests.loopback import HangUp, said
from tests.payments.fake_gateway import BROKEN, operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop


@pytest.mark.fault("gateway-slow")
@pytest.mark.law(13)
async def test_a_refund_that_hangs_at_the_bank(paid: Shop) -> None:
    pending = operation("refund", paid.order_id, "30.00", "pending", named="refund-1")
    paid.gateway.will(said(pending))
    paid.gateway.book[paid.order_id].append(pending)
    await paid.staff("REFUND", "30.00")
    await paid.later(hours=23)
    assert problem_words((await paid.aggregate()).payment) is None
    await paid.later(hours=2)
    problem = problem_words((await paid.aggregate()).payment)
    assert problem is not None
    assert "what became of the refund of 30.00 UAH" in problem
    assert paid.saleor.told.count("INFO") == 1

    polls = paid.gateway.polls
    await paid.later(hours=5)
    assert polls < paid.gateway.polls <= polls + 5  # it goes on, slowly
    assert paid.saleor.told.count("INFO") == 1  # and is told once
    paid.refunded("30.00", "refund-1")
    paid.gateway.book[paid.order_id].remove(pending)
    await paid.later(hours=2)
    assert paid.amounts == amounts(charged="539.50", refunded="30.00")
    assert problem_words((await paid.aggregate()).payment) is None


@pytest.mark.fault("gateway-down")
@pytest.mark.law(13)
async def test_a_gateway_that_cannot_be_asked_for_a_day(shop: Shop) -> None:
    await shop.paid()
    shop.gateway.will(HangUp())
    await shop.staff("REFUND", TOTAL)
    shop.gateway.will_look(*[BROKEN] * 100)
    await shop.later(hours=25)
    assert (await shop.operation(Kind.REFUND)).state is State.UNKNOWN
    assert "what became of the refund of 569.50 UAH" in (problem_words((await shop.aggregate()).payment) or "")


async def test_a_shopper_who_takes_time_is_no_problem(shop: Shop) -> None:
    """The account gives shoppers two days; the page is looked at all the while."""
    shop.account = await shop.services.accounts.change(shop.account.id, order_timeout=2 * 86400)
    shop.gateway.will(shop.gateway.page())
    await shop.begin()
    shop.gateway.book[shop.order_id] = [payment(shop.order_id, "init")]
    await shop.later(hours=30)
    assert problem_words((await shop.aggregate()).payment) is None
    await shop.notify(payment(shop.order_id))
    await shop.work()
    assert shop.amounts == amounts(charged=TOTAL)
