"""The navigation of the app's pages, with the number of open tasks.

Staff see only the places that they may enter.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from app.dashboard.staff import HANDLE_PAYMENTS, MANAGE_APPS, Staff
from app.db.installations import OpenInstallation
from app.i18n.messages import gettext_noop
from app.payments.alerts.open_alerts import count_tasks, find_open_alerts
from app.payments.services import Services

_COUNT_TTL = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the navigation: its path below the app's, its name in English, and the permissions that it needs."""

    path: str
    name: str
    permissions: frozenset[str]


OVERVIEW = Place("/", gettext_noop("Overview"), frozenset({HANDLE_PAYMENTS}))
PAYMENTS = Place("/payments", gettext_noop("Payments"), frozenset({HANDLE_PAYMENTS}))
MONEY = Place("/money", gettext_noop("Money"), frozenset({HANDLE_PAYMENTS}))
PAYOUTS = Place("/payouts", gettext_noop("Payouts"), frozenset({HANDLE_PAYMENTS}))
ATTENTION = Place("/attention", gettext_noop("Needs attention"), frozenset({HANDLE_PAYMENTS}))
BALANCES = Place("/balances", gettext_noop("Balances"), frozenset({HANDLE_PAYMENTS}))
SET_UP = Place("/set-up", gettext_noop("Set up"), frozenset({HANDLE_PAYMENTS, MANAGE_APPS}))
_PLACES = (OVERVIEW, PAYMENTS, MONEY, BALANCES, PAYOUTS, ATTENTION, SET_UP)


def visible_places(staff: Staff) -> tuple[Place, ...]:
    """Return the places that this person may enter, in display order."""
    return tuple(each for each in _PLACES if staff.permissions >= each.permissions)


class OpenTasks:
    """Counts the open tasks of each store, and caches the count briefly.

    Pages are viewed more often than things go wrong.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._cache: dict[int, tuple[datetime, int]] = {}

    async def count(self, installation: OpenInstallation) -> int:
        """Return the number of open tasks of that store."""
        counted_at, count = self._cache.get(installation.id, (None, 0))
        if counted_at is None or self._services.now() - counted_at >= _COUNT_TTL:
            count = count_tasks(await find_open_alerts(self._services, installation))
            self._cache[installation.id] = (self._services.now(), count)
        return count

    def invalidate(self, installation: OpenInstallation) -> None:
        """Drop the cached count of a store, because one of its tasks was handled."""
        self._cache.pop(installation.id, None)
