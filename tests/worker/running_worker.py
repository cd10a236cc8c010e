"""A worker that runs beside the test, as it does beside the web app."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from app.worker.loop import Worker
from integration_base_tests.waiting import unless_it_hangs
from saleor_app_sdk.errors import SaleorUnreachableError
from saleor_app_sdk.installation import Installation
from saleor_app_sdk.reports import EventReport, ReportOutcome
from tests.payments.shop import Shop


@asynccontextmanager
async def run_worker(shop: Shop) -> AsyncIterator[Worker]:
    """Let a worker run; at the end it is cancelled."""
    worker = Worker(shop.saleor)
    task = asyncio.create_task(worker.run(shop.services))
    try:
        yield worker
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def wait_until_reported(shop: Shop, told: str) -> None:
    """Wait until Saleor was told that."""
    await wait_until(shop, lambda: told in shop.saleor.reported_types)


async def wait_until(shop: Shop, until: Callable[[], bool]) -> None:
    """Wait until what Saleors were asked makes that true."""
    async with unless_it_hangs():
        while not until():
            shop.saleor.report_received.clear()
            await shop.saleor.report_received.wait()


@dataclass
class SlowSaleor:
    """Stands before the books of a shop: takes each report, and books it only when it is let go.

    With a ``url``, only the Saleor there is slow.
    """

    shop: Shop
    url: str | None = None

    def __post_init__(self) -> None:
        self.arrived = asyncio.Event()
        self.let_go = asyncio.Event()
        self.waiting = 0
        self._report = self.shop.saleor.report
        self.shop.saleor.report = self._slowly  # type: ignore[method-assign] # it stands before the books

    async def _slowly(self, installed: Installation, event: EventReport) -> ReportOutcome:
        if self.url not in {None, installed.saleor_api_url}:
            return await self._report(installed, event)
        self.waiting += 1
        self.arrived.set()
        await self.let_go.wait()
        return await self._report(installed, event)


@dataclass
class DeadSaleors:
    """Stands before the books of a shop: of some Saleors nothing comes, and in the end it is certain that nothing will.

    ``end`` ends what waits, ``recover`` lets them answer again.
    """

    shop: Shop
    urls: frozenset[str]

    def __post_init__(self) -> None:
        self.waiting: Counter[str] = Counter()
        self.dead = True
        self._over = asyncio.Event()
        self._report = self.shop.saleor.report
        self.shop.saleor.report = self._in_vain  # type: ignore[method-assign] # it stands before the books

    def end(self) -> None:
        """Let what waits fail, as at the end of its time."""
        self._over.set()
        self._over = asyncio.Event()

    def recover(self) -> None:
        """Let them answer from now on; what waits has failed."""
        self.dead = False
        self.end()

    async def _in_vain(self, installed: Installation, event: EventReport) -> ReportOutcome:
        if not self.dead or installed.saleor_api_url not in self.urls:
            return await self._report(installed, event)
        self.waiting[installed.saleor_api_url] += 1
        self.shop.saleor.report_received.set()
        try:
            await self._over.wait()
        finally:
            self.waiting[installed.saleor_api_url] -= 1
        raise SaleorUnreachableError("no answer in time")
