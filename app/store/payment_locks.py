"""Which payments a selector names, and how several are locked: always at once and in the same order."""

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core import payment as core
from app.core.payment import PaymentAggregate
from app.store.aggregates import (
    WITH_ACCOUNT,
    ByEvent,
    ById,
    ByOperation,
    ByOrder,
    ByTransaction,
    Payable,
    PaymentSelector,
    load_aggregates,
    read_payments,
)
from app.store.payment_rows import PAYMENTS, StoredPayment
from app.store.tables import Operation, Payment, SaleorEvent


async def lock_payments(
    session: AsyncSession,
    which: Sequence[PaymentSelector],
    payables: Sequence[Payable] = (),
    transaction_ids: Collection[str] = (),
) -> list[StoredPayment]:
    """Return these payments and all attempts to pay these debts, oldest first, locked in that order.

    ``transaction_ids``: those of other stores too whose transaction has one of these ids.

    Callers that need several payments locked take them all at once and in this order, so that no two deadlock. The
    locking statement reads each row as it is once others have released it; operations and events are read after that.
    """
    names: dict[str, Sequence[Any]] = {
        "payment_ids": [selector.payment_id for selector in which if isinstance(selector, ById)],
        "event_ids": [selector.event_id for selector in which if isinstance(selector, ByEvent)],
        "order_ids": [selector.order_id for selector in which if isinstance(selector, ByOrder)],
        "installation_ids": sorted(
            {named.installation_id for named in [*which, *payables] if isinstance(named, ByTransaction | Payable)}
        ),
        "transaction_ids": sorted(
            {selector.transaction_id for selector in which if isinstance(selector, ByTransaction)}
            | {name for payable in payables for name in payable.transaction_ids}
        ),
        "source_ids": [payable.source_id for payable in payables],
        "ids_in_any_store": sorted(transaction_ids),
    }
    used = frozenset(name for name in _LOCK_CONDITIONS if names[name])
    return await load_aggregates(session, await read_payments(session, _lock_statement(used), names) if used else [])


def is_attempt_to_pay(payment: core.Payment, payable: Payable) -> bool:
    if payment.installation_id != payable.installation_id:
        return False
    return payment.source_id == payable.source_id or payment.transaction_id in payable.transaction_ids


def is_selected(aggregate: PaymentAggregate, which: PaymentSelector) -> bool:
    payment = aggregate.payment
    match which:
        case ByEvent(event_id):
            return any(event.id == event_id for event in aggregate.events)
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


def condition_of(which: PaymentSelector | ByOperation) -> sa.ColumnElement[bool]:
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


_IN_STORES = _one_of(Payment.installation_id, "installation_ids")
_LOCK_CONDITIONS = {
    "payment_ids": _one_of(Payment.id, "payment_ids"),
    "event_ids": col(Payment.id).in_(select(SaleorEvent.payment_id).where(_one_of(SaleorEvent.id, "event_ids"))),
    "order_ids": _one_of(Payment.order_id, "order_ids"),
    "source_ids": _IN_STORES & _one_of(Payment.source_id, "source_ids"),
    "transaction_ids": _IN_STORES & _one_of(Payment.transaction_id, "transaction_ids"),
    "ids_in_any_store": _one_of(Payment.transaction_id, "ids_in_any_store"),
}


@cache
def _lock_statement(used: frozenset[str]) -> Any:
    """Return the statement that locks payments found by any of the ``used`` keys; built once: every payment needs it.

    Each branch uses an index of its own. A branch without values would make SQLite expect many rows, and scan all
    payments instead.
    """
    conditions = [condition for name, condition in _LOCK_CONDITIONS.items() if name in used]
    return WITH_ACCOUNT.where(sa.or_(*conditions)).with_for_update(of=PAYMENTS.table)
