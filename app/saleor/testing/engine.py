"""One Saleor: its records, its acts, its API, behind one object."""

import asyncio
from collections.abc import Callable
from datetime import datetime

import httpx2

from app.saleor.testing.api import Api
from app.saleor.testing.apps import Apps
from app.saleor.testing.courier import Courier
from app.saleor.testing.settings import SaleorSettings
from app.saleor.testing.staff import Staff
from app.saleor.testing.storefront import Storefront
from app.saleor.testing.world import Sleep, World


class Saleor:
    """A Saleor in this process. Use it in the event loop in which it serves, and nowhere else.

    ``world`` holds the records and the switches, ``apps``, ``storefront`` and ``staff`` act, ``api`` answers the app.
    ``sleep`` waits between retries: a test that has a clock of its own hands in how time passes there.
    """

    def __init__(
        self,
        settings: SaleorSettings,
        http: httpx2.AsyncClient,
        clock: Callable[[], datetime] | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.world = World(settings, clock, sleep)
        courier = Courier(self.world, http)
        self.apps = Apps(self.world, courier)
        self.storefront = Storefront(self.world, courier)
        self.staff = Staff(self.world, courier)
        self.api = Api(self.world, self.storefront, self.staff)
