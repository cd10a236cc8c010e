"""A payment as a whole: the payment with its operations and its events, found, read and saved together.

Nothing here takes a lock: who changes a payment has it locked first (``payment_locks``; laws of money, 3).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any, TypeAlias

import sqlalchemy as sa
from sqlmodel import col
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core import payment as core
from app.core.ids import EventRowId, OperationRowId, PaymentRowId
from app.core.payment import PaymentAggregate, row_id_of
from app.core.vocabulary import EventState, Kind
from app.store.columns import table_of
from app.store.committed import LocalWorker, Reservation, claims_of
from app.store.job_queue import Claim, JobQueue
from app.store.outbox import EVENTS as OUTBOX
from app.store.payment_rows import EVENTS, OPERATIONS, PAYMENTS, PROBLEMS, RowMapping, StoredPayment, write
from app.store.saved_cards import write_cards
from app.store.tables import MerchantAccount, Operation, Payment, SplitShare

POLLS = JobQueue(
    "look_ups",
    Operation,
    row_id=col(Operation.id),
    due=col(Operation.next_poll_at),
    tenant=col(Payment.account_id),
    payment=col(Operation.payment_id),
    rare=(col(Operation.kind) == Kind.DISPUTE, timedelta(hours=25)),
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


@dataclass(frozen=True, slots=True)
class ById:
    """The payment with that row id."""

    payment_id: PaymentRowId


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

    operation_id: OperationRowId


@dataclass(frozen=True, slots=True)
class ByEvent:
    """The payment that the event with that row id is about."""

    event_id: EventRowId


PaymentSelector: TypeAlias = ById | ByTransaction | ByOrder | ByEvent


@dataclass(frozen=True, slots=True)
class Payable:
    """What identifies other payments of a Saleor as attempts to pay the same: their source or transaction."""

    installation_id: int
    source_id: str
    transaction_ids: Sequence[str] = ()


async def find_attempts(
    session: AsyncSession, installation_id: int, *, source_id: str, transaction_ids: Sequence[str] | None
) -> Sequence[PaymentAggregate]:
    """Return the payments of those transactions, oldest first, for reading only.

    ``transaction_ids`` None: they are unknown; return the payments for that source instead.
    """
    if transaction_ids is None:
        those = col(Payment.source_id) == source_id
    else:
        those = col(Payment.transaction_id).in_(transaction_ids)
    in_store = col(Payment.installation_id) == installation_id
    return await load_aggregates(session, await read_payments(session, WITH_ACCOUNT.where(in_store, those)))


async def find_other_attempts(session: AsyncSession, payment: core.Payment, most: int) -> Sequence[PaymentAggregate]:
    """Return outlines of the newest other payments for the same checkout or order, oldest first, for reading only."""
    query = ALONE.where(
        col(Payment.installation_id) == payment.installation_id,
        col(Payment.source_id) == payment.source_id,
        col(Payment.id) != payment.id,
    )
    newest = await read_payments(session, query.order_by(None).order_by(col(Payment.id).desc()).limit(most))
    return await load_outlines(session, newest[::-1])


async def find_payment_by_order(session: AsyncSession, order_id: str, *, installation_id: int) -> core.Payment | None:
    """Return a store's payment of that gateway order, the payment alone, for reading only; or None."""
    query = ALONE.where(col(Payment.order_id) == order_id, col(Payment.installation_id) == installation_id)
    return next(iter(await read_payments(session, query)), None)


async def find_by_order(
    session: AsyncSession, order_id: str, *, installation_id: int | None = None
) -> PaymentAggregate | None:
    """Return the payment of a gateway order, for reading only; or None.

    ``installation_id``: only that store's payment is found.
    """
    conditions = [col(Payment.order_id) == order_id]
    if installation_id is not None:
        conditions.append(col(Payment.installation_id) == installation_id)
    return await find_where(session, *conditions)


async def find_where(session: AsyncSession, *conditions: sa.ColumnElement[bool]) -> PaymentAggregate | None:
    """Return the first payment that meets the conditions, for reading only; or None."""
    payments = await read_payments(session, WITH_ACCOUNT.where(*conditions))
    return (await load_aggregates(session, payments[:1]))[0] if payments else None


