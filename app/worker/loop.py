"""The loop: claims what is due, works on it, rests until it is woken or the next tick."""

import asyncio
from collections.abc import Awaitable, Sequence

import structlog

from app.ledger.outbox import claim_events
from app.ledger.sheets import claim_looks
from app.payments.deadline import Deadline
from app.payments.desk import Desk
from app.payments.notify import digest
from app.payments.settle import look
from app.saleor.graphql import SaleorClient
from app.worker.deliver import deliver

log = structlog.get_logger(__name__)

_MOST = 20  # claims of one kind in one round
_TICK_SECONDS = 1.0


class Worker:
    """Does the durable jobs of one process. Any number of workers may share a database."""

    def __init__(self, saleor: SaleorClient) -> None:
        self._saleor = saleor
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Say that there is work, so that nobody waits for the next tick."""
        self._woken.set()

    async def run(self, desk: Desk) -> None:
        """Work until cancelled. An error of one round is logged, and the next round comes."""
        while True:
            self._woken.clear()
            try:
                busy = await self.work_once(desk)
            except Exception:  # the database may be away for a moment: the worker outlives it
                log.exception("worker round failed")
                busy = 0
            if busy:
                continue
            try:
                await asyncio.wait_for(self._woken.wait(), _TICK_SECONDS)
            except TimeoutError:
                continue

    async def work_once(self, desk: Desk) -> int:
        """Claim and do what is due now; return how many jobs that were."""
        now, lease = desk.now(), desk.schedule.lease
        notifications = await desk.inbox.claim(now, lease, _MOST)
        async with desk.database.transaction() as session:
            looks = await claim_looks(session, now, lease, _MOST)
            events = await claim_events(session, now, lease, _MOST)
        budget = desk.schedule.budget.total_seconds()
        await _together([digest(desk, each) for each in notifications])
        await _together(
            [look(desk, each, Deadline(budget), scheduled=True) for each in looks]
            + [deliver(desk, self._saleor, each) for each in events]
        )
        return len(notifications) + len(looks) + len(events)


async def _together(jobs: Sequence[Awaitable[None]]) -> None:
    """Do independent jobs side by side. One that fails keeps its claim until that runs out, and is tried again."""
    for result in await asyncio.gather(*jobs, return_exceptions=True):
        if isinstance(result, Exception):
            log.error("job failed", exc_info=result)
        elif isinstance(result, BaseException):
            raise result
