"""The machine's clock was wrong for a while: what was put off by it does not sleep until that moment comes again."""

from datetime import timedelta

import pytest

from app.db.job_queue import Capacity, claim
from app.db.outbox import EVENTS
from app.db.reconciliations import RECONCILIATIONS, plan
from app.saleor.errors import SaleorUnreachableError
from app.worker.loop import Worker
from tests.loopback import HangUp, Reply
from tests.payments.fake_gateway import payment
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop

AHEAD = timedelta(days=400)


async def put_right(shop: Shop) -> None:
    """The clock is put back, and within ten minutes the worker looks over what was put off."""
    shop.clock.now -= AHEAD
    await Worker(shop.saleor).bring_back(shop.services)
    await shop.work()


@pytest.mark.fault("clock-back")
@pytest.mark.law(13)
async def test_a_payment_that_was_looked_up_by_a_clock_ahead_is_looked_up_again(shop: Shop) -> None:
    """It was paid, and nobody notifies us: only a look-up tells."""
    shop.gateway.will(shop.gateway.page())
    await shop.begin()
    shop.clock.now += AHEAD
    shop.gateway.will_look(*[Reply(500)] * 2)
    await shop.work()
    shop.gateway.look_ups.clear()
    shop.gateway.book[shop.order_id] = [payment(shop.order_id)]
    await put_right(shop)
    assert shop.amounts == amounts(charged=TOTAL)


@pytest.mark.fault("clock-back")
@pytest.mark.law(5, 13)
async def test_an_event_that_saleor_did_not_take_then_is_told_now(paid: Shop) -> None:
    paid.clock.now += AHEAD
    paid.saleor.troubles.extend([SaleorUnreachableError("down")] * 3)
    paid.refunded("100.00", "portal")
    await paid.notify(paid.gateway.book[paid.order_id][-1])
    await paid.work()
    paid.saleor.troubles.clear()
    await put_right(paid)
    assert paid.amounts == amounts(charged="469.50", refunded="100.00")


@pytest.mark.fault("clock-back")
@pytest.mark.law(5, 13)
async def test_the_claim_of_a_worker_that_died_then_is_taken_over(paid: Shop) -> None:
    paid.clock.now += AHEAD
    await paid.notify(paid.refunded("100.00", "portal"))
    services = paid.services
    while not await _waits(paid):
        await Worker(paid.saleor).work_once(services)
    async with services.database.transaction() as session:
        assert await claim(session, EVENTS, services.now(), services.schedule.lease, Capacity(most=9))
    await put_right(paid)
    assert paid.amounts == amounts(charged="469.50", refunded="100.00")


async def _waits(shop: Shop) -> bool:
    return any(each.next_attempt_at is not None for each in (await shop.aggregate()).events)


@pytest.mark.fault("clock-back")
async def test_the_books_that_were_to_be_compared_in_a_year_are_compared_now(shop: Shop) -> None:
    async with shop.services.database.transaction() as session:
        await plan(session, shop.account, shop.clock.now + AHEAD)
    await Worker(shop.saleor).bring_back(shop.services)
    async with shop.services.database.transaction() as session:
        assert await claim(session, RECONCILIATIONS, shop.clock.now, timedelta(minutes=1), Capacity(most=9))


async def test_what_is_put_off_as_usual_keeps_its_time(paid: Shop) -> None:
    """Neither a refund that is being found out, nor a dispute, nor tonight's comparison is brought forward."""
    paid.gateway.will(HangUp())
    await paid.staff("REFUND", "100.00")
    async with paid.services.database.transaction() as session:
        await plan(session, paid.account, paid.clock.now)
    before = await paid._next_due()
    await Worker(paid.saleor).bring_back(paid.services)
    assert await paid._next_due() == before
    async with paid.services.database.transaction() as session:
        assert not await claim(session, RECONCILIATIONS, paid.clock.now, timedelta(minutes=1), Capacity(most=9))
