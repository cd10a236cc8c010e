"""Mounts of apps on the Dashboard's own pages: widgets of an order (Saleor contract, B.2.1 and B.2.6)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from saleor_app_sdk.testing.dashboard.tokens import access_token
from saleor_app_sdk.testing.ids import global_id, key_of
from saleor_app_sdk.testing.records import App, Member, Order
from saleor_app_sdk.testing.saleor_state import SaleorState


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
    """Return the widgets that this member sees beside an order: those whose permissions they all have."""
    widgets = []
    for app in state.apps.values():
        for extension_id, extension in _extensions(app):
            if not {*extension.get("permissions", ())} <= {*member.permissions}:
                continue
            if (extension["mount"], extension.get("target")) == ("ORDER_DETAILS_WIDGETS", "WIDGET"):
                fields = {
                    "saleorApiUrl": state.settings.api_url,
                    "accessToken": access_token(state, app, member, extension_id),
                    "appId": app.id,
                    "orderId": order.id,
                }
                widgets.append(_widget(app, extension_id, extension, fields))
    return widgets


def _extensions(app: App) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the extensions of an active app, each with its global id."""
    if app.active:
        for number, extension in enumerate(app.manifest.get("extensions") or (), 1):
            yield global_id("AppExtension", f"{key_of('App', app.id)}{number:03}"), extension


def _widget(app: App, extension_id: str, extension: Mapping[str, Any], fields: dict[str, str]) -> Widget:
    options = (extension.get("options") or {}).get("widgetTarget") or {}
    url = absolute_url(app, extension["url"])
    return Widget(extension_id, app, extension["label"], url, options.get("method", "POST") == "POST", fields)


def absolute_url(app: App, url: str) -> str:
    """Return an extension's absolute URL: one that begins with a slash is relative to the app's own URL."""
    return app.manifest["appUrl"].rstrip("/") + url if url.startswith("/") else url
