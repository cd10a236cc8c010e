"""Where staff can go in the app's pages, and how much waits for them there.

Who may not enter a place is not shown the way.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from app.dashboard.staff import HANDLE_PAYMENTS, MANAGE_APPS, Staff
from app.db.installations import OpenInstallation
from app.i18n.messages import gettext_noop
from app.payments.alerts.items import open_items, tasks
from app.payments.services import Services

_COUNT_KEPT = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the navigation: its path below the app's, its name in English, and what one needs to enter it."""

    path: str
    name: str
    permissions: frozenset[str]


OVERVIEW = Place("/", gettext_noop("Overview"), frozenset({HANDLE_PAYMENTS}))
PAYMENTS = Place("/payments", gettext_noop("Payments"), frozenset({HANDLE_PAYMENTS}))
MONEY = Place("/money", gettext_noop("Money"), frozenset({HANDLE_PAYMENTS}))
PAYOUTS = Place("/payouts", gettext_noop("Payouts"), frozenset({HANDLE_PAYMENTS}))
ATTENTION = Place("/attention", gettext_noop("What needs you"), frozenset({HANDLE_PAYMENTS}))
BALANCES = Place("/balances", gettext_noop("Balances"), frozenset({HANDLE_PAYMENTS}))
SET_UP = Place("/set-up", gettext_noop("Set up"), frozenset({HANDLE_PAYMENTS, MANAGE_APPS}))
_PLACES = (OVERVIEW, PAYMENTS, MONEY, BALANCES, PAYOUTS, ATTENTION, SET_UP)


def places(staff: Staff) -> tuple[Place, ...]:
    """Return where this person may go, in the order in which it is shown."""
    return tuple(each for each in _PLACES if staff.permissions >= each.permissions)


class OpenTasks:
    """Counts what waits for a person in each store, and remembers it for a moment.

    Pages are looked at more often than things go wrong.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._counted: dict[int, tuple[datetime, int]] = {}

    async def of(self, installation: OpenInstallation) -> int:
        """Return how many things there are to do for that store."""
        counted_at, count = self._counted.get(installation.id, (None, 0))
        if counted_at is None or self._services.now() - counted_at >= _COUNT_KEPT:
            count = tasks(await open_items(self._services, installation))
            self._counted[installation.id] = (self._services.now(), count)
        return count

    def forget(self, installation: OpenInstallation) -> None:
        """Count anew: somebody has done something."""
        self._counted.pop(installation.id, None)
