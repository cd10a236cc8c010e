"""The worker: claims what is due, does it, rests until it is woken or the next tick; and stops without losing any."""

import asyncio
from datetime import timedelta

import structlog

from app.ledger.claims import Work
from app.ledger.inbox import NOTIFICATIONS
from app.ledger.outbox import EVENTS
from app.ledger.placed_orders import ORDERS
from app.ledger.presence import CHECKS
from app.ledger.sheets import ATTEMPTS, LOOKS
from app.ledger.told_problems import PROBLEMS
from app.payments.deadline import Deadline
from app.payments.desk import Desk
from app.payments.learn.attempts import compare_attempts
from app.payments.learn.notify import digest
from app.payments.learn.settle import look
from app.saleor.graphql import SaleorClient
from app.worker.deliver import deliver
from app.worker.find_order import find_order
from app.worker.lane import Lane, Trade
from app.worker.presence import check_presence
from app.worker.problems import compare_problems

log = structlog.get_logger(__name__)

_TICK_SECONDS = 1.0
# After waking up: a hundred webhooks at once are one reason to look for work, not a hundred.
_GATHERING_SECONDS = 0.02
# A job asks the gateway or Saleor for at most the budget, and the database before and after.
_MARGIN = timedelta(seconds=5)


class Worker:
    """Does the durable jobs of one process. Any number of workers may share a database."""

    def __init__(self, saleor: SaleorClient) -> None:
        async def tell(desk: Desk, event_id: int) -> None:
            await deliver(desk, saleor, event_id)

        async def compare(desk: Desk, installation_id: int) -> None:
            await compare_problems(desk, saleor, installation_id)

        async def find(desk: Desk, payment_id: int) -> None:
            await find_order(desk, saleor, payment_id)

        async def check(desk: Desk, installation_id: int) -> None:
            await check_presence(desk, saleor, installation_id)

        self._lanes = (
            Lane(Trade(NOTIFICATIONS, digest, most=10, share=5)),
            Lane(Trade(ATTEMPTS, compare_attempts, most=10, share=5)),
            Lane(Trade(LOOKS, _look, most=40, share=10)),
            Lane(Trade(EVENTS, tell, most=40, share=10)),
            Lane(Trade(PROBLEMS, compare, most=5, share=1)),
            Lane(Trade(ORDERS, find, most=8, share=2)),
            Lane(Trade(CHECKS, check, most=5, share=1)),
        )
        self._stopping = asyncio.Event()

    def wake(self, *works: Work) -> None:
        """Say that there is some of that work, or of any, so that nobody waits for the next tick."""
        for lane in self._lanes:
            if not works or any(lane.does(each) for each in works):
                lane.woken.set()

    def stop(self) -> None:
        """Take no more work. ``run`` returns when what was begun is finished."""
        self._stopping.set()
        self.wake()

    async def run(self, desk: Desk) -> None:
        """Work until told to ``stop``; when cancelled, end at once.

        After ``stop`` the jobs in progress are finished, for which they get the budget and a margin. Whatever is not
        finished even then, and all that was begun when it is cancelled, is taken over when its claim has run out.
        """
        tending = [asyncio.create_task(self._tend(desk, lane)) for lane in self._lanes]
        try:
            await asyncio.wait(tending)
            await self._finish(desk)
        finally:
            # Claims are never cut off in the middle: on SQLite the lock of half a transaction outlives it for a while.
            self.stop()
            await asyncio.wait(tending)
            for lane in self._lanes:
                lane.abandon()
                await lane.finish()

    async def work_once(self, desk: Desk) -> int:
        """Claim and do what is due now; return how many jobs that were."""
        claimed = [(lane, await lane.claim(desk)) for lane in self._lanes]
        for lane, claims in claimed:
            lane.begin(desk, claims)
            await lane.finish()
        return sum(len(claims) for _, claims in claimed)

    async def _tend(self, desk: Desk, lane: Lane) -> None:
        while not self._stopping.is_set():
            lane.woken.clear()
            try:
                claims = await lane.claim(desk)
                if self._stopping.is_set():
                    await lane.give_back(desk, claims)
                    return
                lane.begin(desk, claims)
            except Exception:  # the database may be away for a moment: the worker outlives it
                log.exception("worker round failed")
            try:
                await asyncio.wait_for(lane.woken.wait(), _TICK_SECONDS)
            except TimeoutError:
                continue
            await asyncio.sleep(_GATHERING_SECONDS)

    async def _finish(self, desk: Desk) -> None:
        patience = desk.schedule.budget + _MARGIN
        end = Deadline(patience.total_seconds())
        late = sum([await lane.finish(end.left) for lane in self._lanes])
        if late:
            log.warning("worker stops before its jobs are finished", jobs=late, waited_seconds=patience.total_seconds())


async def _look(desk: Desk, operation_row_id: int) -> None:
    await look(desk, operation_row_id, Deadline(desk.schedule.budget.total_seconds()), scheduled=True)