async def save_all(session: AsyncSession, payments: Sequence[StoredPayment]) -> None:
    """Write what has changed of payments and what was added to them, and their customers' saved and refused cards.

    The next event of a payment that is due now is claimed for the worker of this process, if that has room.
    """
    claims = claims_of(session)
    reserved: list[tuple[StoredPayment, core.SaleorEvent, Reservation]] = []
    for stored in payments:
        event = _newly_due_event(stored)
        if event is None:
            continue
        reservation = claims.reserve(OUTBOX, stored.payment.installation_id, event.next_attempt_at)
        if reservation is not None:
            event.next_attempt_at = reservation.until
            event.attempts += 1
            reserved.append((stored, event, reservation))
    claims.wake(*_queues_made_due(payments, claims.worker))
    await write(session, payments)
    for stored, event, reservation in reserved:
        tenant, until = stored.payment.installation_id, reservation.until
        claim = Claim(row_id_of(event), tenant, until, event.trace_id, event.attempts, written=stored)
        claims.add(reservation, claim)
    saved = [card for stored in payments for card in stored.cards_to_save]
    refused = [card for stored in payments for card in stored.refused_cards]
    if saved or refused:
        await write_cards(session, saved, refused)
    for stored in payments:
        stored.cards_to_save.clear()
        stored.refused_cards.clear()


def _queues_made_due(payments: Sequence[StoredPayment], worker: LocalWorker | None) -> set[JobQueue]:
    """Return the queues in which changes that are about to be written have made jobs due at once."""
    if worker is None:
        return set()
    now, made_due = worker.now(), set()
    for stored in payments:
        dues: list[tuple[Any, RowMapping[Any], str, JobQueue]] = [
            (stored.payment, PAYMENTS, "attempts_due_at", ATTEMPTS),
            (stored.payment, PAYMENTS, "next_order_poll_at", ORDERS),
        ]
        dues += [(operation, OPERATIONS, "next_poll_at", POLLS) for operation in stored.operations]
        waiting = (event for event in stored.events if event.state is EventState.WAITING)
        dues += [(event, EVENTS, "next_attempt_at", OUTBOX) for event in islice(waiting, 1)]  # the others wait for it
        for part, mapping, name, queue in dues:
            due, saved = getattr(part, name), stored.loaded.get(part)
            if due is not None and due <= now and (saved is None or saved[mapping.places[name]] != due):
                made_due.add(queue)
    return made_due


def _newly_due_event(stored: StoredPayment) -> core.SaleorEvent | None:
    """Return the event that may be reported next, if no worker could claim it before this transaction.

    It is new, or an event before it has left the queue.
    """
    was_waiting = False
    for event in stored.events:
        saved = stored.loaded.get(event)
        if event.state is EventState.WAITING:
            return event if saved is None or was_waiting else None
        was_waiting = was_waiting or (saved is not None and saved[_EVENT_STATE] is EventState.WAITING)
    return None


_EVENT_STATE = EVENTS.places["state"]

ALONE: Any = sa.select(*PAYMENTS.columns).order_by(PAYMENTS.table.c.id)
"""Selects payments without their accounts, oldest first."""

WITH_ACCOUNT: Any = (
    sa.select(*PAYMENTS.columns, MerchantAccount)
    .join(MerchantAccount, col(MerchantAccount.id) == PAYMENTS.table.c.account_id)
    .order_by(PAYMENTS.table.c.id)
)
"""Selects payments with their accounts, oldest first."""

_PAYMENT_IDS: Any = sa.bindparam("payment_ids", expanding=True)
_SHARES = table_of(SplitShare)


def _absent(columns: Sequence[sa.Column[Any]]) -> list[sa.ColumnElement[Any]]:
    """Return NULLs in the place of columns that a branch of a union does not have."""
    return [sa.literal_column("NULL", type_=column.type) for column in columns]


_SHARE_COLUMNS = (_SHARES.c.sub_merchant_id, _SHARES.c.amount)
# Operations with their shares, and events, in one statement: every payment is read with it, several times. Built once.
_PARTS: Any = sa.union_all(
    sa.select(OPERATIONS.table.c.payment_id, *OPERATIONS.columns, *_SHARE_COLUMNS, *_absent(EVENTS.columns))
    .outerjoin(_SHARES, _SHARES.c.operation_id == OPERATIONS.table.c.id)
    .where(OPERATIONS.table.c.payment_id.in_(_PAYMENT_IDS)),
    sa.select(EVENTS.table.c.payment_id, *_absent(OPERATIONS.columns), *_absent(_SHARE_COLUMNS), *EVENTS.columns).where(
        EVENTS.table.c.payment_id.in_(_PAYMENT_IDS)
    ),
)
_PROBLEMS: Any = (
    sa.select(*PROBLEMS.columns, PROBLEMS.table.c.payment_id)
    .where(PROBLEMS.table.c.payment_id.in_(_PAYMENT_IDS), PROBLEMS.table.c.ended_at.is_(None))
    .order_by(PROBLEMS.table.c.id)
)
_OPERATION_WIDTH = len(OPERATIONS.columns)
_EVENTS_FROM = _OPERATION_WIDTH + len(_SHARE_COLUMNS)  # where an event's values begin, behind those of an operation
_UNREAD = frozenset({"request", "personal_sealed"})
_OUTLINED: Any = (
    sa.select(*[column for column in OPERATIONS.columns if column.name not in _UNREAD], OPERATIONS.table.c.payment_id)
    .where(OPERATIONS.table.c.payment_id.in_(_PAYMENT_IDS))
    .order_by(OPERATIONS.table.c.id)
)


