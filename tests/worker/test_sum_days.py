"""The worker sums a store's days that are over, once; and again what of them has changed."""

from datetime import UTC, date, datetime, timedelta

import pytest
from sqlmodel import col, select

from app.flows.notifications import process
from app.store.day_sums import Days
from app.store.summed_days import SUM_INTERVAL, days_without_sums, last_finished_day, next_summing_time
from app.store.tables import DayOutcome, DayTotal, Installation, SummedDay
from app.worker.sum_days import sum_days
from tests.payments.fake_gateway import operation, payment
from tests.payments.shop import TOTAL, Shop
from tests.statements import count_queries

BEGUN = date(2026, 11, 21)


async def kept(shop: Shop) -> list[DayTotal]:
    async with shop.services.database.transaction() as session:
        return list((await session.exec(select(DayTotal).order_by(col(DayTotal.day)))).all())


async def test_what_was_paid_yesterday_is_summed_in_the_night(shop: Shop) -> None:
    shop.clock.now = datetime(2026, 11, 21, 12, tzinfo=UTC)
    await shop.enable_day_sums()
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.notify(payment(shop.order_id))
    await shop.work()
    assert await kept(shop) == []
    shop.clock.now = next_summing_time(shop.clock.now)
    await shop.work()
    [total] = await kept(shop)
    assert (total.day, str(total.amount), total.count) == (shop.clock.now.date() - timedelta(days=1), TOTAL, 1)
    async with shop.services.database.transaction() as session:
        [outcome] = (await session.exec(select(DayOutcome))).all()
        installation = (await session.exec(select(Installation))).one()
        newest = (await session.exec(select(SummedDay).order_by(col(SummedDay.day).desc()))).first()
    assert outcome.count == 1
    assert newest is not None
    assert newest.day == total.day
    assert installation.days_due_at == shop.clock.now + SUM_INTERVAL


async def refunded_on_some_days(shop: Shop) -> None:
    """A payment is refunded in parts, on the first, second, fifth and fortieth day after it; nobody sums meanwhile."""
    await shop.complete_payment()
    for number, days in enumerate((1, 1, 3, 35)):
        shop.clock.forward(days=days)
        await shop.notify(operation("refund", shop.order_id, "69.50", operation_id=f"refund-{number}"))
        for kept_notification in await shop.services.inbox.find_for_order(shop.account.id, shop.order_id):
            await process(shop.services, kept_notification.id)
    shop.clock.forward(days=5)


@pytest.mark.parametrize(("quiet", "transactions"), [(1000, 13), (0, 20)])
async def test_days_on_which_little_has_moved_are_summed_together(
    shop: Shop, quiet: int, transactions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that was away for six weeks needs a few goes for them; after a busy day the next goes alone."""
    monkeypatch.setattr("app.worker.sum_days._QUIET_DAY_MAX_MOVES", quiet)
    await refunded_on_some_days(shop)
    with count_queries(shop.services.database) as counted:
        await sum_days(shop.services, shop.installation.id)
    found = [
        ((day_total.day - BEGUN).days, day_total.kind, str(day_total.amount), day_total.count)
        for day_total in await kept(shop)
    ]
    refunds = [(day, "refunded", "69.50", 1) for day in (1, 2, 5, 40)]
    assert sorted(found) == [(0, "charged", TOTAL, 1), *refunds]
    days = Days(BEGUN, last_finished_day(shop.clock.now))
    async with shop.services.database.transaction() as session:
        assert await days_without_sums(session, [shop.account.id], days) == []
    assert counted.transactions == transactions
