"""Sums the days of a store that are over, once, and those again of which something has changed since."""

from collections.abc import Sequence
from datetime import date, timedelta

from app.db.day_sums import Days
from app.db.summed_days import BETWEEN_SUMS, days_to_sum, keep_sums, next_time, sum_days_next
from app.payments.services import Services

_DAY = timedelta(days=1)
_QUIET = 1000
"""After days on which no more than so much has moved, twice as many are summed together."""

_WEEK = 7
"""Days that are summed together at most: those before quiet ones may be busy."""


async def sum_days(services: Services, installation_id: int) -> None:
    """Keep what of a store's days is not kept, or does not hold, the newest first; say when to look next.

    Nobody waits long for the database: each day is a transaction of its own, but for those that are quiet.
    """
    async with services.database.transaction() as session:
        due = await days_to_sum(session, installation_id, services.now())
    most = 1
    while due:
        together = _next(due, most)
        days, account_ids = Days(due[together - 1][0], due[0][0]), due[0][1]
        async with services.database.transaction() as session:
            moved = await keep_sums(session, account_ids, days, services.now())
        due = due[together:]
        most = min(2 * most, _WEEK) if moved <= _QUIET else 1
    now = services.now()
    async with services.database.transaction() as session:
        await sum_days_next(session, installation_id, min(now + BETWEEN_SUMS, next_time(now)))


def _next(due: Sequence[tuple[date, Sequence[str]]], most: int) -> int:
    """Return how many of these, the first ones, are days in a row of the same accounts; ``most`` at most."""
    day, account_ids = due[0]
    together = 1
    while due[together : together + 1] == [(day - together * _DAY, account_ids)] and together < most:
        together += 1
    return together
