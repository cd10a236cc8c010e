"""Claims: how any number of workers share the work in one database, and each store gets its part of it.

A claim is a moment in the row: until then the work is somebody's, after it anybody's. A worker that dies leaves nothing
behind that would have to be cleared away.

Moments are by the clocks of the processes. What was put off while one was ahead would sleep until then: no work is put
off for longer than its ``furthest``, so what lies beyond is due at once (``bring_back``).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, bindparam, exists, func, literal, union_all, update
from sqlmodel import SQLModel, col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.db.tables import Payment

Tenant: TypeAlias = int | str

_LOOK_AHEAD = 500  # rows of a backlog that are considered at once
_Row: TypeAlias = tuple[int, Tenant, datetime]  # its id, for whom it is, since when it is due
_TRIES = 3  # when another worker claims the same rows in the same moment


@dataclass(frozen=True, slots=True)
class Claim:
    """A row that was claimed ``until`` then. ``tenant`` is for whom the work is done: a Saleor, or an account.

    ``trace_id`` is of what the work follows from, where the row knows.
    """

    row_id: int
    tenant: Tenant
    until: datetime
    trace_id: str | None = None


@dataclass(frozen=True, slots=True)
class Capacity:
    """How much more a worker can take: ``most`` in all, and so many that no tenant has more than ``share`` at once.

    ``busy`` says how many jobs it does already, for each tenant that it does any for.
    """

    most: int
    share: int | None = None
    busy: Mapping[Tenant, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class JobQueue:
    """A kind of work, by the columns of its table: it is done when the moment ``due`` has come and ``ready`` holds.

    ``name`` is what operators call it. ``payment``: where the tenant is a column of the payment, the column that names
    the payment. ``tries``: where tries are counted. ``trace``: which trace the work goes on with. ``furthest``: how
    long the work is put off at most.
    """

    name: str
    table: type[SQLModel]
    row_id: Any
    due: Any
    tenant: Any
    payment: Any = None
    tries: Any = None
    trace: Any = None
    ready: tuple[ColumnElement[bool], ...] = ()
    furthest: timedelta = timedelta(hours=2)


class DueQueues:
    """Shows in which of some queues anything is due, all at once. Mostly nothing is, and to see that costs little."""

    def __init__(self, queues: Sequence[JobQueue]) -> None:
        self._queues = queues
        self._query: Any = union_all(
            *(
                # "It is there" is for PostgreSQL: when it plans for any moment it else takes a third of all rows for
                # due, and reads the table from its beginning to find one.
                select(literal(place)).where(
                    exists().where(work.due.is_not(None), work.due <= bindparam("now", type_=work.due.type))
                )
                for place, work in enumerate(queues)
            )
        )

    async def read(self, session: AsyncSession, now: datetime) -> list[JobQueue]:
        """Return the queues in which something is due now: one query."""
        return [self._queues[place] for place in (await session.exec(self._query, params={"now": now})).scalars()]


async def claim(
    session: AsyncSession, work: JobQueue, now: datetime, lease: timedelta, capacity: Capacity
) -> list[Claim]:
    """Claim what is due, for ``lease``: tenants take turns, each with what has been due longest.

    However much is due for one of them, each of the others is seen: what there is for all tenants is looked at where
    the front of the queue is not all of it.

    What another worker is claiming at this moment is left to it, and not waited for.
    """
    until = now + lease
    for _ in range(_TRIES):
        rows = (await session.exec(_front(work), params={"now": now})).all()
        if len(rows) >= _LOOK_AHEAD:
            rows = await _of_each_tenant(session, work, (work.due <= now, *work.ready), capacity)
        wanted = _in_turns(rows, capacity)
        if not wanted:
            break
        these = {"now": now, "until": until, "wanted": list(wanted)}
        claimed = dict((await session.exec(_claiming(work), params=these)).tuples().all())
        if claimed:
            return [Claim(row, tenant, until, claimed[row]) for row, tenant in wanted.items() if row in claimed]
    return []


async def give_back(session: AsyncSession, work: JobQueue, claims: Sequence[Claim], now: datetime) -> None:
    """Return claims on which nothing was done, so that anybody can take them at once.

    One that has run out, and was taken over, is left alone.
    """
    for each in sorted(claims, key=lambda each: each.row_id):  # locked in the order in which everybody locks rows
        ours = (work.row_id == each.row_id, work.due == each.until)
        await session.exec(update(work.table).where(*ours).values(_moved(work, now, tries=-1)))


async def bring_back(session: AsyncSession, work: JobQueue, now: datetime, lease: timedelta) -> int:
    """Make due at once what is put off for longer than it ever is, or than a claim lasts; return how much that was.

    It was put off by a clock that was ahead, and has been put back since.
    """
    beyond = (work.due.is_not(None), work.due > now + max(work.furthest, lease))
    theirs = select(work.row_id).where(*beyond).with_for_update(skip_locked=True)
    moving: Any = update(work.table).where(work.row_id.in_(theirs)).values({work.due: now}).returning(work.row_id)
    return len((await session.exec(moving)).all())


def _moved(work: JobQueue, due: Any, *, tries: int) -> dict[Any, Any]:
    return {work.due: due} | ({} if work.tries is None else {work.tries: work.tries + tries})


def _due_now(work: JobQueue) -> Sequence[ColumnElement[bool]]:
    return (work.due <= bindparam("now", type_=work.due.type), *work.ready)


@cache
def _front(work: JobQueue) -> Any:
    """Return the query of the rows that have been due longest; built once, as it is asked all the time."""
    return _longest_due(work, _due_now(work), rows=_LOOK_AHEAD)


@cache
def _claiming(work: JobQueue) -> Any:
    """Return the statement that claims those of the ``wanted`` rows which are still due; built once, as above."""
    wanted = work.row_id.in_(bindparam("wanted", expanding=True))
    still_due = select(work.row_id).where(wanted, *_due_now(work)).with_for_update(skip_locked=True)
    moved = _moved(work, bindparam("until", type_=work.due.type), tries=1)
    trace = literal(None) if work.trace is None else work.trace
    claiming: Any = update(work.table).where(work.row_id.in_(still_due)).values(moved).returning(work.row_id, trace)
    return claiming.execution_options(synchronize_session=False)  # nothing was read yet that would have to follow


def _longest_due(work: JobQueue, due: Sequence[ColumnElement[bool]], *more: ColumnElement[bool], rows: int) -> Any:
    """Return the query of that many rows that have been due longest, these first."""
    query: Any = select(work.row_id, work.tenant, work.due).where(*due, *more)
    if work.payment is not None:
        query = query.join(Payment, col(Payment.id) == work.payment)
    return query.order_by(work.due, work.row_id).limit(rows)


async def _of_each_tenant(
    session: AsyncSession, work: JobQueue, due: Sequence[ColumnElement[bool]], capacity: Capacity
) -> Sequence[_Row]:
    """Return the first rows of each tenant whose share is not used up.

    If those are more tenants than can be served: of those that have waited longest.
    """
    has_share = [] if capacity.share is None else [work.tenant.not_in([*_used_up(capacity, capacity.share)])]
    waiting: Any = select(work.tenant, func.min(work.due)).where(due[0], *has_share).group_by(work.tenant)
    if work.payment is not None:
        waiting = waiting.join_from(work.table, Payment, col(Payment.id) == work.payment)
    longest = waiting.order_by(func.min(work.due), work.tenant).limit(capacity.most)
    tenants = [tenant for tenant, _ in (await session.exec(longest)).all()]
    if not tenants:
        return []
    each = min(capacity.most, max(1, _LOOK_AHEAD // len(tenants)))
    fronts = [_longest_due(work, due, work.tenant == tenant, rows=each).subquery() for tenant in tenants]
    together: Any = union_all(*[select(front) for front in fronts])
    rows: Sequence[_Row] = (await session.exec(together)).all()
    return rows


def _used_up(capacity: Capacity, share: int) -> Iterable[Tenant]:
    return (tenant for tenant, jobs in capacity.busy.items() if jobs >= share)


def _in_turns(rows: Sequence[_Row], capacity: Capacity) -> dict[int, Tenant]:
    """Return the ids of the rows to claim, each with its tenant.

    A tenant's first row goes before any other's second, and the jobs that are being done for it count as its first.
    """
    turns, line = Counter(capacity.busy), []
    for row_id, tenant, due in sorted(rows, key=lambda row: (row[2], row[0])):
        turns[tenant] += 1
        if capacity.share is None or turns[tenant] <= capacity.share:
            line.append((turns[tenant], due, row_id, tenant))
    line.sort(key=lambda place: place[:3])
    return {row_id: tenant for _, _, row_id, tenant in line[: capacity.most]}
