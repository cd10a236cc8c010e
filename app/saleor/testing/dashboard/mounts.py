"""Where apps appear on the Dashboard's own pages: widgets of an order (Saleor contract, B.2.1 and B.2.6)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.saleor.testing.dashboard.tokens import access_token
from app.saleor.testing.ids import global_id, key_of
from app.saleor.testing.records import App, Member, Order
from app.saleor.testing.saleor_state import SaleorState


@dataclass(frozen=True, slots=True)
class Widget:
    """An extension on a page. ``by_post``: a hidden form with ``fields`` is submitted into its frame."""

    id: str
    app: App
    label: str
    url: str
    by_post: bool
    fields: dict[str, str]


def order_widgets(state: SaleorState, member: Member, order: Order) -> list[Widget]:
    """Return the widgets that this person sees beside an order: those whose permissions they all have."""
    widgets = []
    for app in state.apps.values():
        for known_as, extension in _extensions(app):
            if not {*extension.get("permissions", ())} <= {*member.permissions}:
                continue
            if (extension["mount"], extension.get("target")) == ("ORDER_DETAILS_WIDGETS", "WIDGET"):
                told = {
                    "saleorApiUrl": state.settings.api_url,
                    "accessToken": access_token(state, app, member, known_as),
                    "appId": app.id,
                    "orderId": order.id,
                }
                widgets.append(_widget(app, known_as, extension, told))
    return widgets


def _extensions(app: App) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Give the extensions of an app that may work, each with its global id."""
    if app.active:
        for number, extension in enumerate(app.manifest.get("extensions") or (), 1):
            yield global_id("AppExtension", f"{key_of('App', app.id)}{number:03}"), extension


def _widget(app: App, known_as: str, extension: Mapping[str, Any], fields: dict[str, str]) -> Widget:
    how = (extension.get("options") or {}).get("widgetTarget") or {}
    url = complete_url(app, extension["url"])
    return Widget(known_as, app, extension["label"], url, how.get("method", "POST") == "POST", fields)


def complete_url(app: App, url: str) -> str:
    """Return an extension's address: what begins with a slash lies below the app's own."""
    return app.manifest["appUrl"].rstrip("/") + url if url.startswith("/") else url
