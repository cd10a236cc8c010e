"""A Saleor over real HTTP, for tests and for the demo.

It installs apps, signs webhooks with its own key, acts as storefront and staff, keeps transactions by rules measured
on a running Saleor 3.23, accepts the app's reports over GraphQL, and records everything so that tests can inspect it.

- ``create_saleor(SaleorSettings())``: the ASGI app (``saleor_app_sdk.testing.http``)
- ``serving(...)``, ``serving_in_thread(...)``: the app on a real port (``saleor_app_sdk.testing.server``)
- ``serving_app_in_thread(create)``: your app on a real port
- ``FakeSaleor(url)``: the client for people's actions: ``await saleor.install(...)``, ``await saleor.initialize(...)``
- ``saleor_url``, ``saleor_settings``: fixtures that pytest finds by itself (``pytest_saleor_app_sdk``)
- ``/dashboard/``: the Dashboard, for people and browsers: apps in their frames, orders with payments and widgets
- ``find_webhook_errors(manifest, schema)``: a manifest's subscriptions against a file of Saleor's schema
- ``python -m saleor_app_sdk.testing --port 8000``: the same as a separate process

It knows only Saleor. It shares no code with the SDK beside it, so that each can expose mistakes in the other.
"""

from saleor_app_sdk.testing.client import FakeSaleor
from saleor_app_sdk.testing.http import create_saleor
from saleor_app_sdk.testing.schema_check import find_webhook_errors
from saleor_app_sdk.testing.server import Serving, serve_forever, serving, serving_app_in_thread, serving_in_thread
from saleor_app_sdk.testing.settings import ChannelSettings, SaleorFaults, SaleorSettings
from saleor_app_sdk.testing.views import GrantedLine, NewCheckout, NewLine, RequestedAction
from saleor_app_sdk.testing.vocabulary import Action, EventType, Flow

__all__ = [
    "Action",
    "ChannelSettings",
    "EventType",
    "FakeSaleor",
    "Flow",
    "GrantedLine",
    "NewCheckout",
    "NewLine",
    "RequestedAction",
    "SaleorFaults",
    "SaleorSettings",
    "Serving",
    "create_saleor",
    "find_webhook_errors",
    "serve_forever",
    "serving",
    "serving_app_in_thread",
    "serving_in_thread",
]
