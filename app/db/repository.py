"""Payments in the database: begun, changed by a pure step under their lock, and found.

What comes in the same moment is committed together (``group_commit``), which nobody who calls this can see: a step is
given the payment as it is, locked, and is run again, with the payment read anew, when a transaction came to nothing.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any, TypeVar

import sqlalchemy as sa
import structlog
from sqlalchemy.exc import IntegrityError
from sqlmodel import SQLModel, col, select
from sqlmodel.ext.asyncio.session import AsyncSession
from sqlmodel.sql.expression import SelectOfScalar

from app.db.aggregates import (
    WITH_ACCOUNT,
    ByEvent,
    ById,
    ByOperation,
    ByOrder,
    ByTransaction,
    PaymentAggregate,
    SameDebt,
    Which,
    aggregates_of,
    save,
    save_all,
)
from app.db.database import Database
from app.db.errors import CommitUnknownError
from app.db.group_commit import Write
from app.db.problems import load_problems
from app.db.tables import Operation, Payment, SaleorEvent, State

log = structlog.get_logger(__name__)

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class NewPayment:
    """How to make the rows of a payment that is about to be asked for; each from the row to which it belongs.

    ``objection`` is asked before, with the other attempts to pay the same (``debt``), which are locked: it may change
    all of them, and returns why the payment must not be made. ``beside`` makes a row that is written with it.
    ``only_here``: it is not made when another store has a payment of this transaction.
    """

    payment: Callable[[], Payment]
    operation: Callable[[Payment], Operation]
    shares: Callable[[Operation], Mapping[str, Decimal]]
    debt: SameDebt | None = None
    objection: Callable[[Payment, Sequence[PaymentAggregate]], Exception | None] | None = None
    beside: Callable[[Payment], SQLModel] | None = None
    only_here: bool = False


@dataclass(slots=True)
class _Entry:
    """What is to be written; ``abandoned``: whoever wanted it was answered otherwise meanwhile (laws of money, 11).

    It is written by somebody else's task, and yet in the ``context`` of whoever wanted it: in their trace.
    """

    abandoned: bool = field(default=False, kw_only=True)
    context: Context = field(default_factory=copy_context, kw_only=True)


_EntryT = TypeVar("_EntryT", bound=_Entry)


@dataclass(slots=True)
class _Insertion(_Entry):
    """``made`` are its rows, one for each time that it was tried."""

    new: NewPayment
    made: list[Payment] = field(default_factory=list)

    def payment(self) -> Payment:
        self.made.append(self.context.run(self.new.payment))
        return self.made[-1]

    def objection(self, payment: Payment, attempts: Sequence[PaymentAggregate]) -> Exception | None:
        asked = self.new.objection
        return None if asked is None else self.context.run(asked, payment, attempts)


@dataclass(slots=True)
class _Change(_Entry):
    which: Which
    debt: SameDebt | None
    step: Callable[[PaymentAggregate, Sequence[PaymentAggregate]], Any]


class _AbandonedError(Exception):
    """Nobody waits for it any more: nothing was written."""


class PaymentNotFoundError(LookupError):
    """There is no such payment."""


class BegunElsewhereError(Exception):
    """Another store has a payment of this transaction: it was begun when this Saleor had another address."""


class PaymentRepository:
    """The payments of all stores. Nobody but this locks several of them, and it always does so in the same order."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def begin(self, new: NewPayment) -> PaymentAggregate | None:
        """Commit a payment with what is about to be asked of it; None when its transaction was recorded before.

        Raises what ``new.objection`` returns, BegunElsewhereError. Where the connection broke in the commit, what is in
        the database is the answer.
        """
        insertion = _Insertion(new)
        try:
            return _accepted(await self._commit(_insert_all, insertion))
        except IntegrityError:
            # The same webhook once more is one thing, an order id that another store has is another.
            made = insertion.made[0]
            if await self.find(ByTransaction(made.installation_id, made.transaction_id)) is None:
                raise
            return None
        except CommitUnknownError:
            log.warning("nobody knows whether an intent is committed: it is tried again, and read if it is there")
        try:
            return _accepted(await self._commit(_insert_all, insertion))
        except IntegrityError:
            made = insertion.made[0]
            recorded = await self.find(ByTransaction(made.installation_id, made.transaction_id))
            if recorded is None:
                raise
            return recorded if _is_intent_of(made, recorded) else None

    async def update(self, which: Which, step: Callable[[PaymentAggregate], R]) -> R:
        """Let ``step`` change a payment under its lock, commit that, and return what the step returned.

        Nothing is changed when it raises. Raises PaymentNotFoundError, DatabaseUnavailableError.
        """
        return await self.update_attempts(which, None, lambda payment, _attempts: step(payment))

    async def update_attempts(
        self, which: Which, debt: SameDebt | None, step: Callable[[PaymentAggregate, Sequence[PaymentAggregate]], R]
    ) -> R:
        """Let ``step`` change a payment and all attempts to pay the same (``debt``), as ``update`` does.

        The attempts come oldest first, this one among them; it is alone when ``debt`` is None.
        """
        answer: Any = await self._commit(_update_all, _Change(which, debt, step))
        if isinstance(answer, PaymentNotFoundError):
            raise answer
        done: R = answer
        return done

    async def find(self, which: Which | ByOperation) -> PaymentAggregate | None:
        """Return a payment for reading only; or None."""
        async with self._database.transaction() as session:
            query = select(Payment).where(_condition(which)).options(WITH_ACCOUNT)
            payment = (await session.exec(query)).first()
            return None if payment is None else (await aggregates_of(session, [payment]))[0]

    async def begun_elsewhere(self, installation_id: int, transaction_id: str) -> bool:
        """Return True when another store has a payment of that transaction, and this one has none."""
        async with self._database.transaction() as session:
            return bool(await _begun_elsewhere(session, {(installation_id, transaction_id)}))

    async def _commit(self, write: Write[_EntryT, Any], entry: _EntryT) -> Any:
        """Have an entry written among others'. What nobody waits for any more is not written, if there is time yet."""
        try:
            return await self._database.group_commit(write, entry)
        except asyncio.CancelledError:
            entry.abandoned = True
            raise


