"""Sums each past day of a store once, and again when something of that day has changed since."""

from collections.abc import Sequence
from datetime import date, timedelta

from app.services import Services
from app.store.day_sums import Days
from app.store.summed_days import SUM_INTERVAL, days_to_sum, next_summing_time, schedule_summing, store_sums

_DAY = timedelta(days=1)
_QUIET_DAY_MAX_MOVES = 1000
"""After days with at most this many movements, twice as many days are summed in one transaction."""

_MAX_DAYS_TOGETHER = 7
"""Limit of days in one transaction: the days before quiet ones may be busy."""


async def sum_days(services: Services, installation_id: int) -> None:
    """Store a store's missing or outdated sums of days, newest first, and schedule the next run.

    Nothing waits long for the database: each day has a transaction of its own, except quiet days.
    """
    async with services.database.transaction() as session:
        due = await days_to_sum(session, installation_id, services.now())
    most = 1
    while due:
        together = _count_consecutive_days(due, most)
        days, account_ids = Days(due[together - 1][0], due[0][0]), due[0][1]
        async with services.database.transaction() as session:
            moved = await store_sums(session, account_ids, days, services.now())
        due = due[together:]
        most = min(2 * most, _MAX_DAYS_TOGETHER) if moved <= _QUIET_DAY_MAX_MOVES else 1
    now = services.now()
    async with services.database.transaction() as session:
        await schedule_summing(session, installation_id, min(now + SUM_INTERVAL, next_summing_time(now)))


def _count_consecutive_days(due: Sequence[tuple[date, Sequence[str]]], most: int) -> int:
    """Return how many of the first items, at most ``most``, are consecutive days of the same accounts."""
    day, account_ids = due[0]
    together = 1
    while due[together : together + 1] == [(day - together * _DAY, account_ids)] and together < most:
        together += 1
    return together
