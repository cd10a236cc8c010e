"""The worker: claims what is due, does it, rests until it is woken or the next tick; and stops without losing any."""

import asyncio
from contextlib import suppress
from datetime import timedelta
from itertools import count

import structlog

from app.db.aggregates import ATTEMPTS, POLLS
from app.db.inbox import NOTIFICATIONS
from app.db.job_queue import DueQueues, JobQueue, bring_back
from app.db.outbox import EVENTS
from app.db.placed_orders import ORDERS
from app.db.presence import CHECKS
from app.db.reconciliations import RECONCILIATIONS
from app.db.reported_problems import PROBLEMS
from app.db.retention import RETENTION
from app.db.summed_days import DAYS
from app.gateway.errors import NotSentError, OutcomeUnknownError, RateLimitedError
from app.outbound import Deadline
from app.payments.operations.competing_attempts import compare_attempts
from app.payments.reconciliation.run import reconcile
from app.payments.services import Services
from app.payments.sync.notifications import process
from app.payments.sync.resolve import look
from app.saleor.graphql import SaleorClient
from app.worker.consumer import Consumer, Job
from app.worker.deliver import deliver
from app.worker.erase import erase_outdated
from app.worker.find_order import find_order
from app.worker.heartbeat import Heartbeat
from app.worker.presence import check_presence
from app.worker.problems import compare_problems
from app.worker.sum_days import sum_days

log = structlog.get_logger(__name__)

_TICK_SECONDS = 1.0
_TICKS_BETWEEN_RECOVERIES = 600
# After waking up: a hundred webhooks at once are one reason to look for work, not a hundred.
_GATHERING_SECONDS = 0.02
# A job asks the gateway or Saleor for at most the budget, and the database before and after.
_MARGIN = timedelta(seconds=5)


class Worker:
    """Does the durable jobs of one process, whose signs it gives. Any number of workers may share a database."""

    def __init__(self, saleor: SaleorClient, heartbeat: Heartbeat | None = None) -> None:
        async def tell(services: Services, event_id: int) -> bool:
            return await deliver(services, saleor, event_id)

        async def compare(services: Services, installation_id: int) -> None:
            await compare_problems(services, saleor, installation_id)

        async def find(services: Services, payment_id: int) -> bool:
            return await find_order(services, saleor, payment_id)

        async def check(services: Services, installation_id: int) -> None:
            await check_presence(services, saleor, installation_id)

        self._consumers = (
            Consumer(Job(NOTIFICATIONS, process, most=100, share=50)),
            Consumer(Job(ATTEMPTS, compare_attempts, most=10, share=5)),
            Consumer(Job(POLLS, _look, most=40, share=10)),
            Consumer(Job(EVENTS, tell, most=80, share=20)),
            Consumer(Job(PROBLEMS, compare, most=5, share=1)),
            Consumer(Job(ORDERS, find, most=40, share=10)),
            Consumer(Job(CHECKS, check, most=5, share=1)),
            Consumer(Job(RECONCILIATIONS, reconcile, most=2, share=1)),
            Consumer(Job(DAYS, sum_days, most=1, share=1)),
            Consumer(Job(RETENTION, erase_outdated, most=1, share=1)),
        )
        self._due = DueQueues([each.work for each in self._consumers])
        self._stopping = asyncio.Event()
        self._heartbeat = heartbeat

    def wake(self, *works: JobQueue) -> None:
        """Say that there is some of that work, or of any, so that nobody waits for the next tick."""
        for consumer in self._consumers:
            if not works or consumer.work in works:
                consumer.woken.set()

    def stop(self) -> None:
        """Take no more work. ``run`` returns when what was begun is finished."""
        self._stopping.set()
        self.wake()

    async def run(self, services: Services) -> None:
        """Work until told to ``stop``; when cancelled, end at once.

        After ``stop`` the jobs in progress are finished, for which they get the budget and a margin. Whatever is not
        finished even then, and all that was begun when it is cancelled, is taken over when its claim has run out.
        """
        tending = [asyncio.create_task(self._tend(services, consumer)) for consumer in self._consumers]
        tending.append(asyncio.create_task(self._tick(services)))
        try:
            await asyncio.wait(tending)
            await self._finish(services)
        finally:
            # Claims are never cut off in the middle: on SQLite the lock of half a transaction outlives it for a while.
            self.stop()
            await asyncio.wait(tending)
            for consumer in self._consumers:
                consumer.abandon()
                await consumer.finish()
            if self._heartbeat is not None:
                await self._heartbeat.end(services)

    async def work_once(self, services: Services) -> int:
        """Claim and do what is due now; return how many jobs that were."""
        due = await self._due_now(services)
        claimed = [(consumer, await consumer.claim(services)) for consumer in self._consumers if consumer.work in due]
        for consumer, claims in claimed:
            consumer.begin(services, claims)
            await consumer.finish()
        return sum(len(claims) for _, claims in claimed)

    async def bring_back(self, services: Services) -> None:
        """Take up what was put off by a clock that was ahead: its time would come as much too late."""
        lease = max(services.schedule.lease, services.schedule.answer_window)
        for consumer in self._consumers:
            async with services.database.transaction() as session:
                jobs = await bring_back(session, consumer.work, services.now(), lease)
            if jobs:
                queue = consumer.work.name
                log.warning("jobs were put off by a clock that was ahead: they are due now", queue=queue, jobs=jobs)

    async def _tick(self, services: Services) -> None:
        """Wake those for whom something has become due, now and then: what waits for its time wakes nobody."""
        for tick in count():
            if self._stopping.is_set():
                return
            try:
                if tick % _TICKS_BETWEEN_RECOVERIES == 0:
                    await self.bring_back(services)
                due = await self._due_now(services)
                for consumer in self._consumers:
                    if consumer.work in due:
                        consumer.overdue = True
                        consumer.woken.set()
                if self._heartbeat is not None:
                    await self._heartbeat.beat(services)
            except Exception:  # the database may be away for a moment: the worker outlives it
                log.exception("worker round failed")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), _TICK_SECONDS)

    async def _due_now(self, services: Services) -> list[JobQueue]:
        async with services.database.transaction() as session:
            return await self._due.read(session, services.now())

    async def _tend(self, services: Services, consumer: Consumer) -> None:
        while True:
            await consumer.woken.wait()
            await asyncio.sleep(_GATHERING_SECONDS)
            if self._stopping.is_set():
                return
            consumer.woken.clear()
            try:
                claims = await consumer.claim(services)
                if self._stopping.is_set():
                    await consumer.give_back(services, claims)
                    return
                consumer.begin(services, claims)
            except Exception:  # as above; what is due is found by the next tick
                log.exception("worker round failed")

    async def _finish(self, services: Services) -> None:
        patience = services.schedule.budget + _MARGIN
        end = Deadline(patience.total_seconds())
        late = sum([await consumer.finish(end.left) for consumer in self._consumers])
        if late:
            log.warning("worker stops before its jobs are finished", jobs=late, waited_seconds=patience.total_seconds())


async def _look(services: Services, operation_row_id: int) -> bool:
    deadline = Deadline(services.schedule.budget.total_seconds())
    error = await look(services, operation_row_id, deadline, scheduled=True)
    return not isinstance(error, NotSentError | OutcomeUnknownError | RateLimitedError)
