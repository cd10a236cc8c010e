"""Payments in the database: begin them, record what happens to them, and find them.

Facts that arrive at the same moment are committed together (``group_commit``), which callers do not see: a fact decides
about the payment as it is, locked, and decides again, with the payment reloaded, when a transaction failed.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import sqlalchemy as sa
import structlog
from sqlalchemy.exc import IntegrityError
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core.fact import AttemptFact, Fact, PayoutFact
from app.core.payment import Operation, Payment, PaymentAggregate, row_id_of
from app.core.vocabulary import State
from app.store import tables
from app.store.aggregates import (
    ALONE,
    ByOperation,
    ByTransaction,
    Payable,
    PaymentSelector,
    find_where,
    read_payments,
    save_all,
)
from app.store.database import Database
from app.store.errors import CommitUnknownError
from app.store.group_commit import Write
from app.store.payment_locks import condition_of, is_attempt_to_pay, is_selected, lock_payments
from app.store.payment_rows import PAYMENTS, StoredPayment
from app.store.payouts import total_paid_out_since
from app.store.tables import MerchantAccount, Payout
from integration_base.telemetry import current_trace_id

log = structlog.get_logger(__name__)

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class NewPayment:
    """A payment that is about to be requested, with the operation that requests it.

    ``fact`` decides first, with the other attempts to pay the same (``payable``), which are locked and may be changed:
    it returns why the payment must not be created. ``payout`` is the record of who requested it, written with it, and
    ``limit`` decides while its account is locked, so that all payouts that count are read. ``reject_if_elsewhere``: the
    payment is not created when another store has a payment of this transaction.
    """

    payment: Payment
    operation: Operation
    payable: Payable | None = None
    fact: AttemptFact[Exception | None] | None = None
    payout: Payout | None = None
    limit: PayoutFact | None = None
    reject_if_elsewhere: bool = False


@dataclass(slots=True)
class _Entry:
    """A pending write; ``abandoned``: its requester has already been answered without it (laws of money, 11).

    Another task writes it; what it adds belongs to the ``trace_id`` of its requester.
    """

    abandoned: bool = field(default=False, kw_only=True)
    trace_id: str | None = field(default_factory=current_trace_id, kw_only=True)


_EntryT = TypeVar("_EntryT", bound=_Entry)


@dataclass(slots=True)
class _Insertion(_Entry):
    new: NewPayment

    def build(self) -> StoredPayment:
        """Return the payment for one attempt to insert it: an attempt that failed has changed its own copy."""
        return StoredPayment(replace(self.new.payment, problems=[]), [replace(self.new.operation)], [])

    def find_objection(self, built: StoredPayment, attempts: Sequence[PaymentAggregate]) -> Exception | None:
        return None if self.new.fact is None else self.new.fact.decide(built, attempts)


@dataclass(slots=True)
class _Change(_Entry):
    which: PaymentSelector
    payable: Payable | None
    fact: Fact[Any] | AttemptFact[Any]

    def decide(self, own: StoredPayment, attempts: Sequence[StoredPayment]) -> Any:
        return self.fact.decide(own, attempts) if isinstance(self.fact, AttemptFact) else self.fact.decide(own)


@dataclass(frozen=True, slots=True)
class _Raised:
    """The answer to a fact that was refused: it is raised where the fact was recorded."""

    error: Exception


class _AbandonedError(Exception):
    """The requester no longer waits: nothing was written."""


_STORES_OF_TRANSACTION = select(tables.Payment.installation_id).where(
    col(tables.Payment.transaction_id) == sa.bindparam("transaction_id")
)


class PaymentNotFoundError(LookupError):
    """No such payment exists."""


class AccountGoneError(LookupError):
    """The merchant account of a new payment was deleted since it was read: nothing is recorded."""


class PaymentInOtherStoreError(Exception):
    """Another store has a payment of this transaction: it was begun while this Saleor had another address."""


class PaymentRepository:
    """The payments of all stores, read and changed under their locks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def begin(self, new: NewPayment) -> PaymentAggregate | None:
        """Commit a payment with the operation about to be requested; None when its transaction was recorded before.

        Raises what ``new.fact`` or ``new.limit`` returns, PaymentInOtherStoreError, AccountGoneError. If the
        connection broke during the commit, the contents of the database decide.
        """
        insertion = _Insertion(new)
        insert = _insert_all if new.limit is None else _insert_within_limits
        try:
            return _raise_or_return(await self._commit(insert, insertion))
        except IntegrityError as error:
            await self._find_recorded(new.payment, error)
            return None
        except CommitUnknownError:
            log.warning("intent.not_confirmed", detail="it is tried again, and read if it is there")
        try:
            return _raise_or_return(await self._commit(insert, insertion))
        except IntegrityError as error:
            recorded = await self._find_recorded(new.payment, error)
            return recorded if _is_intent_of(new.payment, recorded) else None

    async def _find_recorded(self, made: Payment, error: IntegrityError) -> PaymentAggregate:
        """Return the payment that another delivery of the same webhook has recorded.

        Raises AccountGoneError, or ``error``: another store has this order id.
        """
        recorded = await self.find(ByTransaction(made.installation_id, made.transaction_id))
        if recorded is not None:
            return recorded
        async with self._database.transaction() as session:
            account = await session.get(MerchantAccount, made.account_id)
        raise error if account is not None else AccountGoneError(made.account_id)

    async def record(self, which: PaymentSelector, fact: Fact[R]) -> R:
        """Let a fact decide what follows for a payment, under its lock, commit that, and return the fact's answer.

        Nothing changes when it raises. Raises PaymentNotFoundError, DatabaseUnavailableError.
        """
        answer: R = await self._record(_Change(which, None, fact))
        return answer

    async def record_of_attempt(self, which: PaymentSelector, payable: Payable | None, fact: AttemptFact[R]) -> R:
        """Do the same as ``record`` for a fact that concerns all attempts to pay the same (``payable``), all locked.

        The payment is the only attempt when ``payable`` is None.
        """
        answer: R = await self._record(_Change(which, payable, fact))
        return answer

    async def _record(self, change: _Change) -> Any:
        answer = await self._commit(_record_all, change)
        if isinstance(answer, _Raised):
            raise answer.error
        return answer

    async def find(self, which: PaymentSelector | ByOperation) -> PaymentAggregate | None:
        """Return a payment, for reading only; or None."""
        async with self._database.transaction() as session:
            return await find_where(session, condition_of(which))

    async def read(self, payment_id: int) -> Payment:
        """Return the payment with that row id, alone, for reading; those read at the same moment cost one query."""
        return await self._database.group_commit(_read_all, payment_id)

    async def exists_only_elsewhere(self, installation_id: int, transaction_id: str) -> bool:
        """Return True when another store has a payment of that transaction, and this one has none."""
        async with self._database.transaction() as session:
            found = await session.exec(_STORES_OF_TRANSACTION, params={"transaction_id": transaction_id})
            return _is_only_elsewhere(installation_id, set(found.all()))

    async def order_of_other_refund(self, which: ByTransaction, granted_refund_id: str) -> str | None:
        """Return the order id of another payment of the store which that refund was taken from, or may have been."""
        has_surely_failed = (col(tables.Operation.state) == State.FAILURE) & ~col(tables.Operation.contradicted)
        query = (
            select(tables.Payment.order_id)
            .join(tables.Operation, col(tables.Operation.payment_id) == col(tables.Payment.id))
            .where(
                col(tables.Operation.granted_refund_id) == granted_refund_id,
                col(tables.Payment.installation_id) == which.installation_id,
                col(tables.Payment.transaction_id) != which.transaction_id,
                ~has_surely_failed,
            )
        )
        async with self._database.transaction() as session:
            return (await session.exec(query)).first()

    async def _commit(self, write: Write[_EntryT, Any], entry: _EntryT) -> Any:
        """Have an entry written together with others. If the requester stops waiting in time, it is not written."""
        try:
            return await self._database.group_commit(write, entry)
        except asyncio.CancelledError:
            entry.abandoned = True
            raise


