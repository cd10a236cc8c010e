"""Says from time to time that this process is there: in a row of its own, which it takes away when it ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime

import structlog

from app.db.database import begin_in_background
from app.db.processes import BETWEEN_SIGNS, RunningProcess, sign, sign_off
from app.payments.services import Services

log = structlog.get_logger(__name__)


class Heartbeat:
    """The signs of one process. A worker gives them from its own rounds, so one that stands still gives none."""

    def __init__(self, process: RunningProcess) -> None:
        self.process = process
        self._signed_at: datetime | None = None

    async def beat(self, services: Services) -> None:
        """Give a sign, unless the last is younger than ``BETWEEN_SIGNS``. Raises DatabaseError."""
        now = services.now()
        if self._signed_at is not None and abs(now - self._signed_at) < BETWEEN_SIGNS:
            return
        async with services.database.transaction() as session:
            await sign(session, self.process, now)
        self._signed_at = now

    async def end(self, services: Services) -> None:
        """Give no sign any more."""
        try:
            async with services.database.transaction() as session:
                await sign_off(session, self.process)
        except Exception:  # the process ends all the same; its row is forgotten later
            log.exception("process not signed off")

    @asynccontextmanager
    async def beating(self, services: Services) -> AsyncIterator[None]:
        """Give signs while the block runs: for a process that has no worker."""
        ending = asyncio.Event()
        task = begin_in_background(self._go_on(services, ending))
        try:
            yield
        finally:
            ending.set()  # never cut off in the middle: on SQLite the lock of half a transaction outlives it
            await task
            await self.end(services)

    async def _go_on(self, services: Services, ending: asyncio.Event) -> None:
        while not ending.is_set():
            try:
                await self.beat(services)
            except Exception:  # the database may be away for a moment
                log.exception("process not signed")
            with suppress(TimeoutError):
                await asyncio.wait_for(ending.wait(), BETWEEN_SIGNS.total_seconds())