async def read_payments(
    session: AsyncSession, query: Any, parameters: Mapping[str, Any] | None = None
) -> list[core.Payment]:
    """Return the payments that a query over ``ALONE`` or ``WITH_ACCOUNT`` selects, without their problems."""
    rows = (await session.exec(query, params=parameters)).all()
    width = len(PAYMENTS.columns)
    payments = []
    for row in rows:
        payment = PAYMENTS.read(row[:width])
        del payment.problems  # until they are loaded: who reads them before must not take them for none
        if len(row) > width:
            payment.loaded_account = row[width]
        payments.append(payment)
    return payments


async def load_aggregates(session: AsyncSession, payments: Sequence[core.Payment]) -> list[StoredPayment]:
    """Return payments with all that belongs to them, in the same order.

    One query, however many they are, and one for problems where there are any.
    """
    if not payments:
        return []
    stored = {payment.id: StoredPayment(payment, [], []) for payment in payments}
    for payment in payments:
        stored[payment.id].saved[payment] = PAYMENTS.values_of(payment)
    operations: dict[int, core.Operation] = {}
    for owner_id, *values in (await session.exec(_PARTS, params={"payment_ids": list(stored)})).all():
        owner = stored[owner_id]
        operation_values, (sub_merchant_id, amount) = values[:_OPERATION_WIDTH], values[_OPERATION_WIDTH:_EVENTS_FROM]
        event_values = values[_EVENTS_FROM:]
        if event_values[0] is not None:
            event = EVENTS.read(event_values)
            owner.events.append(event)
            owner.saved[event] = tuple(event_values)
            continue
        operation = operations.get(operation_values[0])
        if operation is None:
            operation = operations[operation_values[0]] = OPERATIONS.read(operation_values)
            owner.operations.append(operation)
            owner.saved[operation] = tuple(operation_values)
        if sub_merchant_id is not None:
            operation.shares[sub_merchant_id] = amount
    for owner in stored.values():
        owner.operations.sort(key=row_id_of)
        owner.events.sort(key=row_id_of)
        for operation in owner.operations:
            operation.shares = dict(sorted(operation.shares.items()))
        owner.saved_shares |= {operation: dict(operation.shares) for operation in owner.operations if operation.shares}
    await load_problems(session, payments)
    for owner in stored.values():
        owner.saved |= {problem: PROBLEMS.values_of(problem) for problem in owner.payment.problems}
    return list(stored.values())


async def load_outlines(session: AsyncSession, payments: Sequence[core.Payment]) -> list[PaymentAggregate]:
    """Return payments for lists, in the same order: without events, shares, and the requests of operations.

    One query, and one for problems.
    """
    if not payments:
        return []
    outlines = {payment.id: PaymentAggregate(payment, [], []) for payment in payments}
    names = [name for name in OPERATIONS.names if name not in _UNREAD]
    for row in (await session.exec(_OUTLINED, params={"payment_ids": list(outlines)})).all():
        operation = core.Operation(**dict(zip(names, row[:-1], strict=True)))
        del operation.request, operation.personal_sealed  # not read: nobody may take it for empty
        outlines[row[-1]].operations.append(operation)
    await load_problems(session, payments)
    return list(outlines.values())


async def load_problems(session: AsyncSession, payments: Sequence[core.Payment]) -> None:
    """Load the problems of payments that have not ended: one query, and none when none has any."""
    having = {payment.id: payment for payment in payments if payment.has_problems}
    for payment in payments:
        payment.problems = []
    if having:
        for row in (await session.exec(_PROBLEMS, params={"payment_ids": list(having)})).all():
            having[row[-1]].problems.append(PROBLEMS.read(row[:-1]))


def account_of(payment: core.Payment) -> MerchantAccount:
    """Return the row of the account that a payment was loaded with."""
    account = payment.account
    assert isinstance(account, MerchantAccount)  # noqa: S101 - what the store has loaded
    return account
