"""A payment as a whole: the payment with its operations and its events, read and locked together.

Everything that decides about a payment's money happens between ``load_*`` and the end of that transaction, under the
payment's lock: what is capturable or refundable is computed from what nobody else is changing (laws of money, 3).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, bindparam, inspect
from sqlalchemy.orm import defer, joinedload
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.db.job_queue import JobQueue
from app.db.problems import load_problems
from app.db.saved_cards import RefusedCard, write_cards
from app.db.tables import ChangedDay, Kind, Operation, Payment, Problem, SaleorEvent, SavedCard, SplitShare

POLLS = JobQueue(
    "look_ups",
    Operation,
    row_id=col(Operation.id),
    due=col(Operation.next_poll_at),
    tenant=col(Payment.account_id),
    payment=col(Operation.payment_id),
    furthest=timedelta(hours=25),  # disputes
    trace=col(Operation.trace_id),
)


ATTEMPTS = JobQueue(
    "attempts",
    Payment,
    row_id=col(Payment.id),
    due=col(Payment.attempts_due_at),
    tenant=col(Payment.account_id),
)
"""Payments whose other attempts to pay the same are to be looked at, because this one has come further."""


WITH_ACCOUNT = joinedload(Payment.account, innerjoin=True)  # type: ignore[arg-type]  # SQLModel says what rows have


@dataclass(slots=True)
class PaymentAggregate:
    """A payment with all that belongs to it; operations and events oldest first. Its problems are in the payment.

    ``shares`` are those of sub-merchants in its operations; there are none when the payment is not split.
    ``assigned`` and ``tied`` name operations that may have no row yet (see ``assign`` and ``tie``). ``kept_cards`` are
    those that its customer keeps, and ``refused_cards`` those that the gateway takes no more (``save_all`` writes
    both).
    """

    payment: Payment
    operations: list[Operation]
    events: list[SaleorEvent]
    shares: list[SplitShare] = field(default_factory=list)
    assigned: list[tuple[Operation, Mapping[str, Decimal]]] = field(default_factory=list)
    tied: list[tuple[SaleorEvent | Problem, Operation]] = field(default_factory=list)
    kept_cards: list[SavedCard] = field(default_factory=list)
    refused_cards: list[RefusedCard] = field(default_factory=list)

    @property
    def create(self) -> Operation:
        """The operation that made the payment at the gateway. Every payment has one from its first commit on."""
        return next(operation for operation in self.operations if operation.kind is Kind.CREATE)

    def by_key(self, idempotency_key: str) -> Operation | None:
        """Return the operation that answers to this question, or None."""
        return next(
            (
                each
                for each in self.operations
                if each.idempotency_key == idempotency_key
                or any(asked["key"] == idempotency_key for asked in each.saleor_requests)
            ),
            None,
        )

    def by_digest(self, digest: str) -> Operation | None:
        """Return the operation that was asked for by the webhook with this body, or None."""
        return next(
            (each for each in self.operations if any(asked["digest"] == digest for asked in each.saleor_requests)), None
        )

    def shares_of(self, operation: Operation) -> dict[str, Decimal]:
        """Return the recorded shares of an operation, by sub-merchant; empty when none are known."""
        return {
            each.sub_merchant_id: each.amount
            for each in self.shares
            if operation.id is not None and each.operation_id == operation.id
        }

    def assign(self, operation: Operation, shares: Mapping[str, Decimal]) -> None:
        """Say what of an operation belongs to which sub-merchant, in place of what was said before."""
        self.assigned.append((operation, shares))

    def tie(self, row: SaleorEvent | Problem, operation: Operation) -> None:
        """Say of which operation of Saleor's asking an event tells, or which one a problem is about."""
        row.operation_id = operation.id
        if operation.id is None:
            self.tied.append((row, operation))

    def event(self, event_row_id: int) -> SaleorEvent:
        """Return the event of that row."""
        return next(event for event in self.events if event.id == event_row_id)

    def by_id(self, operation_row_id: int | None) -> Operation:
        """Return the operation of that row."""
        return next(operation for operation in self.operations if operation.id == operation_row_id)


def row_id_of(row: Payment | Operation | SaleorEvent) -> int:
    """Return the row id of what is stored for certain."""
    assert row.id is not None  # noqa: S101 - stored
    return row.id


@dataclass(frozen=True, slots=True)
class ById:
    """The payment with that row id."""

    payment_id: int


@dataclass(frozen=True, slots=True)
class ByTransaction:
    """The payment of that transaction of a Saleor."""

    installation_id: int
    transaction_id: str


@dataclass(frozen=True, slots=True)
class ByOrder:
    """The payment of that gateway order; of that account or store only, if one is named."""

    order_id: str
    account_id: str | None = None
    installation_id: int | None = None


