"""One Saleor: its state, its actions and its API behind one object."""

import asyncio
from collections.abc import Callable
from datetime import datetime

import httpx2

from saleor_app_sdk.testing.api import Api
from saleor_app_sdk.testing.app_client import AppClient
from saleor_app_sdk.testing.apps import Apps
from saleor_app_sdk.testing.customers import Customers
from saleor_app_sdk.testing.notifications import Notifications
from saleor_app_sdk.testing.saleor_state import SaleorState, Sleep
from saleor_app_sdk.testing.settings import SaleorSettings
from saleor_app_sdk.testing.staff import Staff
from saleor_app_sdk.testing.stored_methods import StoredMethods
from saleor_app_sdk.testing.storefront import Storefront


class Saleor:
    """A Saleor in this process. Use it only in the event loop in which it serves.

    ``state`` holds the records, settings and faults; ``apps``, ``storefront`` and ``staff`` perform actions; ``api``
    handles GraphQL requests. ``sleep`` waits between retries: a test with its own clock passes a matching ``sleep``.
    """

    def __init__(
        self,
        settings: SaleorSettings,
        http: httpx2.AsyncClient,
        clock: Callable[[], datetime] | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.state = SaleorState(settings, clock, sleep)
        app_client = AppClient(self.state, http)
        self.apps = Apps(self.state, app_client)
        self.storefront = Storefront(self.state, app_client)
        self.stored_methods = StoredMethods(self.state, app_client)
        self.notifications = Notifications(self.state, app_client)
        self.customers = Customers(self.state, self.notifications)
        self.staff = Staff(self.state, app_client, self.notifications)
        self.api = Api(self.state, self.storefront, self.staff, self.stored_methods)
