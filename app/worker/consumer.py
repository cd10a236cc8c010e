"""A consumer: runs the jobs of one queue, with a limit on concurrent jobs in total and for each store.

Consumers keep a worker fair. They share nothing, so a flood in one queue does not affect the others. Within a queue
each store has only its share, so a store that is slow, down or busy does not hold up the others. A store that did not
respond gets a single job at a time until it responds (a circuit breaker): however many stores are down, and however
long each timeout takes, they cost the others little.

Jobs that are claimed together start at the same moment, so their reads, writes and reports are batched as well
(``store.group_commit``, ``saleor_app_sdk.batches``), while each job is written as if it ran alone.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from dataclasses import dataclass
from datetime import datetime

import structlog
from structlog.contextvars import bound_contextvars

from app.services import Services
from app.store.job_queue import Capacity, Claim, JobQueue, Tenant, claim, postpone_claim, release_claims
from integration_base import telemetry
from integration_base.outbound import Deadline

log = structlog.get_logger(__name__)

_MIN_FREE_SHARE = 0.25  # of the limit of concurrent jobs


@dataclass(frozen=True, slots=True)
class Job:
    """What a consumer runs: claims rows of ``queue`` and calls ``handler`` with each claim.

    At most ``limit`` jobs run at once, and at most ``share`` for one store. The handler returns False when the remote
    party of the job was called and did not respond.
    """

    queue: JobQueue
    handler: Callable[[Services, Claim], Awaitable[object]]
    limit: int
    share: int


@dataclass(frozen=True, slots=True)
class Place:
    """Room for a job of ``tenant`` that a consumer keeps free until it is known whether the job is committed."""

    consumer: "Consumer"
    services: Services
    tenant: Tenant
    until: datetime

    def begin(self, claim: Claim) -> None:
        """Begin the job, whose claim is committed."""
        self.release()
        self.consumer.begin(self.services, [claim])

    def release(self) -> None:
        """Give the room back."""
        self.consumer.release_place(self)


class Consumer:
    """The jobs of one queue that a worker is running."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._jobs: dict[asyncio.Task[None], Claim] = {}
        self._reserved: Counter[Tenant] = Counter()  # room for jobs that are being written
        self._unresponsive: set[Tenant] = set()  # did not respond to their last job
        self.context = copy_context()  # in which jobs run
        self._may_have_more = False  # the last claim may have left due jobs for want of room
        self._death: BaseException | None = None  # ended a job, and is to end the worker too
        self._abandoned = False
        self._claiming = False  # the room that there is may be needed for what is being claimed
        self.begun_jobs = 0
        self.woken = asyncio.Event()  # jobs are due, or there is room for them
        self.overdue = False  # a due job was not claimed in time: claim however little room there is

    @property
    def queue(self) -> JobQueue:
        """The queue whose jobs this consumer runs."""
        return self._job.queue

    @property
    def has_room(self) -> bool:
        """Return True when a claim is worthwhile: jobs that end one by one must not cause claims of one job each."""
        return self._used <= self._job.limit * (1 - _MIN_FREE_SHARE)

    @property
    def _used(self) -> int:
        return len(self._jobs) + self._reserved.total()

    def reserve(self, services: Services, tenant: Tenant) -> Place | None:
        """Reserve room for a job that is being written; None when there is none, or others have waited for longer."""
        if self._claiming or self._may_have_more:
            return None
        if self._used >= self._job.limit or self._busy()[tenant] >= self._job.share:
            return None
        self._reserved[tenant] += 1
        return Place(self, services, tenant, services.now() + services.schedule.lease)

    def release_place(self, place: Place) -> None:
        """Give the room of a reservation back."""
        self._reserved[place.tenant] -= 1
        if not self._reserved[place.tenant]:
            del self._reserved[place.tenant]

    def _busy(self) -> Counter[Tenant]:
        """Return how much of its share each tenant uses; one that did not respond to its last job has but one."""
        busy = Counter(claim.tenant for claim in self._jobs.values()) + self._reserved
        for tenant in self._unresponsive:
            busy[tenant] = self._job.share if busy[tenant] else self._job.share - 1
        return busy

    async def claim(self, services: Services) -> list[Claim]:
        """Claim as many due jobs as there is room for; with little room, claim only if jobs are overdue."""
        overdue, self.overdue = self.overdue, False
        job = self._job
        busy = self._busy()
        capacity = Capacity(most=job.limit - self._used, share=job.share, busy=busy, begun=self.begun_jobs)
        if capacity.most <= 0 or not (overdue or self.has_room):
            self._may_have_more = True
            return []
        self._claiming = True
        try:
            async with services.database.transaction() as session:
                claims = await claim(session, job.queue, services.now(), services.schedule.lease, capacity)
        finally:
            self._claiming = False
        running = Counter(claimed.tenant for claimed in (*self._jobs.values(), *claims))
        self._may_have_more = len(claims) == capacity.most or any(jobs >= job.share for jobs in running.values())
        return claims

    def begin(self, services: Services, claims: list[Claim]) -> None:
        """Start the jobs of these claims. Once the jobs are abandoned, none is started: its claim expires as theirs."""
        if self._abandoned:
            return
        for claimed in claims:
            # Not in the context of a request that made the job due: it is done in the background, in another trace.
            task = asyncio.create_task(self._run(services, claimed), context=self.context.copy())
            self._jobs[task] = claimed
            task.add_done_callback(self._on_job_done)
        self.begun_jobs += len(claims)

    async def release(self, services: Services, claims: list[Claim]) -> None:
        """Release claims whose jobs were not started."""
        async with services.database.transaction() as session:
            await release_claims(session, self._job.queue, claims, services.now())

    async def finish(self, timeout: float | None = None) -> int:
        """Wait for the running jobs, and for those that they cause; return how many have not finished in time.

        ``timeout``: how many seconds to wait at most; None: until all have finished.
        """
        deadline = None if timeout is None else Deadline(timeout)
        late: set[asyncio.Task[None]] = set()
        while self._jobs and not late:
            _, late = await asyncio.wait(list(self._jobs), timeout=None if deadline is None else deadline.left)
            await asyncio.sleep(0)  # what is to be done at their end is done first
        if self._death is not None:
            raise self._death
        return len(late)

    @property
    def is_idle(self) -> bool:
        """Return True when no job runs, and none is being written that would run here."""
        return not self._jobs and not self._reserved

    def abandon(self) -> None:
        """Cancel all unfinished jobs. Their claims expire, and another worker takes them over."""
        self._abandoned = True
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
                responded = await self._job.handler(services, job) is not False
                self._track_response(job.tenant, responded=responded)
                services.database.failed_jobs.clear(name, job.row_id)
            except Exception:
                step.outcome = "failed"
                log.exception("job.failed")
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
        except Exception:  # whatever it is, it must not end the worker
            log.exception("job.not_postponed")

    def _track_response(self, tenant: Tenant, *, responded: bool) -> None:
        if not responded:
            self._unresponsive.add(tenant)
        elif tenant in self._unresponsive:
            self._unresponsive.remove(tenant)
            self._may_have_more = True  # its other jobs, for which there was no room, have room now

    def _on_job_done(self, task: asyncio.Task[None]) -> None:
        del self._jobs[task]
        if not task.cancelled():
            self._death = task.exception() or self._death
        if self._may_have_more:
            self.woken.set()
