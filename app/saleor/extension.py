"""What an app shows inside other pages of the Dashboard, said once beside the route that shows it.

The Dashboard POSTs a form into the widget's frame (Saleor contract, B.2.6): ``saleorApiUrl``, ``accessToken``,
``appId`` and, by the place, ``orderId``.
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
            "options": {"widgetTarget": {"method": "POST"}},
        }