@dataclass(frozen=True, slots=True)
class ByOperation:
    """The payment to which that row of an operation belongs."""

    operation_id: int


@dataclass(frozen=True, slots=True)
class ByEvent:
    """The payment of which that row of an event tells."""

    event_id: int


Which: TypeAlias = ById | ByTransaction | ByOrder | ByEvent


@dataclass(frozen=True, slots=True)
class SameDebt:
    """What shows that another payment of a Saleor is an attempt to pay the same: its source or transaction."""

    installation_id: int
    source_id: str
    transaction_ids: Sequence[str] = ()


async def load_by_transaction(
    session: AsyncSession, installation_id: int, transaction_id: str
) -> PaymentAggregate | None:
    """Return the payment of a Saleor transaction, locked until the end of the transaction; or None."""
    return await _load(
        session, col(Payment.installation_id) == installation_id, col(Payment.transaction_id) == transaction_id
    )


async def load_by_order(
    session: AsyncSession, order_id: str, *, account_id: str | None = None, installation_id: int | None = None
) -> PaymentAggregate | None:
    """Return the payment of a gateway order (of that account or store only, if one is named), locked; or None."""
    conditions = [col(Payment.order_id) == order_id]
    if account_id is not None:
        conditions.append(col(Payment.account_id) == account_id)
    if installation_id is not None:
        conditions.append(col(Payment.installation_id) == installation_id)
    return await _load(session, *conditions)


async def find_attempts(
    session: AsyncSession, installation_id: int, *, source_id: str, transaction_ids: Sequence[str] | None
) -> list[PaymentAggregate]:
    """Return the payments of those transactions, oldest first, for reading only.

    ``transaction_ids`` None: nobody knows them; return those that pay for that source.
    """
    if transaction_ids is None:
        those = col(Payment.source_id) == source_id
    else:
        those = col(Payment.transaction_id).in_(transaction_ids)
    query = select(Payment).where(col(Payment.installation_id) == installation_id, those).order_by(col(Payment.id))
    return await aggregates_of(session, (await session.exec(query)).all())


async def other_attempts(session: AsyncSession, payment: Payment, most: int) -> list[PaymentAggregate]:
    """Return the outlines of the last others for the same checkout or order, oldest first, for reading only."""
    query = select(Payment).where(
        col(Payment.installation_id) == payment.installation_id,
        col(Payment.source_id) == payment.source_id,
        col(Payment.id) != payment.id,
    )
    newest = (await session.exec(query.order_by(col(Payment.id).desc()).limit(most))).all()
    return await outlines_of(session, newest[::-1])


async def load_by_operation(session: AsyncSession, operation_row_id: int) -> PaymentAggregate:
    """Return the aggregate to which an operation row belongs, locked."""
    owner = select(Operation.payment_id).where(Operation.id == operation_row_id).scalar_subquery()
    aggregate = await _load(session, col(Payment.id) == owner)
    if aggregate is None:
        raise LookupError(f"no operation {operation_row_id}")
    return aggregate


async def save_all(session: AsyncSession, aggregates: Sequence[PaymentAggregate]) -> None:
    """Write what was added to aggregates, and what became of the cards of their customers."""
    for aggregate in aggregates:
        await save(session, aggregate)
    kept = [card for aggregate in aggregates for card in aggregate.kept_cards]
    refused = [card for aggregate in aggregates for card in aggregate.refused_cards]
    if kept or refused:
        await write_cards(session, kept, refused)


async def save(session: AsyncSession, aggregate: PaymentAggregate) -> None:
    """Write what was added to an aggregate; the rows that it was loaded with write themselves."""
    session.add_all([*aggregate.operations, *aggregate.events, *_changed_days(aggregate)])
    if aggregate.assigned or aggregate.tied:
        await session.flush()  # what names an operation needs its row
    while aggregate.tied:
        tied, operation = aggregate.tied.pop(0)
        tied.operation_id = operation.id
    while aggregate.assigned:
        operation, shares = aggregate.assigned.pop(0)
        added = dict(shares)
        for row in [each for each in aggregate.shares if each.operation_id == operation.id]:
            amount = added.pop(row.sub_merchant_id, None)
            if amount is None:
                aggregate.shares.remove(row)
                await session.delete(row)
            else:
                row.amount = amount
        rows = [
            SplitShare(operation_id=row_id_of(operation), sub_merchant_id=name, amount=amount)
            for name, amount in added.items()
        ]
        session.add_all(rows)
        aggregate.shares += rows


_SUMMED = ("booked_at", "ended_at", "state", "status_code", "amount", "fee", "fee_currency", "details")
"""What of an operation can change that is in the sums of its day (``summed_days``)."""


