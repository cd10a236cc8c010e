"""A payment as a whole: the payment with its operations and its events, read and locked together.

Everything that decides about a payment's money happens between ``load_*`` and the end of that transaction, under the
payment's lock: what is capturable or refundable is computed from rows that nothing else is changing (laws of money, 3).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, bindparam, inspect
from sqlalchemy.orm import defer, joinedload
from sqlalchemy.orm.attributes import instance_state
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
    max_delay=timedelta(hours=25),  # disputes
    trace=col(Operation.trace_id),
)


ATTEMPTS = JobQueue(
    "attempts",
    Payment,
    row_id=col(Payment.id),
    due=col(Payment.attempts_due_at),
    tenant=col(Payment.account_id),
)
"""Payments that have progressed, so that the other attempts to pay the same must be reviewed."""


ORDERS = JobQueue(
    "placed_orders",
    Payment,
    row_id=col(Payment.id),
    due=col(Payment.next_order_poll_at),
    tenant=col(Payment.installation_id),
    tries=col(Payment.order_polls),
    max_delay=timedelta(hours=25),
)
"""Payments for which Saleor must be queried which order their checkout has become."""


WITH_ACCOUNT = joinedload(Payment.account, innerjoin=True)  # type: ignore[arg-type]  # SQLModel types it as on a row


@dataclass(slots=True)
class PaymentAggregate:
    """A payment with all that belongs to it; operations and events oldest first. Its problems are in the payment.

    ``shares`` are the sub-merchants' shares of its operations; empty when the payment is not split. ``unsaved_shares``
    and ``unsaved_links`` refer to operations that may have no row yet (see ``assign_shares`` and ``link``).
    ``cards_to_save`` are cards that its customer agreed to save, and ``refused_cards`` cards that the gateway no longer
    accepts (``save_all`` writes both).
    """

    payment: Payment
    operations: list[Operation]
    events: list[SaleorEvent]
    shares: list[SplitShare] = field(default_factory=list)
    unsaved_shares: list[tuple[Operation, Mapping[str, Decimal]]] = field(default_factory=list)
    unsaved_links: list[tuple[SaleorEvent | Problem, Operation]] = field(default_factory=list)
    cards_to_save: list[SavedCard] = field(default_factory=list)
    refused_cards: list[RefusedCard] = field(default_factory=list)

    @property
    def create(self) -> Operation:
        """The operation that created the payment at the gateway. Every payment has one from its first commit on."""
        return next(operation for operation in self.operations if operation.kind is Kind.CREATE)

    @property
    def is_changed(self) -> bool:
        """True when something of it waits to be saved."""
        added = (self.unsaved_shares, self.unsaved_links, self.cards_to_save, self.refused_cards)
        rows = (self.payment, *self.payment.problems, *self.operations, *self.events, *self.shares)
        return any(added) or any(instance_state(row).modified for row in rows)

    def operation_by_key(self, idempotency_key: str) -> Operation | None:
        """Return the operation with this key, its own or that of one of Saleor's requests for it; or None."""
        return next(
            (
                each
                for each in self.operations
                if each.idempotency_key == idempotency_key
                or any(request["key"] == idempotency_key for request in each.saleor_requests)
            ),
            None,
        )

    def operation_by_digest(self, digest: str) -> Operation | None:
        """Return the operation that was requested by the webhook whose body has this digest, or None."""
        return next(
            (each for each in self.operations if any(request["digest"] == digest for request in each.saleor_requests)),
            None,
        )

    def shares_of(self, operation: Operation) -> dict[str, Decimal]:
        """Return the recorded shares of an operation by sub-merchant; empty when none are known."""
        return {
            each.sub_merchant_id: each.amount
            for each in self.shares
            if operation.id is not None and each.operation_id == operation.id
        }

    def assign_shares(self, operation: Operation, shares: Mapping[str, Decimal]) -> None:
        """Set the sub-merchants' shares of an operation, replacing any earlier ones."""
        self.unsaved_shares.append((operation, shares))

    def link(self, row: SaleorEvent | Problem, operation: Operation) -> None:
        """Link an event to the operation, requested by Saleor, that it reports; or a problem to the one it is about."""
        row.operation_id = operation.id
        if operation.id is None:
            self.unsaved_links.append((row, operation))

    def event_by_id(self, event_row_id: int) -> SaleorEvent:
        """Return the event with that row id."""
        return next(event for event in self.events if event.id == event_row_id)

    def operation_by_id(self, operation_row_id: int | None) -> Operation:
        """Return the operation with that row id."""
        return next(operation for operation in self.operations if operation.id == operation_row_id)


def row_id_of(row: Payment | Operation | SaleorEvent) -> int:
    """Return the id of a row that is known to be stored."""
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
    """The payment to which the operation with that row id belongs."""

    operation_id: int


@dataclass(frozen=True, slots=True)
class ByEvent:
    """The payment that the event with that row id is about."""

    event_id: int


PaymentSelector: TypeAlias = ById | ByTransaction | ByOrder | ByEvent


