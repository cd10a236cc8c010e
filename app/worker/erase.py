"""Erases what a store keeps no longer: seldom, in the night, a little at a time."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count

from app.db.retention import Outdated, Place, erase_next, erase_payments, thin_notifications
from app.payments.services import Services

AT_ONCE = 100
"""Payments, or notifications, of one transaction: nobody waits long for it."""

_MOST = 50  # transactions of one job, which must end before its claim does
_GOES_ON_AFTER = timedelta(seconds=10)
_HOUR = 3  # of the day, UTC, at which few pay


@dataclass(slots=True)
class Erased:
    """Of so many payments what they say of their shoppers was erased, and the content of so many notifications."""

    payments: int = 0
    notifications: int = 0


async def erase_outdated(services: Services, installation_id: int) -> None:
    """Erase what is outdated of a store; say when to look next. What is done is done, also if the rest is not."""
    done = await erase(services, installation_id, Erased(), most=_MOST)
    now = services.now()
    async with services.database.transaction() as session:
        await erase_next(session, installation_id, next_night(now) if done else now + _GOES_ON_AFTER)


async def erase(services: Services, installation_id: int, erased: Erased, *, most: int | None = None) -> bool:
    """Erase what is outdated of a store, and count it in ``erased``; at most in so many transactions.

    Return True when nothing is left.
    """
    outdated = Outdated.of(installation_id, services.retention, services.now())
    place: Place | None = None
    for _ in range(most) if most is not None else count():
        async with services.database.transaction() as session:
            payments, place = await erase_payments(session, outdated, services.now(), most=AT_ONCE, after=place)
            notifications = await thin_notifications(session, outdated, most=AT_ONCE)
        erased.payments += payments
        erased.notifications += notifications
        if place is None and not notifications:
            return True
    return False


def next_night(now: datetime) -> datetime:
    """Return when outdated data are looked for next after ``now``."""
    tonight = now.replace(hour=_HOUR, minute=0, second=0, microsecond=0)
    return tonight if tonight > now else tonight + timedelta(days=1)