async def _read_all(session: AsyncSession, payment_ids: Sequence[int]) -> list[Payment]:
    found = await read_payments(session, ALONE.where(PAYMENTS.table.c.id.in_(payment_ids)))
    payments: dict[int | None, Payment] = {payment.id: payment for payment in found}
    return [payments[payment_id] for payment_id in payment_ids]


def _is_intent_of(made: Payment, recorded: PaymentAggregate) -> bool:
    """Return whether an intent is ours, not that of another delivery of the same webhook (laws of money, 4)."""
    return recorded.create.state is State.INTENT and recorded.payment.created_at == made.created_at


def _raise_or_return(found: PaymentAggregate | Exception) -> PaymentAggregate:
    if isinstance(found, Exception):
        raise found
    return found


async def _insert_all(session: AsyncSession, many: Sequence[_Insertion]) -> list[PaymentAggregate | Exception]:
    """Insert new payments; return each, or the objection to it. Raises IntegrityError for one that exists already."""
    built = [insertion.build() for insertion in many]
    objections = await _find_objections(session, many, built)
    made = [index for index, objection in enumerate(objections) if objection is None]
    await _insert(session, [many[index] for index in made], [built[index] for index in made])
    return [objection or built[index] for index, objection in enumerate(objections)]


async def _insert_within_limits(
    session: AsyncSession, many: Sequence[_Insertion]
) -> list[PaymentAggregate | Exception]:
    """Insert new payments one after another, each if its account's limit allows it besides those before it."""
    account_id = col(MerchantAccount.id)
    # What a cache or an earlier read of this session holds may be older than the lock.
    locked = await session.exec(
        select(MerchantAccount)
        .where(account_id.in_({insertion.new.payment.account_id for insertion in many}))
        .order_by(account_id)
        .with_for_update(),
        execution_options={"populate_existing": True},
    )
    accounts = {account.id: account for account in locked.all()}
    answers: list[PaymentAggregate | Exception] = []
    for insertion in many:
        account = accounts.get(insertion.new.payment.account_id)
        if account is None:
            answers.append(AccountGoneError(insertion.new.payment.account_id))
            continue
        limit, currency = insertion.new.limit, insertion.new.payment.currency
        too_much = (
            None
            if limit is None
            else limit.decide(account, await total_paid_out_since(session, account.id, currency, limit.since))
        )
        if too_much is not None and not await _is_recorded(session, insertion.new.payment):
            answers.append(too_much)
        else:
            answers.extend(await _insert_all(session, [insertion]))
    return answers


