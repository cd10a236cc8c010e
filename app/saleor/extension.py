"""What an app shows inside other pages of the Dashboard, said once beside the route that shows it.

The Dashboard opens the widget in a frame as it opens the app's pages (Saleor contract, B.2.6): its address says
``saleorApiUrl``, ``id`` of the app, ``theme`` and, by the place, ``orderId``; the token, the theme and the language
come over the bridge. A widget that is posted to has neither of the last two.
"""

from dataclasses import dataclass
from typing import Any

from app.saleor.versions import WITH_WIDGETS, Version


@dataclass(frozen=True, slots=True)
class Widget:
    """A part of a page of the Dashboard: ``mount`` is where, in the Dashboard's words, ``path`` our route.

    Only staff with all ``permissions`` see it, which must be among the app's own.
    """

    label: str
    mount: str
    path: str
    permissions: tuple[str, ...]

    def entry(self, address: str, version: Version) -> dict[str, Any] | None:
        """Return the manifest's entry, for a Saleor of that version; None for one that would not install it."""
        if version < WITH_WIDGETS:
            return None
        return {
            "label": self.label,
            "mount": self.mount,
            "target": "WIDGET",
            "permissions": list(self.permissions),
            "url": address,
            # Said, because the Dashboard's own two readers disagree about what it is when nothing is said.
            "options": {"widgetTarget": {"method": "GET"}},
        }