@dataclass(frozen=True, slots=True)
class SameDebt:
    """What identifies other payments of a Saleor as attempts to pay the same: their source or transaction."""

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

    ``transaction_ids`` None: they are unknown; return the payments for that source instead.
    """
    if transaction_ids is None:
        those = col(Payment.source_id) == source_id
    else:
        those = col(Payment.transaction_id).in_(transaction_ids)
    query = select(Payment).where(col(Payment.installation_id) == installation_id, those).order_by(col(Payment.id))
    return await load_aggregates(session, (await session.exec(query)).all())


async def find_other_attempts(session: AsyncSession, payment: Payment, most: int) -> list[PaymentAggregate]:
    """Return outlines of the newest other payments for the same checkout or order, oldest first, for reading only."""
    query = select(Payment).where(
        col(Payment.installation_id) == payment.installation_id,
        col(Payment.source_id) == payment.source_id,
        col(Payment.id) != payment.id,
    )
    newest = (await session.exec(query.order_by(col(Payment.id).desc()).limit(most))).all()
    return await load_outlines(session, newest[::-1])


async def load_by_operation(session: AsyncSession, operation_row_id: int) -> PaymentAggregate:
    """Return the aggregate to which an operation row belongs, locked. Raises LookupError."""
    owner = select(Operation.payment_id).where(Operation.id == operation_row_id).scalar_subquery()
    aggregate = await _load(session, col(Payment.id) == owner)
    if aggregate is None:
        raise LookupError(f"no operation {operation_row_id}")
    return aggregate


async def save_all(session: AsyncSession, aggregates: Sequence[PaymentAggregate]) -> None:
    """Write what was added to aggregates, and the saved and refused cards of their customers."""
    for aggregate in aggregates:
        await save(session, aggregate)
    kept = [card for aggregate in aggregates for card in aggregate.cards_to_save]
    refused = [card for aggregate in aggregates for card in aggregate.refused_cards]
    if kept or refused:
        await write_cards(session, kept, refused)


async def save(session: AsyncSession, aggregate: PaymentAggregate) -> None:
    """Write what was added to an aggregate; changes to the rows that it was loaded with are flushed by the session."""
    session.add_all([*aggregate.operations, *aggregate.events, *_changed_days(aggregate)])
    if aggregate.unsaved_shares or aggregate.unsaved_links:
        await session.flush()  # rows that refer to an operation need its id
    while aggregate.unsaved_links:
        tied, operation = aggregate.unsaved_links.pop(0)
        tied.operation_id = operation.id
    while aggregate.unsaved_shares:
        operation, shares = aggregate.unsaved_shares.pop(0)
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


_SUMMED_COLUMNS = ("booked_at", "ended_at", "state", "status_code", "amount", "fee", "fee_currency", "details")
"""The columns of an operation that enter the sums of its day (``summed_days``)."""


def _changed_days(aggregate: PaymentAggregate) -> Iterator[ChangedDay]:
    """Return ``ChangedDay`` rows for the days whose sums are invalidated by operation changes that are not written yet.

    An operation that counts for the first time, on the day on which that is recorded, needs none: no day is summed
    before it has been over for an hour (``summed_days``). So hardly any payment costs such a row.
    """
    days = set()
    for each in aggregate.operations:
        state: Any = inspect(each)
        if not state.modified or not any(state.attrs[name].history.has_changes() for name in _SUMMED_COLUMNS):
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


async def lock_payment(session: AsyncSession, payment_id: int) -> Payment:
    """Return that payment, locked, with its problems but without its operations and events."""
    payment = (await session.exec(select(Payment).where(Payment.id == payment_id).with_for_update())).one()
    await load_problems(session, [payment])
    return payment


async def find_payment_by_order(session: AsyncSession, order_id: str, *, installation_id: int) -> Payment | None:
    """Return a store's payment of that gateway order, the row alone, for reading only; or None."""
    query = select(Payment).where(col(Payment.order_id) == order_id, col(Payment.installation_id) == installation_id)
    return (await session.exec(query)).first()


async def find_by_order(
    session: AsyncSession, order_id: str, *, installation_id: int | None = None
) -> PaymentAggregate | None:
    """Return the payment of a gateway order, for reading only; or None.

    ``installation_id``: only that store's payment is found.
    """
    conditions = [col(Payment.order_id) == order_id]
    if installation_id is not None:
        conditions.append(col(Payment.installation_id) == installation_id)
    return await _load(session, *conditions, lock=False)


_PAYMENT_IDS: Any = bindparam("payment_ids", expanding=True)
# Built once: every payment is read with them, several times.
_OPERATIONS = (
    select(Operation, SplitShare)
    .outerjoin(SplitShare, col(SplitShare.operation_id) == col(Operation.id))
    .where(col(Operation.payment_id).in_(_PAYMENT_IDS))
    .order_by(col(Operation.id), col(SplitShare.sub_merchant_id))
)
_EVENTS = select(SaleorEvent).where(col(SaleorEvent.payment_id).in_(_PAYMENT_IDS)).order_by(col(SaleorEvent.id))


async def load_aggregates(session: AsyncSession, payments: Sequence[Payment]) -> list[PaymentAggregate]:
    """Return the aggregates of payments in the same order; two queries, however many they are, and one for problems."""
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


async def load_outlines(session: AsyncSession, payments: Sequence[Payment]) -> list[PaymentAggregate]:
    """Return aggregates for lists, in the same order: without events, shares, and the requests of operations.

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
    return None if payment is None else (await load_aggregates(session, [payment]))[0]