def _is_intent_of(made: Payment, recorded: PaymentAggregate) -> bool:
    """Return whether an intent is this one, and not that of another delivery of the same webhook (laws of money, 4)."""
    return recorded.create.state is State.INTENT and recorded.payment.created_at == made.created_at


def _accepted(found: PaymentAggregate | Exception) -> PaymentAggregate:
    if isinstance(found, Exception):
        raise found
    return found


async def _insert_all(session: AsyncSession, many: Sequence[_Insertion]) -> list[PaymentAggregate | Exception]:
    """Insert new payments and return each, or the objection to it.

    Raises IntegrityError for a payment that is there already.
    """
    payments = [each.payment() for each in many]
    objections = await _objections(session, many, payments)
    made = [index for index, objection in enumerate(objections) if objection is None]
    aggregates = await _insert(session, [many[index] for index in made], [payments[index] for index in made])
    return [objection or aggregates.pop(0) for objection in objections]


async def _objections(
    session: AsyncSession, many: Sequence[_Insertion], payments: Sequence[Payment]
) -> list[Exception | None]:
    # All locks before any row is inserted: whoever waits for somebody's row holds none that the other wants.
    debts = [each.new.debt for each in many if each.new.debt is not None]
    locked = await lock_payments(session, [], debts) if debts else []
    asked = {
        _store_and_transaction(payment) for each, payment in zip(many, payments, strict=True) if each.new.only_here
    }
    elsewhere = await _begun_elsewhere(session, asked)
    objections: list[Exception | None] = []
    for insertion, payment in zip(many, payments, strict=True):
        new = insertion.new
        if insertion.abandoned:
            objections.append(_AbandonedError())
            continue
        if new.only_here and _store_and_transaction(payment) in elsewhere:
            objections.append(BegunElsewhereError())
            continue
        attempts = [each for each in locked if new.debt is not None and _pays(each.payment, new.debt)]
        recorded = any(each.payment.transaction_id == payment.transaction_id for each in attempts)
        objections.append(None if recorded else insertion.objection(payment, attempts))
    return objections


async def _begun_elsewhere(session: AsyncSession, transactions: set[tuple[int, str]]) -> set[tuple[int, str]]:
    """Return those transactions, each with its store, of which only other stores have a payment: one query."""
    if not transactions:
        return set()
    stores: defaultdict[str, set[int]] = defaultdict(set)
    for name, store in (
        await session.exec(_STORES, params={"transaction_ids": [name for _, name in transactions]})
    ).all():
        stores[name].add(store)
    return {(store, name) for store, name in transactions if stores[name] and store not in stores[name]}


def _store_and_transaction(payment: Payment) -> tuple[int, str]:
    return payment.installation_id, payment.transaction_id


async def _insert(
    session: AsyncSession, many: Sequence[_Insertion], payments: Sequence[Payment]
) -> list[PaymentAggregate]:
    # In one order everywhere, so that no two processes wait for each other's row of the same transaction.
    in_order: list[Payment] = sorted(payments, key=_transaction)
    session.add_all(in_order)
    await session.flush()
    await load_problems(session, payments)
    operations = [each.context.run(each.new.operation, payment) for each, payment in zip(many, payments, strict=True)]
    session.add_all(operations)
    session.add_all(
        [each.new.beside(payment) for each, payment in zip(many, payments, strict=True) if each.new.beside is not None]
    )
    await session.flush()  # all at once
    aggregates = [
        PaymentAggregate(payment, [operation], []) for payment, operation in zip(payments, operations, strict=True)
    ]
    for each, aggregate in zip(many, aggregates, strict=True):
        aggregate.assign(aggregate.create, each.new.shares(aggregate.create))
        await save(session, aggregate)
    return aggregates


def _transaction(payment: Payment) -> str:
    return payment.transaction_id


