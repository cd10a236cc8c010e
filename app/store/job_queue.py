"""Claims: any number of workers share the jobs in one database, and each store gets its share of them.

A claim is a moment in the row: until then the job belongs to one worker, after it any worker can take it. A worker that
dies leaves nothing behind that would have to be cleaned up.

Moments are by the clocks of the processes. A job that was postponed while a clock was ahead would sleep until then. No
job is postponed for longer than its queue's ``max_delay``, or that of the ``rare`` jobs of it, so any that lies beyond
is made due at once (``reset_far_future_jobs``).
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, bindparam, func, literal, union_all, update
from sqlmodel import SQLModel, col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.store.tables import Payment

Tenant: TypeAlias = int | str

_LOOK_AHEAD = 500  # how many rows of a backlog are considered at once
_Row: TypeAlias = tuple[int, Tenant, datetime]  # its id, its tenant, since when it is due
_TRIES = 3  # when another worker claims the same rows at the same moment


@dataclass(frozen=True, slots=True)
class Claim:
    """A row that is claimed ``until`` that moment. ``tenant`` is whom the job is for: a Saleor, or an account.

    ``trace_id`` is the trace that caused the job, and ``tries`` the number of attempts, this one included, where the
    row records them. ``written``: where the row was written as claimed, what was written: a notification, or the
    payment of an event; so it need not be read again.
    """

    row_id: int
    tenant: Tenant
    until: datetime
    trace_id: str | None = None
    tries: int = 0
    written: Any = None


@dataclass(frozen=True, slots=True)
class Capacity:
    """How many more jobs a worker can take: at most ``most`` in all, and at most ``share`` at once for each tenant.

    ``busy`` is how many jobs it is doing already, for each tenant that has any, and ``begun`` how many it has begun so
    far: of a long backlog, the oldest job and the newest are taken in turn.
    """

    most: int
    share: int | None = None
    busy: Mapping[Tenant, int] = field(default_factory=dict)
    begun: int = 0


@dataclass(frozen=True, eq=False)
class JobQueue:
    """A kind of job, described by the columns of its table: a row is a job once ``due`` has passed and ``ready`` holds.

    ``name`` is what operators call it. ``payment``: where the tenant is a column of the payment, the column that refers
    to the payment. ``tenants``: the primary key of the tenants, where an index of the table begins with the tenant and
    goes on with ``due``. ``tries``: the column that counts attempts. ``trace``: the column of the trace that the job
    continues. ``max_delay``: the longest for which a job is postponed; ``rare``: the jobs for which it is longer, and
    how long: only these may sleep through a clock that was ahead by less than that.
    """

    name: str
    table: type[SQLModel]
    row_id: Any
    due: Any
    tenant: Any
    payment: Any = None
    tenants: Any = None
    tries: Any = None
    trace: Any = None
    ready: tuple[ColumnElement[bool], ...] = ()
    max_delay: timedelta = timedelta(hours=2)
    rare: tuple[ColumnElement[bool], timedelta] | None = None


class DueQueues:
    """Finds out which of several queues have jobs due, in one query. Mostly none has, and that is cheap to see."""

    def __init__(self, queues: Sequence[JobQueue]) -> None:
        self._queues = tuple(queues)

    async def read(self, session: AsyncSession, now: datetime) -> list[JobQueue]:
        """Return the queues that have something due now: one query."""
        return [
            self._queues[place]
            for place in (await session.exec(_due_query(self._queues), params={"now": now})).scalars()
        ]


@cache
def _due_query(queues: tuple[JobQueue, ...]) -> Any:
    """Return the query of the places of those queues that have something due; built once, because it runs all the time.

    It asks for the earliest moment: that is the first entry of an index. Asked for one that is over, PostgreSQL assumes
    of an unknown moment that a third of all rows are, and may scan the table from its beginning to find one.
    """
    now: Any = bindparam("now", type_=queues[0].due.type)
    earliest = [select(func.min(work.due)).where(work.due.is_not(None)).scalar_subquery() for work in queues]
    return union_all(*(select(literal(place)).where(due <= now) for place, due in enumerate(earliest)))


async def claim(
    session: AsyncSession, work: JobQueue, now: datetime, lease: timedelta, capacity: Capacity
) -> list[Claim]:
    """Claim due jobs for ``lease``: tenants take turns, each with the jobs that have been due longest.

    However large one tenant's backlog, the others are considered: where the front of the queue is not all of it, both
    ends of each tenant's backlog are read. Every other job of a tenant is the newest: a shopper who pays now does not
    wait for all that has piled up while a Saleor was away, which takes minutes.

    Rows that another worker is claiming at this moment are left to it, without waiting.
    """
    until = now + lease
    for _ in range(_TRIES):
        rows = (await session.exec(_front_query(work, _LOOK_AHEAD), params={"now": now})).all()
        if len(rows) >= _LOOK_AHEAD:
            rows = await _both_ends_of_each_tenant(session, work, (work.due <= now, *work.ready), capacity)
        wanted = _round_robin(_in_turn(rows, capacity.begun), capacity)
        if not wanted:
            break
        these = {"now": now, "until": until, "wanted": list(wanted)}
        claimed = {row: rest for row, *rest in (await session.exec(_claim_statement(work), params=these)).all()}
        if claimed:
            return [Claim(row, tenant, until, *claimed[row]) for row, tenant in wanted.items() if row in claimed]
    return []


async def release_claims(session: AsyncSession, work: JobQueue, claims: Sequence[Claim], now: datetime) -> None:
    """Release claims that were not worked on, so that any worker can take them at once.

    A claim that has expired and was taken over is left alone.
    """
    for claimed in sorted(claims, key=lambda claim: claim.row_id):  # the same lock order as everywhere
        ours = (work.row_id == claimed.row_id, work.due == claimed.until)
        await session.exec(update(work.table).where(*ours).values(_new_due_values(work, now, tries=-1)))


async def postpone_claim(session: AsyncSession, work: JobQueue, claim: Claim, due: datetime) -> None:
    """Make the row of a claim due at ``due``, unless its job has already set another time, or the claim has expired."""
    ours = (work.row_id == claim.row_id, work.due == claim.until)
    await session.exec(update(work.table).where(*ours).values({work.due: due}))


async def reset_far_future_jobs(session: AsyncSession, work: JobQueue, now: datetime, lease: timedelta) -> int:
    """Make due at once the jobs postponed beyond ``max_delay`` and the length of a claim; return how many there were.

    They were postponed by a clock that was ahead and has been set back since.
    """
    beyond = [work.due.is_not(None), work.due > now + max(work.max_delay, lease)]
    if work.rare is not None:
        is_rare, max_delay = work.rare
        beyond.append(~is_rare | (work.due > now + max(max_delay, lease)))
    theirs = locked_rows(select(work.row_id).where(*beyond))
    moving: Any = update(work.table).where(work.row_id.in_(theirs)).values({work.due: now})
    moving = moving.returning(work.row_id)
    return len((await session.exec(moving)).all())


def locked_rows(rows: Any) -> Any:
    """Return the ids that a query finds and locks, without rows that others have locked: for an update's ``where``.

    The rows are locked in a query of their own (a CTE), which PostgreSQL runs once: as a subquery it may be run again
    for each row of the table, if the server believes that there are few.
    """
    return select(*rows.with_for_update(skip_locked=True).cte("locked").c)


def _new_due_values(work: JobQueue, due: Any, *, tries: int) -> dict[Any, Any]:
    return {work.due: due} | ({} if work.tries is None else {work.tries: work.tries + tries})


def _due_conditions(work: JobQueue) -> Sequence[ColumnElement[bool]]:
    return (work.due <= bindparam("now", type_=work.due.type), *work.ready)


@cache
def _front_query(work: JobQueue, rows: int) -> Any:
    """Return the query of the rows that have been due longest; built once, because it runs all the time."""
    return _longest_due_query(work, _due_conditions(work), rows=rows)


@cache
def _claim_statement(work: JobQueue) -> Any:
    """Return the statement that claims those ``wanted`` rows that are still due; built once, as above."""
    wanted = work.row_id.in_(bindparam("wanted", expanding=True))
    still_due = locked_rows(select(work.row_id).where(wanted, *_due_conditions(work)))
    moved = _new_due_values(work, bindparam("until", type_=work.due.type), tries=1)
    trace = literal(None) if work.trace is None else work.trace
    tries = literal(0) if work.tries is None else work.tries
    claiming: Any = update(work.table).where(work.row_id.in_(still_due)).values(moved)
    claiming = claiming.returning(work.row_id, trace, tries)
    return claiming.execution_options(
        synchronize_session=False
    )  # no rows are loaded yet that would have to be synchronised


def _longest_due_query(
    work: JobQueue, due: Sequence[ColumnElement[bool]], *more: ColumnElement[bool], rows: int, newest: bool = False
) -> Any:
    """Return the query of the ``rows`` rows that have been due longest, in that order; or of the ``newest`` ones."""
    query: Any = select(work.row_id, work.tenant, work.due).where(*due, *more)
    if work.payment is not None:
        query = query.join(Payment, col(Payment.id) == work.payment)
    order = (work.due.desc(), work.row_id.desc()) if newest else (work.due, work.row_id)
    return query.order_by(*order).limit(rows)


async def _both_ends_of_each_tenant(
    session: AsyncSession, work: JobQueue, due: Sequence[ColumnElement[bool]], capacity: Capacity
) -> Sequence[_Row]:
    """Return the longest-due and the newest rows of each tenant whose share is not used up.

    If there are more such tenants than can be served, those that have waited longest.
    """
    saturated = () if capacity.share is None else _saturated_tenants(capacity, capacity.share)
    waiting = _waiting_tenants_query(work, due[0], [*saturated], capacity.most)
    tenants = [tenant for tenant, _ in (await session.exec(waiting)).all()]
    if not tenants:
        return []
    half = (min(capacity.most, max(1, _LOOK_AHEAD // len(tenants))) + 1) // 2
    ends = [
        _longest_due_query(work, due, work.tenant == tenant, rows=half, newest=newest).subquery()
        for tenant in tenants
        for newest in (False, True)
    ]
    together: Any = union_all(*[select(end) for end in ends])
    found: Sequence[_Row] = (await session.exec(together)).all()
    return found


def _waiting_tenants_query(work: JobQueue, is_due: ColumnElement[bool], saturated: list[Tenant], most: int) -> Any:
    """Return the query of the tenants with due rows, and since when, except for the saturated ones.

    Where an index leads to each tenant's first row, no other row is read: it would be the whole backlog at each claim.
    """
    if work.tenants is not None:
        first: Any = select(func.min(work.due)).where(work.tenant == work.tenants, is_due).scalar_subquery()
        since = select(work.tenants.label("tenant"), first.label("since")).subquery()
        query: Any = select(since.c.tenant, since.c.since).where(since.c.since.is_not(None))
        return query.where(since.c.tenant.not_in(saturated)).order_by(since.c.since, since.c.tenant).limit(most)
    query = select(work.tenant, func.min(work.due)).where(is_due, work.tenant.not_in(saturated)).group_by(work.tenant)
    if work.payment is not None:
        query = query.join_from(work.table, Payment, col(Payment.id) == work.payment)
    return query.order_by(func.min(work.due), work.tenant).limit(most)


def _in_turn(rows: Sequence[_Row], begun: int) -> list[_Row]:
    """Return each tenant's rows from both ends in turn: those due longest at even numbers, counted from ``begun``."""
    backlogs: dict[Tenant, deque[_Row]] = defaultdict(deque)
    distinct = {row_id: (row_id, tenant, due) for row_id, tenant, due in rows}  # both ends of a short one share some
    for row in sorted(distinct.values(), key=lambda row: (row[2], row[0])):
        backlogs[row[1]].append(row)
    return [
        backlog.pop() if number % 2 else backlog.popleft()
        for backlog in backlogs.values()
        for number in range(begun, begun + len(backlog))
    ]


def _saturated_tenants(capacity: Capacity, share: int) -> Iterable[Tenant]:
    return (tenant for tenant, jobs in capacity.busy.items() if jobs >= share)


def _round_robin(rows: Sequence[_Row], capacity: Capacity) -> dict[int, Tenant]:
    """Return the ids of the rows to claim, each with its tenant, those due longest first.

    A tenant's ``rows`` are in the order in which it wants them.

    Every tenant's first row comes before any tenant's second; jobs in progress count as a tenant's first ones.
    """
    turns, line = Counter(capacity.busy), []
    for row_id, tenant, due in rows:
        turns[tenant] += 1
        if capacity.share is None or turns[tenant] <= capacity.share:
            line.append((turns[tenant], due, row_id, tenant))
    line.sort(key=lambda place: place[:3])
    return {row_id: tenant for _, _, row_id, tenant in sorted(line[: capacity.most], key=lambda place: place[1:3])}
