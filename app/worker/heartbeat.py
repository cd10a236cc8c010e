"""Periodically records that this process is alive, in a row of its own.

A gap, in which no process served, is compared with the gateway's books at once: nothing is known of how often the
gateway repeats a notification that nobody received.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime

import structlog

from app.services import Services
from app.store.database import begin_in_background
from app.store.processes import HEARTBEAT_INTERVAL, RunningProcess, find_gap, record_heartbeat, remove_process
from app.store.reconciliations import compare_gap

log = structlog.get_logger(__name__)


class Heartbeat:
    """The heartbeat of one process. A worker beats from its own rounds, so a stuck worker sends no heartbeat."""

    def __init__(self, process: RunningProcess) -> None:
        self.process = process
        self._last_beat_at: datetime | None = None

    async def beat(self, services: Services) -> None:
        """Record a heartbeat, unless the last is younger than ``HEARTBEAT_INTERVAL``. Raises DatabaseError."""
        now = services.now()
        if self._last_beat_at is not None and abs(now - self._last_beat_at) < HEARTBEAT_INTERVAL:
            return
        async with services.database.transaction() as session:
            gap = await find_gap(session, now) if self.process.serves else None
            await record_heartbeat(session, self.process, now)
            accounts = 0 if gap is None else await compare_gap(session, gap, now)
        self._last_beat_at = now
        if gap is not None:
            log.warning("notifications.not_received", after=gap, count=accounts, detail="the records are compared")

    async def end(self, services: Services) -> None:
        """End the heartbeat: the process is no longer running."""
        try:
            async with services.database.transaction() as session:
                await remove_process(session, self.process, services.now())
        except Exception:  # the process ends all the same; its row is deleted later
            log.exception("heartbeat.not_removed")

    @asynccontextmanager
    async def beating(self, services: Services) -> AsyncIterator[None]:
        """Record heartbeats while the block runs: for a process without a worker."""
        ending = asyncio.Event()
        task = begin_in_background(self._beat_until(services, ending))
        try:
            yield
        finally:
            ending.set()  # never interrupt it: on SQLite the lock of an interrupted transaction outlives it
            await task
            await self.end(services)

    async def _beat_until(self, services: Services, ending: asyncio.Event) -> None:
        while not ending.is_set():
            try:
                await self.beat(services)
            except Exception:  # the database may be unavailable for a moment
                log.exception("heartbeat.not_written")
            with suppress(TimeoutError):
                await asyncio.wait_for(ending.wait(), HEARTBEAT_INTERVAL.total_seconds())