async def _update_all(session: AsyncSession, many: Sequence[_Change]) -> list[Any]:
    debts = [each.debt for each in many if each.debt is not None]
    locked = await lock_payments(session, [each.which for each in many], debts)
    answers: list[Any] = []
    for each in many:
        if each.abandoned:
            answers.append(None)
            continue
        own = next((one for one in locked if _is_meant(one, each.which)), None)
        if own is None:
            answers.append(PaymentNotFoundError(str(each.which)))
            continue
        debt = each.debt
        attempts = [one for one in locked if one is own or (debt is not None and _pays(one.payment, debt))]
        answers.append(each.context.run(each.step, own, attempts))
    await save_all(session, locked)
    return answers


async def lock_payments(
    session: AsyncSession, which: Sequence[Which], debts: Sequence[SameDebt] = ()
) -> list[PaymentAggregate]:
    """Return those payments and all attempts to pay these debts, oldest first, locked in that order.

    Whoever wants several payments locked takes them all at once and in this order, so that no two wait for each other.
    The lock's statement reads each row as it is once others have let go of it; what belongs to it is read after that.
    """
    names: dict[str, Sequence[Any]] = {
        "payment_ids": [each.payment_id for each in which if isinstance(each, ById)],
        "event_ids": [each.event_id for each in which if isinstance(each, ByEvent)],
        "order_ids": [each.order_id for each in which if isinstance(each, ByOrder)],
        "installation_ids": sorted(
            {each.installation_id for each in [*which, *debts] if isinstance(each, ByTransaction | SameDebt)}
        ),
        "transaction_ids": sorted(
            {each.transaction_id for each in which if isinstance(each, ByTransaction)}
            | {name for each in debts for name in each.transaction_ids}
        ),
        "source_ids": [each.source_id for each in debts],
    }
    used = frozenset(name for name in _FOUND_BY if names[name])
    found = (await session.exec(_locked(used), params=names)).all() if used else ()
    return await aggregates_of(session, found)


def _pays(payment: Payment, debt: SameDebt) -> bool:
    if payment.installation_id != debt.installation_id:
        return False
    return payment.source_id == debt.source_id or payment.transaction_id in debt.transaction_ids


def _is_meant(aggregate: PaymentAggregate, which: Which) -> bool:
    payment = aggregate.payment
    match which:
        case ByEvent(event_id):
            return any(each.id == event_id for each in aggregate.events)
        case ById(payment_id):
            return payment.id == payment_id
        case ByTransaction(installation_id, transaction_id):
            return (payment.installation_id, payment.transaction_id) == (installation_id, transaction_id)
        case ByOrder(order_id, account_id, installation_id):
            return (
                payment.order_id == order_id
                and account_id in {None, payment.account_id}
                and installation_id in {None, payment.installation_id}
            )


def _condition(which: Which | ByOperation) -> sa.ColumnElement[bool]:
    match which:
        case ByOperation(operation_id):
            owner = select(Operation.payment_id).where(Operation.id == operation_id)
            return col(Payment.id) == owner.scalar_subquery()
        case ByEvent(event_id):
            owner = select(SaleorEvent.payment_id).where(SaleorEvent.id == event_id)
            return col(Payment.id) == owner.scalar_subquery()
        case ById(payment_id):
            return col(Payment.id) == payment_id
        case ByTransaction(installation_id, transaction_id):
            return (col(Payment.installation_id) == installation_id) & (col(Payment.transaction_id) == transaction_id)
        case ByOrder(order_id, account_id, installation_id):
            conditions = [col(Payment.order_id) == order_id]
            if account_id is not None:
                conditions.append(col(Payment.account_id) == account_id)
            if installation_id is not None:
                conditions.append(col(Payment.installation_id) == installation_id)
            return sa.and_(*conditions)


def _one_of(column: Any, name: str) -> sa.ColumnElement[bool]:
    return col(column).in_(sa.bindparam(name, expanding=True))


_STORES = select(Payment.transaction_id, Payment.installation_id).where(
    _one_of(Payment.transaction_id, "transaction_ids")
)
_IN_STORES = _one_of(Payment.installation_id, "installation_ids")
_FOUND_BY = {
    "payment_ids": _one_of(Payment.id, "payment_ids"),
    "event_ids": col(Payment.id).in_(select(SaleorEvent.payment_id).where(_one_of(SaleorEvent.id, "event_ids"))),
    "order_ids": _one_of(Payment.order_id, "order_ids"),
    "source_ids": _IN_STORES & _one_of(Payment.source_id, "source_ids"),
    "transaction_ids": _IN_STORES & _one_of(Payment.transaction_id, "transaction_ids"),
}


@cache
def _locked(used: frozenset[str]) -> SelectOfScalar[Payment]:
    """Return the statement that locks what is found by any of these names; built once, as each payment asks it.

    Each branch is found by an index of its own. One that stood there with no values would make SQLite expect many rows,
    and read all payments instead.
    """
    return (
        select(Payment)
        .where(sa.or_(*[condition for name, condition in _FOUND_BY.items() if name in used]))
        .order_by(col(Payment.id))
        .with_for_update(of=Payment)
        .options(WITH_ACCOUNT)
    )
