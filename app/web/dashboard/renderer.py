"""Renders parts of pages from templates, in the reader's language, below the places that the reader may enter."""

from dataclasses import dataclass
from pathlib import Path

from fastapi.responses import HTMLResponse

from app.i18n.messages import gettext_noop
from app.reports.alerts.open_alerts import count_tasks, find_open_alerts
from app.services import Services
from app.web.dashboard.staff import HANDLE_PAYMENTS, MANAGE_APPS, Staff
from app.web.templates import Templates

TEMPLATES = Templates(Path(__file__).parent / "templates")
THEMES = {"light", "dark"}
"""The Dashboard's names of its two themes, as they appear in the address of a frame."""


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


@dataclass(frozen=True, slots=True)
class Renderer:
    """Renders parts. ``base`` is the path below which browsers reach the app, without a trailing slash.

    The number of open tasks in the navigation is counted when a part is rendered: after what the request has done.
    """

    services: Services
    app_name: str
    base: str = ""

    async def part(
        self, template: str, staff: Staff, *, here: Place | None, at: str | None = None, **values: object
    ) -> HTMLResponse:
        """Return a part for a member of staff; ``here`` is its place in the navigation, None for a piece of a page.

        ``at`` is the path of the page that shows the same content, when it is not the requested one.
        """
        open_tasks = {}
        if here is not None:
            open_tasks[ATTENTION] = count_tasks(await find_open_alerts(self.services, staff.installation))
        html = TEMPLATES.render(
            template,
            staff.translation,
            base=self.base,
            app_name=self.app_name,
            places=visible_places(staff),
            place=here,
            open_tasks=open_tasks,
            **values,
        )
        headers = {"Content-Language": staff.translation.language}
        if at is not None:
            headers["Content-Location"] = at
        return HTMLResponse(html, headers=headers)
