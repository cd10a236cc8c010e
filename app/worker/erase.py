"""Erases data whose retention period is over: rarely, at night, in small batches."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count

from app.services import Services
from app.store.retention import Outdated, PagePosition, erase_notifications, erase_payments, schedule_erasure
from app.store.turned_away import erase_turned_away

BATCH_SIZE = 100
"""Payments, or notifications, in one transaction: small, so that nothing waits long for its locks."""

_MAX_BATCHES = 50  # transactions in one job, which must end before its claim expires
_CONTINUE_AFTER = timedelta(seconds=10)
_ERASE_HOUR = 3  # of the day, UTC, when there are few payments


@dataclass(slots=True)
class ErasedCounts:
    """How many payments had their shoppers' data erased, and how many notifications their content."""

    payments: int = 0
    notifications: int = 0


async def erase_outdated(services: Services, installation_id: int) -> None:
    """Erase a store's outdated data and schedule the next run. Each batch is committed, even if a later one fails."""
    done = await erase(services, installation_id, ErasedCounts(), max_batches=_MAX_BATCHES)
    now = services.now()
    async with services.database.transaction() as session:
        await erase_turned_away(session, installation_id, now)
        await schedule_erasure(session, installation_id, next_night(now) if done else now + _CONTINUE_AFTER)


async def erase(
    services: Services, installation_id: int, erased: ErasedCounts, *, max_batches: int | None = None
) -> bool:
    """Erase a store's outdated data in at most ``max_batches`` transactions, and count it in ``erased``.

    Return True when no outdated data is left.
    """
    outdated = Outdated.for_store(installation_id, services.retention, services.now())
    place: PagePosition | None = None
    for _ in range(max_batches) if max_batches is not None else count():
        async with services.database.transaction() as session:
            payments, place = await erase_payments(session, outdated, services.now(), most=BATCH_SIZE, after=place)
            notifications = await erase_notifications(session, outdated, most=BATCH_SIZE)
        erased.payments += payments
        erased.notifications += notifications
        if place is None and not notifications:
            return True
    return False


def next_night(now: datetime) -> datetime:
    """Return the time of the next nightly run after ``now``."""
    tonight = now.replace(hour=_ERASE_HOUR, minute=0, second=0, microsecond=0)
    return tonight if tonight > now else tonight + timedelta(days=1)