def _changed_days(aggregate: PaymentAggregate) -> Iterator[ChangedDay]:
    """Return notes of the days whose sums no longer hold, as operations have changed that are not written yet.

    What counts for the first time, and on the day on which that was noted, needs none: no day is summed before it has
    been over for an hour (``summed_days``). So hardly any payment costs a note.
    """
    days = set()
    for each in aggregate.operations:
        state: Any = inspect(each)
        if not state.modified or not any(state.attrs[name].history.has_changes() for name in _SUMMED):
            continue
        for name in ("booked_at", "ended_at"):
            at, history = getattr(each, name), state.attrs[name].history
            counted = [_day(before) for before in (history.deleted or history.unchanged) if before is not None]
            days.update(counted)
            if at is not None and (counted or _day(at) < _day(each.updated_at)):
                days.add(_day(at))
    return (ChangedDay(account_id=aggregate.payment.account_id, day=day) for day in sorted(days))


def _day(moment: datetime) -> date:
    return moment.astimezone(UTC).date()


async def payment_of(session: AsyncSession, payment_id: int) -> Payment:
    """Return that payment, locked, with its problems and without its operations and events."""
    payment = (await session.exec(select(Payment).where(Payment.id == payment_id).with_for_update())).one()
    await load_problems(session, [payment])
    return payment


async def row_by_order(session: AsyncSession, order_id: str, *, installation_id: int) -> Payment | None:
    """Return a store's payment of that gateway order, alone and for reading only; or None."""
    query = select(Payment).where(col(Payment.order_id) == order_id, col(Payment.installation_id) == installation_id)
    return (await session.exec(query)).first()


async def find_by_order(
    session: AsyncSession, order_id: str, *, installation_id: int | None = None
) -> PaymentAggregate | None:
    """Return the payment of a gateway order, for reading only; or None.

    ``installation_id``: another store's is not found.
    """
    conditions = [col(Payment.order_id) == order_id]
    if installation_id is not None:
        conditions.append(col(Payment.installation_id) == installation_id)
    return await _load(session, *conditions, lock=False)


_OF_THESE: Any = bindparam("payment_ids", expanding=True)
# Built once: every payment is read by them, several times.
_OPERATIONS = (
    select(Operation, SplitShare)
    .outerjoin(SplitShare, col(SplitShare.operation_id) == col(Operation.id))
    .where(col(Operation.payment_id).in_(_OF_THESE))
    .order_by(col(Operation.id), col(SplitShare.sub_merchant_id))
)
_EVENTS = select(SaleorEvent).where(col(SaleorEvent.payment_id).in_(_OF_THESE)).order_by(col(SaleorEvent.id))


async def aggregates_of(session: AsyncSession, payments: Sequence[Payment]) -> list[PaymentAggregate]:
    """Return payments that were read, in the same order; two queries, however many they are, and one for problems."""
    if not payments:
        return []
    aggregates = {payment.id: PaymentAggregate(payment, [], [], []) for payment in payments}
    of_these = {"payment_ids": list(aggregates)}
    rows: Sequence[tuple[Operation, SplitShare | None]] = (await session.exec(_OPERATIONS, params=of_these)).all()
    for operation, share in rows:
        aggregate = aggregates[operation.payment_id]
        if not aggregate.operations or aggregate.operations[-1] is not operation:
            aggregate.operations.append(operation)
        if share is not None:
            aggregate.shares.append(share)
    for event in (await session.exec(_EVENTS, params=of_these)).all():
        aggregates[event.payment_id].events.append(event)
    await load_problems(session, payments)
    return list(aggregates.values())


async def outlines_of(session: AsyncSession, payments: Sequence[Payment]) -> list[PaymentAggregate]:
    """Return aggregates for lists, in the same order: without events, shares, and what operations asked.

    One query, and one for problems.
    """
    if not payments:
        return []
    aggregates = {payment.id: PaymentAggregate(payment, [], []) for payment in payments}
    query = select(Operation).where(col(Operation.payment_id).in_(list(aggregates))).order_by(col(Operation.id))
    unread: Sequence[Any] = (Operation.request, Operation.personal_sealed)
    for operation in (await session.exec(query.options(*(defer(each, raiseload=True) for each in unread)))).all():
        aggregates[operation.payment_id].operations.append(operation)
    await load_problems(session, payments)
    return list(aggregates.values())


async def _load(session: AsyncSession, *conditions: ColumnElement[bool], lock: bool = True) -> PaymentAggregate | None:
    query = select(Payment).where(*conditions).options(WITH_ACCOUNT)
    payment = (await session.exec(query.with_for_update(of=Payment) if lock else query)).first()
    return None if payment is None else (await aggregates_of(session, [payment]))[0]
