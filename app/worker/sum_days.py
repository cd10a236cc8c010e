"""Sums the days of a store that are over, once, and those again of which something has changed since."""

from app.db.summed_days import BETWEEN_SUMS, days_to_sum, keep_day, next_time, sum_days_next
from app.payments.services import Services


async def sum_days(services: Services, installation_id: int) -> None:
    """Keep what of a store's days is not kept, or does not hold, the newest first; say when to look next.

    Each day is a transaction of its own, so that nobody waits long for the database.
    """
    async with services.database.transaction() as session:
        due = await days_to_sum(session, installation_id, services.now())
    for day, account_ids in due:
        async with services.database.transaction() as session:
            await keep_day(session, account_ids, day, services.now())
    now = services.now()
    async with services.database.transaction() as session:
        await sum_days_next(session, installation_id, min(now + BETWEEN_SUMS, next_time(now)))
