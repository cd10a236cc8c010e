"""A Saleor over real HTTP, for tests and for the demo.

It installs apps, signs webhooks with its own key, plays storefront and staff, keeps transactions by the rules that were
measured on a running Saleor 3.23, takes the app's reports by GraphQL, and remembers everything so that a test can ask.

- ``create_saleor(SaleorSettings())``: the ASGI app (``app.saleor.testing.http``)
- ``serving(...)``, ``serving_in_thread(...)``: the app on a real port (``app.saleor.testing.server``)
- ``FakeSaleor(url)``: the person in front of it: ``await saleor.install(...)``, ``await saleor.pay(...)``
- ``/dashboard/``: the Dashboard, for people and browsers: apps in their frames, orders with payments and widgets
- ``python -m app.saleor.testing --port 8000``: the same as a process of its own

It knows Saleor only. It shares no code with the SDK beside it, so that the two can prove each other wrong.
"""

from app.saleor.testing.client import FakeSaleor
from app.saleor.testing.http import create_saleor
from app.saleor.testing.server import Serving, serve_forever, serving, serving_in_thread
from app.saleor.testing.settings import ChannelSettings, SaleorFaults, SaleorSettings
from app.saleor.testing.views import AskedAction, GrantedLine, NewCheckout, NewLine
from app.saleor.testing.vocabulary import Action, EventType, Flow

__all__ = [
    "Action",
    "AskedAction",
    "ChannelSettings",
    "EventType",
    "FakeSaleor",
    "Flow",
    "GrantedLine",
    "NewCheckout",
    "NewLine",
    "SaleorFaults",
    "SaleorSettings",
    "Serving",
    "create_saleor",
    "serve_forever",
    "serving",
    "serving_in_thread",
]
