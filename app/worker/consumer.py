"""A consumer: runs the jobs of one queue, with a limit on concurrent jobs in total and for each store.

Consumers keep a worker fair. They share nothing, so a flood in one queue does not affect the others. Within a queue
each store has only its share, so a store that is slow, down or busy does not hold up the others. A store that did not
respond gets a single job at a time until it responds (a circuit breaker): however many stores are down, and however
long each timeout takes, they cost the others little.

Jobs that are claimed together start at the same moment, so their reads, writes and reports are batched as well
(``db.group_commit``, ``saleor.batches``), while each job is written as if it ran alone.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog
from structlog.contextvars import bound_contextvars

from app import telemetry
from app.db.errors import DatabaseError
from app.db.job_queue import Capacity, Claim, JobQueue, Tenant, claim, postpone_claim, release_claims
from app.payments.services import Services

log = structlog.get_logger(__name__)

_MIN_FREE_SHARE = 0.25  # of the limit of concurrent jobs


@dataclass(frozen=True, slots=True)
class Job:
    """What a consumer runs: claims rows of ``queue`` and calls ``handler`` with the id of each.

    At most ``limit`` jobs run at once, and at most ``share`` for one store. The handler returns False when the remote
    party of the job was called and did not respond.
    """

    queue: JobQueue
    handler: Callable[[Services, int], Awaitable[object]]
    limit: int
    share: int


class Consumer:
    """The jobs of one queue that a worker is running."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._jobs: dict[asyncio.Task[None], Claim] = {}
        self._unresponsive: set[Tenant] = set()  # did not respond to their last job
        self._may_have_more = False  # the last claim may have left due jobs for want of room
        self.woken = asyncio.Event()  # jobs are due, or there is room for them
        self.overdue = False  # a due job was not claimed in time: claim however little room there is

    @property
    def queue(self) -> JobQueue:
        """The queue whose jobs this consumer runs."""
        return self._job.queue

    @property
    def has_room(self) -> bool:
        """Return True when a claim is worthwhile: jobs that end one by one must not cause claims of one job each."""
        return len(self._jobs) <= self._job.limit * (1 - _MIN_FREE_SHARE)

    async def claim(self, services: Services) -> list[Claim]:
        """Claim as many due jobs as there is room for; with little room, claim only if jobs are overdue."""
        overdue, self.overdue = self.overdue, False
        job = self._job
        busy = Counter(each.tenant for each in self._jobs.values())
        counted = {tenant: job.share if busy[tenant] else job.share - 1 for tenant in self._unresponsive}
        capacity = Capacity(most=job.limit - len(self._jobs), share=job.share, busy=busy | counted)
        if capacity.most <= 0 or not (overdue or self.has_room):
            self._may_have_more = True
            return []
        async with services.database.transaction() as session:
            claims = await claim(session, job.queue, services.now(), services.schedule.lease, capacity)
        running = busy + Counter(each.tenant for each in claims)
        self._may_have_more = len(claims) == capacity.most or any(jobs >= job.share for jobs in running.values())
        return claims

    def begin(self, services: Services, claims: list[Claim]) -> None:
        """Start the jobs of these claims."""
        for each in claims:
            task = asyncio.create_task(self._run(services, each))
            self._jobs[task] = each
            task.add_done_callback(self._on_job_done)

    async def release(self, services: Services, claims: list[Claim]) -> None:
        """Release claims whose jobs were not started."""
        async with services.database.transaction() as session:
            await release_claims(session, self._job.queue, claims, services.now())

    async def finish(self, timeout: float | None = None) -> int:
        """Wait for the running jobs, at most ``timeout`` seconds; return how many have not finished by then."""
        if not self._jobs:
            return 0
        done, late = await asyncio.wait(list(self._jobs), timeout=timeout)
        for task in done:
            if not task.cancelled():
                task.result()
        return len(late)

    def abandon(self) -> None:
        """Cancel all unfinished jobs. Their claims expire, and another worker takes them over."""
        for task in list(self._jobs):
            task.cancel()

    async def _run(self, services: Services, job: Claim) -> None:
        name = self.queue.name
        with (
            telemetry.tracing(job.trace_id),
            bound_contextvars(queue=name, row=job.row_id),
            telemetry.step(telemetry.Kind.JOB, name) as step,
        ):
            try:
                responded = await self._job.handler(services, job.row_id) is not False
                self._track_response(job.tenant, responded=responded)
                services.database.failed_jobs.clear(name, job.row_id)
            except Exception:
                step.outcome = "failed"
                log.exception("job failed")
                await self._postpone(services, job)

    async def _postpone(self, services: Services, job: Claim) -> None:
        """Retry a job that has failed unexpectedly after a pause that grows with each failure.

        Without the database the job keeps its claim, and is retried when that has expired.
        """
        failures = max(services.database.failed_jobs.count(self.queue.name, job.row_id), job.tries)
        schedule = services.schedule
        pause = schedule.pause(schedule.lease, failures, min(schedule.longest_pause, self.queue.max_delay))
        try:
            async with services.database.transaction() as session:
                await postpone_claim(session, self.queue, job, services.now() + pause)
        except DatabaseError:
            log.exception("failed job not postponed")

    def _track_response(self, tenant: Tenant, *, responded: bool) -> None:
        if not responded:
            self._unresponsive.add(tenant)
        elif tenant in self._unresponsive:
            self._unresponsive.remove(tenant)
            self._may_have_more = True  # its other jobs, for which there was no room, have room now

    def _on_job_done(self, task: asyncio.Task[None]) -> None:
        del self._jobs[task]
        if self._may_have_more:
            self.woken.set()
