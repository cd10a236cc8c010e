"""A lane: one kind of work, with so many jobs at once and no more, and a part of them for each store.

It is what keeps a worker fair. Lanes share nothing, so a flood in one does not reach the others. In a lane a store has
only its share, so one that is slow, or down, or busy, does not hold the others up.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from app.ledger.claims import Claim, Room, Work, claim, give_back
from app.payments.desk import Desk

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Trade:
    """What a lane does: claims ``work``, and does the job of a row. ``most`` jobs at once, ``share`` for one store."""

    work: Work
    job: Callable[[Desk, int], Awaitable[object]]
    most: int
    share: int


class Lane:
    """The jobs of one trade that a worker does at the moment."""

    def __init__(self, trade: Trade) -> None:
        self._trade = trade
        self._jobs: dict[asyncio.Task[None], Claim] = {}
        self.woken = asyncio.Event()  # there is work, or room for it

    def does(self, work: Work) -> bool:
        """Return True when that is its kind of work."""
        return self._trade.work is work

    async def claim(self, desk: Desk) -> list[Claim]:
        """Claim as much of what is due as there is room for."""
        trade = self._trade
        busy = Counter(each.party for each in self._jobs.values())
        room = Room(most=trade.most - len(self._jobs), share=trade.share, busy=busy)
        if room.most <= 0:
            return []
        async with desk.database.transaction() as session:
            return await claim(session, trade.work, desk.now(), desk.schedule.lease, room)

    def begin(self, desk: Desk, claims: list[Claim]) -> None:
        """Begin the jobs of claims."""
        for each in claims:
            task = asyncio.create_task(self._do(desk, each))
            self._jobs[task] = each
            task.add_done_callback(self._ended)

    async def give_back(self, desk: Desk, claims: list[Claim]) -> None:
        """Return claims that were not begun."""
        async with desk.database.transaction() as session:
            await give_back(session, self._trade.work, claims, desk.now())

    async def finish(self, within: float | None = None) -> int:
        """Wait for the jobs that were begun, at most so many seconds; return how many are not finished even so."""
        if not self._jobs:
            return 0
        done, late = await asyncio.wait(list(self._jobs), timeout=within)
        for task in done:
            if not task.cancelled():
                task.result()
        return len(late)

    def abandon(self) -> None:
        """Stop working on whatever is not finished. Its claims run out, and another worker takes it over."""
        for task in list(self._jobs):
            task.cancel()

    async def _do(self, desk: Desk, each: Claim) -> None:
        try:
            await self._trade.job(desk, each.row_id)
        except Exception:  # it keeps its claim until that runs out, and is tried again
            log.exception("job failed", table=self._trade.work.table.__tablename__, row=each.row_id)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._jobs[task]
        self.woken.set()