async def _is_recorded(session: AsyncSession, payment: Payment) -> bool:
    same = ByTransaction(payment.installation_id, payment.transaction_id)
    return (await session.exec(select(tables.Payment.id).where(condition_of(same)))).first() is not None


async def _find_objections(
    session: AsyncSession, many: Sequence[_Insertion], built: Sequence[StoredPayment]
) -> list[Exception | None]:
    # Take all locks before inserting any row: a transaction that waits for another's row holds none that it wants.
    payables = [insertion.new.payable for insertion in many if insertion.new.payable is not None]
    exclusive = {insertion.new.payment.transaction_id for insertion in many if insertion.new.reject_if_elsewhere}
    locked = await lock_payments(session, [], payables, exclusive)
    stores = _stores_of_transactions((one.payment.transaction_id, one.payment.installation_id) for one in locked)
    objections: list[Exception | None] = []
    for insertion, made in zip(many, built, strict=True):
        new, payment = insertion.new, made.payment
        if insertion.abandoned:
            objections.append(_AbandonedError())
            continue
        if new.reject_if_elsewhere and _is_only_elsewhere(payment.installation_id, stores[payment.transaction_id]):
            objections.append(PaymentInOtherStoreError())
            continue
        attempts = [one for one in locked if new.payable is not None and is_attempt_to_pay(one.payment, new.payable)]
        recorded = any(attempt.payment.transaction_id == payment.transaction_id for attempt in attempts)
        objections.append(None if recorded else insertion.find_objection(made, attempts))
        for attempt in attempts:
            attempt.trace_new_parts(insertion.trace_id)
    await save_all(session, locked)
    return objections


def _stores_of_transactions(found: Iterable[tuple[str, int]]) -> defaultdict[str, set[int]]:
    stores: defaultdict[str, set[int]] = defaultdict(set)
    for transaction_id, installation_id in found:
        stores[transaction_id].add(installation_id)
    return stores


def _is_only_elsewhere(installation_id: int, stores: set[int]) -> bool:
    """Return whether only other stores than this have a payment of the transaction that ``stores`` have."""
    return bool(stores) and installation_id not in stores


async def _insert(session: AsyncSession, many: Sequence[_Insertion], built: Sequence[StoredPayment]) -> None:
    for insertion, stored in zip(many, built, strict=True):
        stored.trace_new_parts(insertion.trace_id)
    # In the same order everywhere, so that no two processes deadlock over rows of the same transaction.
    await save_all(session, sorted(built, key=_transaction_id))
    session.add_all(
        Payout(**insertion.new.payout.model_dump(exclude={"payment_id"}), payment_id=row_id_of(stored.payment))
        for insertion, stored in zip(many, built, strict=True)
        if insertion.new.payout is not None
    )


def _transaction_id(stored: StoredPayment) -> str:
    return stored.payment.transaction_id


async def _record_all(session: AsyncSession, many: Sequence[_Change]) -> list[Any]:
    payables = [change.payable for change in many if change.payable is not None]
    locked = await lock_payments(session, [change.which for change in many], payables)
    answers: list[Any] = []
    for change in many:
        if change.abandoned:
            answers.append(None)
            continue
        own = next((one for one in locked if is_selected(one, change.which)), None)
        if own is None:
            answers.append(_Raised(PaymentNotFoundError(str(change.which))))
            continue
        payable = change.payable
        attempts = [
            one for one in locked if one is own or (payable is not None and is_attempt_to_pay(one.payment, payable))
        ]
        answers.append(_apply(change, own, attempts))
    await save_all(session, locked)
    return answers


def _apply(change: _Change, own: StoredPayment, attempts: Sequence[StoredPayment]) -> Any:
    """Return the answer of a fact. One that raises before it has changed anything disturbs no other in the transaction.

    Otherwise its error is raised: then all of it is rolled back, and each fact is recorded again, alone.
    """
    try:
        answer = change.decide(own, attempts)
    except Exception as error:
        if any(attempt.is_changed for attempt in attempts):
            raise
        return _Raised(error)
    for attempt in attempts:
        attempt.trace_new_parts(change.trace_id)
    return answer
