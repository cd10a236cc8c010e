"""Extensions: widgets that an app shows inside other pages of the Dashboard, each defined beside its route.

The Dashboard opens the widget in a frame as it opens the app's pages (Saleor contract, B.2.6): its address contains
``saleorApiUrl``, ``id`` of the app, ``theme`` and, depending on the mount, ``orderId``; the token, the theme and the
language arrive over the app bridge. A widget that is opened by POST gets neither of the last two.
"""

from dataclasses import dataclass
from typing import Any

from saleor_app_sdk.versions import WITH_WIDGETS, Version


@dataclass(frozen=True, slots=True)
class Widget:
    """A part of a page of the Dashboard: ``mount`` is the Dashboard's name of the place, ``path`` the app's route.

    Only staff with all ``permissions`` see it; they must be among the app's own.
    """

    label: str
    mount: str
    path: str
    permissions: tuple[str, ...]

    def entry(self, address: str, version: Version) -> dict[str, Any] | None:
        """Return the manifest's entry for a Saleor of that version; None for a version that does not accept widgets."""
        if version < WITH_WIDGETS:
            return None
        return {
            "label": self.label,
            "mount": self.mount,
            "target": "WIDGET",
            "permissions": list(self.permissions),
            "url": address,
            # Explicit, because two parts of the Dashboard disagree about the default.
            "options": {"widgetTarget": {"method": "GET"}},
        }
