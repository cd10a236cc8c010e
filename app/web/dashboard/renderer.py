"""Renders parts of pages from templates, in the reader's language."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from fastapi.responses import HTMLResponse

from app.store.installations import OpenInstallation
from app.web.dashboard.navigation import ATTENTION, Place, visible_places
from app.web.dashboard.staff import Staff
from app.web.templates import Templates

TEMPLATES = Templates(Path(__file__).parent / "templates")
THEMES = {"light", "dark"}
"""The Dashboard's names of its two themes, as they appear in the address of a frame."""


@dataclass(frozen=True, slots=True)
class Renderer:
    """Renders parts. ``base`` is the path below which browsers reach the app, without a trailing slash.

    ``count_tasks`` returns the number of open tasks of a store: now, after what the request has done.
    """

    app_name: str
    count_tasks: Callable[[OpenInstallation], Awaitable[int]]
    base: str = ""

    async def part(
        self, template: str, staff: Staff, *, here: Place | None, at: str | None = None, **values: object
    ) -> HTMLResponse:
        """Return a part for a member of staff; ``here`` is its place in the navigation, None for a piece of a page.

        ``at`` is the path of the page that shows the same content, when it is not the requested one.
        """
        open_tasks = {} if here is None else {ATTENTION: await self.count_tasks(staff.installation)}
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
