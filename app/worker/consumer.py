"""A consumer: one kind of work, with so many jobs at once and no more, and a part of them for each store.

It is what keeps a worker fair. Consumers share nothing, so a flood of one kind of work does not reach the others. In
each a store has only its share, so one that is slow, or down, or busy, does not hold the others up. One that did not
answer has a single job at once until it does (a circuit breaker): however many are down, and however long it takes to
find out each time, they cost the others little.

What is claimed together is begun in the same moment, so the jobs' reads, writes and reports are done together as well
(``db.group_commit``, ``saleor.batches``): each job is written as if it were alone.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog
from structlog.contextvars import bound_contextvars

from app import telemetry
from app.db.job_queue import Capacity, Claim, JobQueue, Tenant, claim, give_back
from app.payments.services import Services

log = structlog.get_logger(__name__)

_MUCH = 0.25  # of the jobs that there can be at once


@dataclass(frozen=True, slots=True)
class Job:
    """What a consumer does: claims ``work``, and does the job of a row. ``most`` at once, ``share`` for one store.

    The job returns False when whom it is done for was asked and did not answer.
    """

    work: JobQueue
    job: Callable[[Services, int], Awaitable[object]]
    most: int
    share: int


class Consumer:
    """The jobs of one kind that a worker does at the moment."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._jobs: dict[asyncio.Task[None], Claim] = {}
        self._silent: set[Tenant] = set()  # whoever was asked last and did not answer
        self._left = False  # by the last claim: there may be more work than there was room for
        self.woken = asyncio.Event()  # there is work, or room for it
        self.overdue = False  # some of it nobody has claimed at its time, whatever room there is

    @property
    def work(self) -> JobQueue:
        """Its kind of work."""
        return self._job.work

    @property
    def has_room(self) -> bool:
        """Return True when a claim is worth its while: what ends one by one is not followed by claims of one."""
        return len(self._jobs) <= self._job.most * (1 - _MUCH)

    async def claim(self, services: Services) -> list[Claim]:
        """Claim as much of what is due as there is room for; with little room, only what is overdue."""
        overdue, self.overdue = self.overdue, False
        job = self._job
        busy = Counter(each.tenant for each in self._jobs.values())
        counted = {tenant: job.share if busy[tenant] else job.share - 1 for tenant in self._silent}
        capacity = Capacity(most=job.most - len(self._jobs), share=job.share, busy=busy | counted)
        if capacity.most <= 0 or not (overdue or self.has_room):
            self._left = True
            return []
        async with services.database.transaction() as session:
            claims = await claim(session, job.work, services.now(), services.schedule.lease, capacity)
        jobs = busy + Counter(each.tenant for each in claims)
        self._left = len(claims) == capacity.most or any(many >= job.share for many in jobs.values())
        return claims

    def begin(self, services: Services, claims: list[Claim]) -> None:
        """Begin the jobs of claims."""
        for each in claims:
            task = asyncio.create_task(self._do(services, each))
            self._jobs[task] = each
            task.add_done_callback(self._ended)

    async def give_back(self, services: Services, claims: list[Claim]) -> None:
        """Return claims that were not begun."""
        async with services.database.transaction() as session:
            await give_back(session, self._job.work, claims, services.now())

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

    async def _do(self, services: Services, each: Claim) -> None:
        name = self._job.work.name
        with (
            telemetry.tracing(each.trace_id),
            bound_contextvars(queue=name, row=each.row_id),
            telemetry.step(telemetry.Kind.JOB, name) as step,
        ):
            try:
                self._note(each.tenant, answered=await self._job.job(services, each.row_id) is not False)
            except Exception:  # it keeps its claim until that runs out, and is tried again
                step.outcome = "failed"
                log.exception("job failed")

    def _note(self, tenant: Tenant, *, answered: bool) -> None:
        if not answered:
            self._silent.add(tenant)
        elif tenant in self._silent:
            self._silent.remove(tenant)
            self._left = True  # what there was no room for has room now

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._jobs[task]
        if self._left:
            self.woken.set()
