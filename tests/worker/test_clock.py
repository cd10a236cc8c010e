"""The machine's clock was wrong for a while: what was put off by it does not sleep until that moment comes again."""

from datetime import timedelta

import pytest

from app.core.vocabulary import Kind
from app.flows.notifications import process
from app.store.job_queue import Capacity, claim
from app.store.outbox import EVENTS
from app.store.reconciliations import RECONCILIATIONS, plan_run
from app.worker.loop import Worker
from integration_base_tests.loopback import HangUp, Reply, json_reply
from saleor_app_sdk.errors import SaleorUnreachableError
from tests.payments.fake_gateway import payment
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop

AHEAD = timedelta(days=400)

jumps = pytest.mark.parametrize("ahead", [timedelta(days=1), AHEAD], ids=str)


async def put_right(shop: Shop, ahead: timedelta) -> None:
    """The clock is put back, and within ten minutes the worker looks over what was put off."""
    shop.clock.now -= ahead
    await Worker(shop.saleor).recover_from_clock_skew(shop.services)
    await shop.work()


@jumps
@pytest.mark.fault("clock-back")
@pytest.mark.law(13)
async def test_a_payment_that_was_looked_up_by_a_clock_ahead_is_looked_up_again(shop: Shop, ahead: timedelta) -> None:
    """It was paid, and nobody notifies us: only a look-up tells."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    shop.clock.now += ahead
    shop.gateway.will_answer_look_ups(*[Reply(500)] * 2)
    await shop.work()
    shop.gateway.look_ups.clear()
    shop.gateway.book[shop.order_id] = [payment(shop.order_id)]
    await put_right(shop, ahead)
    assert shop.amounts == amounts(charged=TOTAL)


@jumps
@pytest.mark.fault("clock-back")
@pytest.mark.law(5, 13)
async def test_an_event_that_saleor_did_not_take_then_is_told_now(paid_shop: Shop, ahead: timedelta) -> None:
    paid_shop.clock.now += ahead
    paid_shop.saleor.failures.extend([SaleorUnreachableError("down")] * 3)
    paid_shop.record_refund("100.00", "portal")
    await paid_shop.notify(paid_shop.gateway.book[paid_shop.order_id][-1])
    await paid_shop.work()
    paid_shop.saleor.failures.clear()
    await put_right(paid_shop, ahead)
    assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")


@jumps
@pytest.mark.fault("clock-back")
@pytest.mark.law(5, 13)
async def test_the_claim_of_a_worker_that_died_then_is_taken_over(paid_shop: Shop, ahead: timedelta) -> None:
    paid_shop.clock.now += ahead
    await paid_shop.notify(paid_shop.record_refund("100.00", "portal"))
    services = paid_shop.services
    for notification in await services.inbox.newest(paid_shop.account.id, most=1):
        await process(services, notification.id)
    async with services.database.transaction() as session:
        assert await claim(session, EVENTS, services.now(), services.schedule.lease, Capacity(most=9))
    await put_right(paid_shop, ahead)
    assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")


@jumps
@pytest.mark.fault("clock-back")
@pytest.mark.law(13)
async def test_an_answer_that_was_lost_then_is_reported(paid_shop: Shop, ahead: timedelta) -> None:
    """That Saleor has not read it is certain after ten minutes, not only when that hour comes again."""
    paid_shop.clock.now += ahead
    refund = paid_shop.record_refund("100.00", "portal")
    paid_shop.gateway.will_answer(json_reply(refund))
    await paid_shop.request_action("REFUND", "100.00", booked=False)
    await put_right(paid_shop, ahead)
    await paid_shop.pass_time(minutes=30)
    assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")


@pytest.mark.fault("clock-back")
async def test_the_books_that_were_to_be_compared_in_a_year_are_compared_now(shop: Shop) -> None:
    async with shop.services.database.transaction() as session:
        await plan_run(session, shop.account, shop.clock.now + AHEAD)
    await Worker(shop.saleor).recover_from_clock_skew(shop.services)
    async with shop.services.database.transaction() as session:
        assert await claim(session, RECONCILIATIONS, shop.clock.now, timedelta(minutes=1), Capacity(most=9))


async def test_dispute_that_is_looked_up_once_a_day_keeps_its_time(paid_shop: Shop) -> None:
    """It is put off for as long as a clock that was a day ahead puts off a look-up of a payment."""
    opened = payment(paid_shop.order_id, "pending", TOTAL, method="dispute", payment_id="dispute-1")
    await paid_shop.notify(opened)
    await paid_shop.work()
    dispute = await paid_shop.operation(Kind.DISPUTE)
    assert dispute.next_poll_at is not None
    assert dispute.next_poll_at - paid_shop.clock.now > timedelta(hours=23)
    await Worker(paid_shop.saleor).recover_from_clock_skew(paid_shop.services)
    assert (await paid_shop.operation(Kind.DISPUTE)).next_poll_at == dispute.next_poll_at


async def test_what_is_put_off_as_usual_keeps_its_time(paid_shop: Shop) -> None:
    """Neither a refund that is being found out, nor a dispute, nor tonight's comparison is brought forward."""
    paid_shop.gateway.will_answer(HangUp())
    await paid_shop.request_action("REFUND", "100.00")
    async with paid_shop.services.database.transaction() as session:
        await plan_run(session, paid_shop.account, paid_shop.clock.now)
    before = await paid_shop._next_due()
    await Worker(paid_shop.saleor).recover_from_clock_skew(paid_shop.services)
    assert await paid_shop._next_due() == before
    async with paid_shop.services.database.transaction() as session:
        assert not await claim(session, RECONCILIATIONS, paid_shop.clock.now, timedelta(minutes=1), Capacity(most=9))


async def test_what_is_compared_once_a_minute_does_not_wait_for_an_hour_that_comes_again(shop: Shop) -> None:
    gateways, now = shop.services.gateways, shop.services.now()
    assert gateways.is_comparison_due("account", now + timedelta(hours=1))
    assert gateways.is_comparison_due("account", now), "the clock was put back"
    assert not gateways.is_comparison_due("account", now + timedelta(seconds=1))
