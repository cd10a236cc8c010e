"""The navigation of the app's pages.

Staff see only the places that they may enter.
"""

from dataclasses import dataclass

from app.i18n.messages import gettext_noop
from app.web.dashboard.staff import HANDLE_PAYMENTS, MANAGE_APPS, Staff


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
    return tuple(place for place in _PLACES if staff.permissions >= place.permissions)
