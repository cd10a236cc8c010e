"""Finds payments by whatever people call them, and lists them page by page; for staff, who decide nothing by it alone.

Lists are paged by key: a page begins after the last row of the one before, so nothing is left out or shown twice when
new rows come in meanwhile.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, or_
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.ledger.tables import BurntOrder, EventState, Notification, Operation, Payment, SaleorEvent, State


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which payments are wanted; what is None does not matter.

    ``installation_id``: those of one store. ``state``: one of the payment's operations is in it. ``since`` and
    ``until``: when it was begun, the end excluded. ``search``: a part of the order id, the Saleor order number or the
    transaction.
    """

    installation_id: int | None = None
    problems: bool = False
    state: State | None = None
    channel: str | None = None
    account_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    search: str | None = None


async def payments_page(session: AsyncSession, wanted: Wanted, *, most: int, after: int | None) -> Sequence[Payment]:
    """Return the newest payments; with ``after``, those that are older than the payment of that row."""
    query = select(Payment).where(*_conditions(wanted)).order_by(col(Payment.id).desc()).limit(most)
    if after is not None:
        query = query.where(col(Payment.id) < after)
    return (await session.exec(query)).all()


async def called(session: AsyncSession, name: str, *, most: int = 20) -> Sequence[Payment]:
    """Return the payments that somebody calls so, the newest first.

    It is the gateway's order id (also one that was given up), Saleor's transaction or order number, or any reference of
    an operation, ours, Saleor's or the gateway's. An order can have several payments.
    """
    names = {name, name.lower()}
    with suppress(ValueError):
        names.add(UUID(name).hex)
    of_operation = select(Operation.payment_id).where(
        or_(col(Operation.psp_reference) == name, col(Operation.operation_id) == name)
    )
    of_event = select(SaleorEvent.payment_id).where(SaleorEvent.psp_reference == name)
    burnt = select(BurntOrder.payment_id).where(col(BurntOrder.order_id).in_(names))
    query = (
        select(Payment)
        .where(
            or_(
                col(Payment.order_id).in_(names),
                col(Payment.transaction_id) == name,
                col(Payment.order_number) == name.removeprefix("#"),
                *(col(Payment.id).in_(each) for each in (of_operation, of_event, burnt)),
            )
        )
        .order_by(col(Payment.id).desc())
        .limit(most)
    )
    return (await session.exec(query)).all()


async def events_page(
    session: AsyncSession, state: EventState | None, *, most: int, after: int | None
) -> Sequence[tuple[SaleorEvent, Payment]]:
    """Return the newest events with their payments; with ``after``, those that are older than the event of that row."""
    query: Any = select(SaleorEvent, Payment).join(Payment, col(Payment.id) == col(SaleorEvent.payment_id))
    if state is not None:
        query = query.where(SaleorEvent.state == state)
    if after is not None:
        query = query.where(col(SaleorEvent.id) < after)
    found = (await session.exec(query.order_by(col(SaleorEvent.id).desc()).limit(most))).all()
    return [(event, payment) for event, payment in found]


async def notifications_page(
    session: AsyncSession, *, failed: bool = False, outcome: str | None = None, most: int, after: int | None
) -> Sequence[Notification]:
    """Return the newest notifications, sealed; with ``after``, those that are older than that row.

    ``failed``: only those that were tried and could not be digested. ``outcome``: only those of which that came.
    """
    query = select(Notification).order_by(col(Notification.id).desc()).limit(most)
    if failed:
        query = query.where(col(Notification.processed_at).is_(None), col(Notification.outcome).is_not(None))
    if outcome is not None:
        query = query.where(Notification.outcome == outcome)
    if after is not None:
        query = query.where(col(Notification.id) < after)
    return (await session.exec(query)).all()


def _conditions(wanted: Wanted) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if wanted.installation_id is not None:
        found.append(col(Payment.installation_id) == wanted.installation_id)
    if wanted.problems:
        found.append(col(Payment.problem).is_not(None))
    if wanted.state is not None:
        in_state = select(Operation.payment_id).where(Operation.state == wanted.state)
        found.append(col(Payment.id).in_(in_state))
    if wanted.channel is not None:
        found.append(col(Payment.channel) == wanted.channel)
    if wanted.account_id is not None:
        found.append(col(Payment.account_id) == wanted.account_id)
    if wanted.since is not None:
        found.append(col(Payment.created_at) >= wanted.since)
    if wanted.until is not None:
        found.append(col(Payment.created_at) < wanted.until)
    if wanted.search is not None:
        columns = (col(Payment.order_id), col(Payment.order_number), col(Payment.transaction_id))
        found.append(or_(*(each.icontains(wanted.search, autoescape=True) for each in columns)))
    return found
