"""A worker that runs beside the test, as it does beside the web app."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace

from app.saleor.installation import Installed
from app.saleor.reports import EventReport, ReportOutcome
from app.worker.loop import Worker
from tests.payments.shop import Shop


@asynccontextmanager
async def working(shop: Shop) -> AsyncIterator[Worker]:
    """Let a worker run; at the end it is cancelled."""
    worker = Worker(shop.saleor)
    shop.services = replace(shop.services, wake=worker.wake)
    task = asyncio.create_task(worker.run(shop.services))
    try:
        yield worker
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def until(shop: Shop, told: str) -> None:
    """Wait until Saleor was told that."""
    async with asyncio.timeout(10):
        while told not in shop.saleor.told:
            shop.saleor.news.clear()
            await shop.saleor.news.wait()


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

    async def _slowly(self, installed: Installed, event: EventReport) -> ReportOutcome:
        if self.url not in {None, installed.saleor_api_url}:
            return await self._report(installed, event)
        self.waiting += 1
        self.arrived.set()
        await self.let_go.wait()
        return await self._report(installed, event)
