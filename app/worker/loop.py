"""The worker: claims due jobs, runs them, sleeps until woken or until the next tick, and stops without losing jobs."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, suppress
from contextvars import copy_context
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from time import monotonic

import structlog

from app.core.ids import EventRowId, OperationRowId, PaymentRowId
from app.flows.notifications import process
from app.flows.open_pages import check_polled_page
from app.flows.reconciliation.run import reconcile
from app.flows.resolve import resolve_operation
from app.rules.decisions.competing_attempts import AttemptsDue
from app.services import Services
from app.store.aggregates import ATTEMPTS, ORDERS, POLLS, ById, Payable
from app.store.inbox import NOTIFICATIONS
from app.store.job_queue import Claim, DueQueues, JobQueue, Tenant, reset_far_future_jobs
from app.store.outbox import EVENTS
from app.store.presence import CHECKS
from app.store.problems import PROBLEMS
from app.store.processes import SILENT_AFTER
from app.store.reconciliations import RECONCILIATIONS
from app.store.retention import RETENTION
from app.store.summed_days import DAYS
from app.worker.consumer import Consumer, Job, Place
from app.worker.deliver import deliver
from app.worker.erase import erase_outdated
from app.worker.find_order import find_order
from app.worker.heartbeat import Heartbeat
from app.worker.presence import check_presence
from app.worker.problems import compare_problems
from app.worker.sum_days import sum_days
from gateway_client.errors import NotSentError, OutcomeUnknownError, RateLimitedError
from integration_base.outbound import Deadline
from saleor_app_sdk.graphql import SaleorClient

log = structlog.get_logger(__name__)

LONGEST_ROUND_SECONDS = SILENT_AFTER.total_seconds()
"""A round that takes longer hangs: the database times out much earlier."""
_TICK_SECONDS = 1.0
_TICKS_BETWEEN_RECOVERIES = 600
# Delay after a wake-up, so that a hundred webhooks at once cause one query for due jobs, not a hundred.
_BATCHING_SECONDS = 0.02
# A job waits for the gateway or Saleor for at most the budget, and uses the database before and after.
_MARGIN = timedelta(seconds=5)


class Worker:
    """Runs the durable jobs of one process and sends its heartbeat. Any number of workers may share a database."""

    def __init__(
        self, saleor: SaleorClient, heartbeat: Heartbeat | None = None, clock: Callable[[], float] = monotonic
    ) -> None:
        async def process_notification(services: Services, claim: Claim) -> object:
            return await process(services, claim.row_id, claim.written)

        async def deliver_event(services: Services, claim: Claim) -> bool:
            return await deliver(services, saleor, EventRowId(claim.row_id), claim.written)

        self._consumers = (
            Consumer(Job(NOTIFICATIONS, process_notification, limit=100, share=50)),
            Consumer(Job(ATTEMPTS, _of_row(compare_attempts), limit=10, share=5)),
            Consumer(Job(POLLS, _of_row(_poll_operation, saleor), limit=40, share=10)),
            Consumer(Job(EVENTS, deliver_event, limit=80, share=20)),
            Consumer(Job(PROBLEMS, _of_row(compare_problems, saleor), limit=5, share=1)),
            Consumer(Job(ORDERS, _of_row(find_order, saleor), limit=40, share=10)),
            Consumer(Job(CHECKS, _of_row(check_presence, saleor), limit=5, share=1)),
            Consumer(Job(RECONCILIATIONS, _of_row(reconcile), limit=2, share=1)),
            Consumer(Job(DAYS, _of_row(sum_days), limit=1, share=1)),
            Consumer(Job(RETENTION, _of_row(erase_outdated), limit=1, share=1)),
        )
        self._due = DueQueues([consumer.queue for consumer in self._consumers])
        self._stopping = asyncio.Event()
        self._heartbeat = heartbeat
        self._clock = clock
        self._round_began_at: float | None = None

    def is_hung(self) -> bool:
        """Return whether the rounds have stopped, though the worker is to run: only starting the process again helps.

        While the database is away the rounds fail, and go on.
        """
        if self._round_began_at is None or self._stopping.is_set():
            return False
        return self._clock() - self._round_began_at > LONGEST_ROUND_SECONDS

    def wake(self, *queues: JobQueue) -> None:
        """Wake the consumers of these queues, or of all, so that new jobs do not wait for the next tick."""
        for consumer in self._consumers:
            if not queues or consumer.queue in queues:
                consumer.woken.set()

    def stop(self) -> None:
        """Claim no more jobs. ``run`` returns when the running jobs have finished."""
        self._stopping.set()
        self.wake()

    async def run(self, services: Services) -> None:
        """Run jobs until ``stop`` is called; when cancelled, end at once.

        After ``stop`` the running jobs may finish, within the budget and a margin. Jobs that have not finished by then,
        and all running jobs on cancellation, are taken over by another worker when their claims have expired.
        """
        with self.attached_to(services):
            tasks = [asyncio.create_task(self._run_consumer(services, consumer)) for consumer in self._consumers]
            tasks.append(asyncio.create_task(self._tick(services)))
            try:
                await asyncio.wait(tasks)
                await self._finish_jobs(services)
            finally:
                # Never interrupt a claim: on SQLite the lock of an interrupted transaction outlives it for a while.
                self.stop()
                await asyncio.wait(tasks)
                for consumer in self._consumers:
                    consumer.abandon()
                    await consumer.finish()
                if self._heartbeat is not None:
                    await self._heartbeat.end(services)

    async def work_once(self, services: Services) -> int:
        """Run the jobs that are due now, and those that they make due, and return their number."""
        begun = self._begun_jobs
        with self.attached_to(services):
            due = await self._get_due_queues(services)
            claimed = [
                (consumer, await consumer.claim(services)) for consumer in self._consumers if consumer.queue in due
            ]
            for consumer, claims in claimed:
                consumer.begin(services, claims)
                await consumer.finish()
            await self.finish_claimed_jobs()
        return self._begun_jobs - begun

    def attached_to(self, services: Services) -> AbstractContextManager[None]:
        """Let transactions of this process claim jobs for this worker, which does them as what it claims itself."""
        for consumer in self._consumers:
            consumer.context = copy_context()
        return services.database.worked_by(_Local(self, services))

    async def finish_claimed_jobs(self) -> None:
        """Finish the jobs that other jobs have claimed when they made them due."""
        while True:
            for consumer in self._consumers:
                await consumer.finish()
            if all(consumer.is_idle for consumer in self._consumers):
                return
            await asyncio.sleep(0)

    @property
    def _begun_jobs(self) -> int:
        return sum(consumer.begun_jobs for consumer in self._consumers)

    def reserve(self, services: Services, queue: JobQueue, tenant: Tenant) -> Place | None:
        """Reserve room for a job that is being written; None when there is none, or the worker is stopping."""
        if self._stopping.is_set():
            return None
        consumer = next(consumer for consumer in self._consumers if consumer.queue is queue)
        return consumer.reserve(services, tenant)

    async def recover_from_clock_skew(self, services: Services) -> None:
        """Make jobs due that were postponed while the clock was ahead: they would run late by as much."""
        lease = max(services.schedule.lease, services.schedule.answer_window)
        for consumer in self._consumers:
            async with services.database.transaction() as session:
                jobs = await reset_far_future_jobs(session, consumer.queue, services.now(), lease)
            if jobs:
                queue = consumer.queue.name
                log.warning(
                    "jobs.rescheduled", queue=queue, jobs=jobs, detail="a clock that was ahead had put them off"
                )

    async def _tick(self, services: Services) -> None:
        """Periodically wake the consumers whose queues have due jobs: the passing of time alone wakes none."""
        for tick in count():
            if self._stopping.is_set():
                return
            self._round_began_at = self._clock()
            try:
                if tick % _TICKS_BETWEEN_RECOVERIES == 0:
                    await self.recover_from_clock_skew(services)
                due = await self._get_due_queues(services)
                for consumer in self._consumers:
                    if consumer.queue in due:
                        consumer.overdue = True
                        consumer.woken.set()
                if self._heartbeat is not None:
                    await self._heartbeat.beat(services)
            except Exception:  # the database may be unavailable for a moment: the worker carries on
                log.exception("worker_round.failed")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), _TICK_SECONDS)

    async def _get_due_queues(self, services: Services) -> list[JobQueue]:
        async with services.database.transaction() as session:
            return await self._due.read(session, services.now())

    async def _run_consumer(self, services: Services, consumer: Consumer) -> None:
        while True:
            await consumer.woken.wait()
            await asyncio.sleep(_BATCHING_SECONDS)
            if self._stopping.is_set():
                return
            consumer.woken.clear()
            try:
                claims = await consumer.claim(services)
                if self._stopping.is_set():
                    await consumer.release(services, claims)
                    return
                consumer.begin(services, claims)
            except Exception:  # as above; the next tick finds the due jobs
                log.exception("worker_round.failed")

    async def _finish_jobs(self, services: Services) -> None:
        timeout = services.schedule.budget + _MARGIN
        deadline = Deadline(timeout.total_seconds())
        unfinished = sum([await consumer.finish(deadline.left) for consumer in self._consumers])
        if unfinished:
            log.warning("jobs.not_finished", jobs=unfinished, waited_seconds=timeout.total_seconds())


@dataclass(frozen=True, slots=True)
class _Local:
    """A worker as the transactions of its process know it."""

    worker: Worker
    services: Services

    def now(self) -> datetime:
        return self.services.now()

    def reserve(self, queue: JobQueue, tenant: Tenant) -> Place | None:
        return self.worker.reserve(self.services, queue, tenant)

    def wake(self, *queues: JobQueue) -> None:
        self.worker.wake(*queues)


def _of_row(handler: Callable[..., Awaitable[object]], *more: object) -> Callable[[Services, Claim], Awaitable[object]]:
    """Return the handler of claims for one that takes the services, ``more``, and the id of the row."""

    async def handle(services: Services, claim: Claim) -> object:
        return await handler(services, *more, claim.row_id)

    return handle


async def compare_attempts(services: Services, payment_id: PaymentRowId) -> None:
    """Compare a payment that has progressed with all attempts to pay the same, locked together (laws of money, 12)."""
    known = await services.payments.read(payment_id)
    payable = Payable(known.installation_id, known.source_id)
    await services.payments.record_of_attempt(ById(payment_id), payable, AttemptsDue(services.decision_context()))


async def _poll_operation(services: Services, saleor: SaleorClient, operation_row_id: OperationRowId) -> bool:
    deadline = Deadline(services.schedule.budget.total_seconds())
    error = await resolve_operation(services, operation_row_id, deadline, scheduled=True)
    await check_polled_page(services, saleor, operation_row_id)
    return not isinstance(error, NotSentError | OutcomeUnknownError | RateLimitedError)
