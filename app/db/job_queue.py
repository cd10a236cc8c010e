"""Claims: how any number of workers share the work in one database, and each store gets its part of it.

A claim is a moment in the row: until then the work is somebody's, after it anybody's. A worker that dies leaves nothing
behind that would have to be cleared away.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, bindparam, case, func, literal, update
from sqlmodel import SQLModel, col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.db.tables import Payment

Tenant: TypeAlias = int | str

_LOOK_AHEAD = 500  # rows of a backlog that are considered at once
_TRIES = 3  # when another worker claims the same rows in the same moment


@dataclass(frozen=True, slots=True)
class Claim:
    """A row that was claimed ``until`` then. ``tenant`` is for whom the work is done: a Saleor, or an account."""

    row_id: int
    tenant: Tenant
    until: datetime


@dataclass(frozen=True, slots=True)
class Capacity:
    """How much more a worker can take: ``most`` in all, and so many that no tenant has more than ``share`` at once.

    ``busy`` says how many jobs it does already, for each tenant that it does any for.
    """

    most: int
    share: int | None = None
    busy: Mapping[Tenant, int] = field(default_factory=dict)


@dataclass(frozen=True)
class JobQueue:
    """A kind of work, by the columns of its table: it is done when the moment ``due`` has come and ``ready`` holds.

    ``payment``: where the tenant is a column of the payment, the column that names the payment. ``tries``: where tries
    are counted.
    """

    table: type[SQLModel]
    row_id: Any
    due: Any
    tenant: Any
    payment: Any = None
    tries: Any = None
    ready: tuple[ColumnElement[bool], ...] = ()

    @cached_property
    def anything(self) -> Any:
        """The query that shows whether anything is due. Mostly nothing is, and to see that must cost little."""
        return select(self.row_id).where(self.due <= bindparam("now", type_=self.due.type)).limit(1)


async def claim(
    session: AsyncSession, work: JobQueue, now: datetime, lease: timedelta, capacity: Capacity
) -> list[Claim]:
    """Claim what is due, for ``lease``: parties take turns, each with what has been due longest.

    What another worker is claiming at this moment is left to it, and not waited for.
    """
    if (await session.exec(work.anything, params={"now": now})).first() is None:
        return []
    due, until = (work.due <= now, *work.ready), now + lease
    for _ in range(_TRIES):
        wanted = dict((await session.exec(_in_turns(work, due, capacity))).all())
        if not wanted:
            break
        still_due = select(work.row_id).where(work.row_id.in_(list(wanted)), *due).with_for_update(skip_locked=True)
        claiming: Any = update(work.table).where(work.row_id.in_(still_due)).values(_moved(work, until, tries=1))
        claimed = set((await session.exec(claiming.returning(work.row_id))).scalars().all())
        if claimed:
            return [Claim(row_id, tenant, until) for row_id, tenant in wanted.items() if row_id in claimed]
    return []


async def give_back(session: AsyncSession, work: JobQueue, claims: Sequence[Claim], now: datetime) -> None:
    """Return claims on which nothing was done, so that anybody can take them at once.

    One that has run out, and was taken over, is left alone.
    """
    for each in sorted(claims, key=lambda each: each.row_id):  # locked in the order in which everybody locks rows
        ours = (work.row_id == each.row_id, work.due == each.until)
        await session.exec(update(work.table).where(*ours).values(_moved(work, now, tries=-1)))


def _moved(work: JobQueue, due: datetime, *, tries: int) -> dict[Any, Any]:
    return {work.due: due} | ({} if work.tries is None else {work.tries: work.tries + tries})


def _in_turns(work: JobQueue, due: Sequence[ColumnElement[bool]], capacity: Capacity) -> Any:
    """Return the query of the row ids to claim, each with its tenant.

    A tenant's first row goes before any other's second, and the jobs that are being done for it count as its first. Of
    a backlog only the front is looked at. One tenant can fill that, but not for long: when it has its share, the rest
    of its rows are passed over.
    """
    front: Any = select(work.row_id.label("row_id"), work.tenant.label("tenant"), work.due.label("due")).where(*due)
    if work.payment is not None:
        front = front.join(Payment, col(Payment.id) == work.payment)
    served = (
        [] if capacity.share is None else [tenant for tenant, jobs in capacity.busy.items() if jobs >= capacity.share]
    )
    if served:
        front = front.where(work.tenant.not_in(served))
    front = front.order_by(work.due, work.row_id).limit(_LOOK_AHEAD).subquery().c
    busy = case(dict(capacity.busy), value=front.tenant, else_=0) if capacity.busy else literal(0)
    place = func.row_number().over(partition_by=front.tenant, order_by=(front.due, front.row_id))
    line = select(front.row_id, front.tenant, front.due, (place + busy).label("turn")).subquery().c
    query: Any = select(line.row_id, line.tenant).order_by(line.turn, line.due, line.row_id).limit(capacity.most)
    return query if capacity.share is None else query.where(line.turn <= capacity.share)
