"""The worker sums a store's days that are over, once; and again what of them has changed."""

from datetime import UTC, datetime, timedelta

from sqlmodel import col, select

from app.db.summed_days import BETWEEN_SUMS, next_time
from app.db.tables import DayOutcome, DayTotal, Installation, SummedDay
from tests.payments.fake_gateway import payment
from tests.payments.shop import TOTAL, Shop


async def kept(shop: Shop) -> list[DayTotal]:
    async with shop.services.database.transaction() as session:
        return list((await session.exec(select(DayTotal).order_by(col(DayTotal.day)))).all())


async def test_what_was_paid_yesterday_is_summed_in_the_night(shop: Shop) -> None:
    shop.clock.now = datetime(2026, 11, 21, 12, tzinfo=UTC)
    shop.gateway.will(shop.gateway.page())
    await shop.begin()
    await shop.notify(payment(shop.order_id))
    await shop.work()
    assert await kept(shop) == []
    shop.clock.now = next_time(shop.clock.now)
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
    assert installation.days_due_at == shop.clock.now + BETWEEN_SUMS
