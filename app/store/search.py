"""Finds payments by any of their names, and lists them page by page; for display to staff, not for decisions.

Lists use keyset pagination: a page begins after the last row of the previous one, so nothing is left out or shown twice
when new rows arrive. Every kind of search has an index (``tables.Payment``): nothing here scans a whole table.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, CompoundSelect, func, literal, text, tuple_, union_all
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core import payment as core
from app.core.notification import UNMATCHED_BEFORE, OutcomeCode
from app.core.vocabulary import EventState, Flow, Kind, PaymentStatus, State
from app.store.aggregates import ALONE, read_payments
from app.store.columns import Moment, table_of
from app.store.payment_rows import EVENTS, PAYMENTS
from app.store.tables import Installation, Notification, Operation, Payment, SaleorEvent

# The condition of an index, verbatim, so that both databases recognise that the index applies.
_NO_CREATION = text("operation.kind <> 'create'")


MAX_COUNTED = 1000
"""The most payments that are counted and summed: this many can be read quickly even among millions."""
_MAX_NAMED = 20  # payments that one name finds


@dataclass(frozen=True, slots=True)
class PaymentNames:
    """Names under which a payment is searched for.

    ``exact``: the gateway's order id, Saleor's id of the transaction, or of the order or checkout that it pays, or a
    reference of an operation, Saleor's or the gateway's. ``beginning``: the beginning of an order id, in ASCII.
    """

    exact: Collection[str] = ()
    beginning: str | None = None
    order_number: str | None = None


@dataclass(frozen=True, slots=True)
class PaymentFilter:
    """The filter of a search for payments; fields that are None are ignored.

    ``installation_id``: those of one store. ``status``: those with that status. ``since`` and ``until``: when the
    payment was begun, the end excluded. ``names``: those with any of these names. ``amount``: exactly that was to be
    paid. ``email_digests``: the shopper's address has one of these digests (``personal``). Payouts have a list of their
    own (``payouts``), and are included only with ``payouts``.
    """

    installation_id: int | None = None
    problems: bool = False
    status: PaymentStatus | None = None
    channel: str | None = None
    account_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    names: PaymentNames | None = None
    amount: Decimal | None = None
    currency: str | None = None
    email_digests: Collection[str] | None = None
    payouts: bool = False


async def payments_page(
    session: AsyncSession, wanted: PaymentFilter, *, most: int, after: core.Payment | None = None
) -> Sequence[core.Payment]:
    """Return the newest payments; with ``after``, those that follow that one in the list."""
    begun, row = col(Payment.created_at), col(Payment.id)
    query = ALONE.where(*_conditions(wanted)).order_by(None).order_by(begun.desc(), row.desc()).limit(most)
    if after is not None:
        query = query.where(tuple_(begun, row) < tuple_(literal(after.created_at, Moment), literal(after.id)))
    return await read_payments(session, query)


@dataclass(frozen=True, slots=True)
class FoundSum:
    """How many payments of an account have a status, and what has moved with them. ``trial``: those of staff."""

    account_id: str
    status: PaymentStatus
    currency: str
    trial: bool
    count: int
    charged: Decimal
    refunded: Decimal
    charged_back: Decimal


@dataclass(frozen=True, slots=True)
class FoundSums:
    """The sums of the newest ``MAX_COUNTED`` matching payments. ``more``: there are more matches."""

    all: Sequence[FoundSum]
    more: bool

    def count(self, status: PaymentStatus | None = None) -> int:
        """Return how many have that status; None: any status."""
        return sum(total.count for total in self.all if status in {None, total.status})


async def sum_payments(session: AsyncSession, wanted: PaymentFilter) -> FoundSums:
    """Return the sums of the matching payments; one query, which reads only the payments that it counts."""
    alike: Sequence[Any] = (Payment.account_id, Payment.status, Payment.currency, Payment.trial)
    counted: Any = sa.select(col(Payment.id), *alike, col(Payment.flow)).where(*_conditions(wanted))
    newest = counted.order_by(col(Payment.created_at).desc(), col(Payment.id).desc()).limit(MAX_COUNTED + 1).subquery()
    kind = col(Operation.kind)
    is_charge = kind.in_([Kind.CAPTURE, Kind.RECURRING]) | ((kind == Kind.CREATE) & (newest.c.flow == Flow.CHARGE))
    moved = [is_charge, kind == Kind.REFUND, kind == Kind.DISPUTE]
    columns = [newest.c[column.key] for column in alike]
    summed: Any = (
        sa.select(
            *columns,
            func.count(newest.c.id.distinct()),
            *(func.sum(sa.case((condition, col(Operation.amount)))) for condition in moved),
        )
        .outerjoin(
            table_of(Operation),
            (col(Operation.payment_id) == newest.c.id) & (col(Operation.state) == State.SUCCESS),
        )
        .group_by(*columns)
    )
    rows = (await session.exec(summed)).all()
    found = [FoundSum(*row[:-3], *(amount or Decimal("0.00") for amount in row[-3:])) for row in rows]
    found.sort(key=lambda part: (-part.count, part.currency))
    return FoundSums(found, more=sum(total.count for total in found) > MAX_COUNTED)


async def find_by_name(session: AsyncSession, names: PaymentNames) -> Sequence[core.Payment]:
    """Return the newest payments and payouts with any of these names. An order can have several payments."""
    return await payments_page(session, PaymentFilter(names=names, payouts=True), most=_MAX_NAMED)


async def channels_of(session: AsyncSession, installation_id: int) -> list[str]:
    """Return the sales channels in which a store has had payments, by name; one index step for each channel."""
    own = (col(Payment.installation_id) == installation_id) & (col(Payment.channel) != "")  # trials have no channel
    first = select(func.min(Payment.channel).label("channel")).where(own)
    channel = first.cte("channel", recursive=True)
    following = select(func.min(Payment.channel)).where(own, col(Payment.channel) > channel.c.channel)
    found = channel.union_all(select(following.scalar_subquery()).where(channel.c.channel.is_not(None)))
    return [channel for channel in (await session.exec(select(found.c.channel))).all() if channel is not None]


async def events_page(
    session: AsyncSession, state: EventState | None, *, most: int, after: int | None
) -> Sequence[tuple[core.SaleorEvent, core.Payment]]:
    """Return the newest events with their payments; with ``after``, those older than the event with that row id."""
    query: Any = sa.select(*EVENTS.columns, *PAYMENTS.columns).join(
        Payment, col(Payment.id) == col(SaleorEvent.payment_id)
    )
    if state is not None:
        query = query.where(SaleorEvent.state == state)
    if after is not None:
        query = query.where(col(SaleorEvent.id) < after)
    found = (await session.exec(query.order_by(col(SaleorEvent.id).desc()).limit(most))).all()
    width = len(EVENTS.columns)
    return [(EVENTS.read(row[:width]), PAYMENTS.read(row[width:])) for row in found]


async def notifications_page(
    session: AsyncSession, *, failed: bool = False, unmatched: bool = False, most: int, after: int | None
) -> Sequence[Notification]:
    """Return the newest notifications, sealed; with ``after``, those older than the one with that row id.

    ``failed``: only those whose processing failed so far. ``unmatched``: only those about orders that are not ours.
    """
    query = select(Notification).order_by(col(Notification.id).desc()).limit(most)
    if failed:
        query = query.where(col(Notification.processed_at).is_(None), col(Notification.outcome).is_not(None))
    if unmatched:
        query = query.where(col(Notification.outcome).in_([OutcomeCode.UNMATCHED, UNMATCHED_BEFORE]))
    if after is not None:
        query = query.where(col(Notification.id) < after)
    return (await session.exec(query)).all()


def _conditions(wanted: PaymentFilter) -> list[ColumnElement[bool]]:
    equal: Sequence[tuple[Any, Any]] = (
        (Payment.installation_id, wanted.installation_id),
        (Payment.status, wanted.status),
        (Payment.channel, wanted.channel),
        (Payment.account_id, wanted.account_id),
        (Payment.amount, wanted.amount),
        (Payment.currency, wanted.currency),
    )
    found = [col(column) == value for column, value in equal if value is not None]
    if wanted.status is not None or wanted.amount is not None:
        found.append(_in_store(wanted.installation_id))
    if not wanted.payouts:
        found.append(col(Payment.flow) != Flow.PAYOUT)
    if wanted.problems:
        found.append(col(Payment.problem_since).is_not(None))
    if wanted.since is not None:
        found.append(col(Payment.created_at) >= wanted.since)
    if wanted.until is not None:
        found.append(col(Payment.created_at) < wanted.until)
    if wanted.names is not None:
        found.append(col(Payment.id).in_(_ids_by_name(wanted.names, wanted.installation_id)))
    if wanted.email_digests is not None:
        found.append(col(Payment.email_digest).in_(wanted.email_digests))
    return found


def _ids_by_name(names: PaymentNames, installation_id: int | None) -> CompoundSelect[Any]:
    """Return the query of the row ids of payments with any of these names: one index look-up for each kind of name."""
    ways: list[Any] = []
    if names.exact:
        theirs = [] if installation_id is None else [Payment.installation_id == installation_id]
        ways += [
            select(Payment.id).where(col(Payment.order_id).in_(names.exact)),
            select(Operation.payment_id).where(col(Operation.operation_id).in_(names.exact)),
            select(Operation.payment_id).where(col(Operation.psp_reference).in_(names.exact), _NO_CREATION),
            select(Payment.id).where(*theirs, col(Payment.transaction_id).in_(names.exact)),
            select(Payment.id).where(_in_store(installation_id), col(Payment.source_id).in_(names.exact)),
        ]
    if names.beginning:
        # The last of all strings that begin so, for the order of bytes: nothing in ASCII is greater than DEL.
        first, last = names.beginning, f"{names.beginning}\x7f"
        ways.append(select(Payment.id).where(col(Payment.order_id).between(first, last)))
    if names.order_number:
        ways.append(select(Payment.id).where(col(Payment.order_number) == names.order_number))
    return union_all(*ways)


def _in_store(installation_id: int | None) -> ColumnElement[bool]:
    """Return the condition that a payment is of that store, or of any; so an index starting with the store applies."""
    any_store: Any = select(Installation.id) if installation_id is None else [installation_id]
    return col(Payment.installation_id).in_(any_store)
