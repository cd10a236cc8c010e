"""Extensions: where the Dashboard shows an app's pages, or leads to them. Each is defined beside its route.

The Dashboard opens the widget in a frame as it opens the app's pages (Saleor contract, B.2.6): its address contains
``saleorApiUrl``, ``id`` of the app, ``theme`` and, depending on the mount, ``orderId``; the token, the theme and the
language arrive over the app bridge. A widget that is opened by POST gets neither of the last two.
"""

from dataclasses import dataclass
from typing import Any, Literal

from saleor_app_sdk.versions import WITH_ANY_MOUNT, WITH_WIDGETS, Version

# An older Saleor refuses a manifest that names any other.
_OLDEST_MOUNTS = frozenset(
    [
        "CUSTOMER_DETAILS_MORE_ACTIONS",
        "CUSTOMER_OVERVIEW_CREATE",
        "CUSTOMER_OVERVIEW_MORE_ACTIONS",
        "NAVIGATION_CATALOG",
        "NAVIGATION_CUSTOMERS",
        "NAVIGATION_DISCOUNTS",
        "NAVIGATION_ORDERS",
        "NAVIGATION_PAGES",
        "NAVIGATION_TRANSLATIONS",
        "ORDER_DETAILS_MORE_ACTIONS",
        "ORDER_OVERVIEW_CREATE",
        "ORDER_OVERVIEW_MORE_ACTIONS",
        "PRODUCT_DETAILS_MORE_ACTIONS",
        "PRODUCT_OVERVIEW_CREATE",
        "PRODUCT_OVERVIEW_MORE_ACTIONS",
    ]
)
_OLDEST_TARGETS = frozenset({"POPUP", "APP_PAGE"})


@dataclass(frozen=True, slots=True)
class Extension:
    """An entry of a menu, or a button, that opens a page of the app. ``mount`` is the Dashboard's name of the place.

    ``target``: where the page opens, in a frame above the present page, in the app's own place of the Dashboard (then
    ``path`` follows the address of ``AppInfo.app_page``), or in another tab of the browser. Only staff with all
    ``permissions`` see it; they must be among the app's own.
    """

    label: str
    mount: str
    path: str
    permissions: tuple[str, ...] = ()
    target: Literal["POPUP", "APP_PAGE", "NEW_TAB"] = "POPUP"

    def entry(self, address: str, version: Version) -> dict[str, Any] | None:
        """Return the manifest's entry for a Saleor of that version; None for a version that does not accept it."""
        is_old = self.mount in _OLDEST_MOUNTS and self.target in _OLDEST_TARGETS
        if version < WITH_ANY_MOUNT and not is_old:
            return None
        entry: dict[str, Any] = {
            "label": self.label,
            "mount": self.mount,
            "target": self.target,
            "permissions": list(self.permissions),
            # Saleor refuses a whole address for the app's own place.
            "url": self.path if self.target == "APP_PAGE" else address,
        }
        if self.target == "NEW_TAB":
            entry["options"] = {"newTabTarget": {"method": "GET"}}
        return entry


@dataclass(frozen=True, slots=True)
class Widget:
    """A page of the app as a part of one of the Dashboard's: ``mount`` is the Dashboard's name of the place.

    ``path`` is the app's route. Only staff with all ``permissions`` see it; they must be among the app's own.
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
