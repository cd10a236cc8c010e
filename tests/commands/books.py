"""Payments as the database stores them, created without a gateway."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from app.core.alerts import AlertKind
from app.core.ids import OperationRowId
from app.core.notification import StoredNotification
from app.core.payment import Operation, Payment, PaymentAggregate, SaleorEvent
from app.core.vocabulary import EventState, Flow, Kind, State
from app.rules.balance import status_of, update_booking
from app.rules.problems import Cause, add_problem
from app.rules.references import order_id_of
from app.services import Services
from app.store.tables import MerchantAccount
from gateway_client.notification import digest, encode
from tests.commands.conftest import POS_ID, SALEOR
from tests.db.rows import store
from tests.notification_facts import APPLIED, Decided
from tests.payments.problems import issue_saying

BEGUN = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TRANSACTION = "VHJhbnNhY3Rpb25JdGVtOjczZWY4MzM5LTk5YjktNDZiMy04NDYxLWE4OTc2ZjYzNTliYg=="
DIFFERS = Cause(AlertKind.MISMATCH, "differs", operation_id=OperationRowId(1))
ORDER = order_id_of(TRANSACTION, SALEOR)


def moment_after(**span: float) -> datetime:
    """Return a moment after the payment was begun."""
    return BEGUN + timedelta(**span)


def payment(**different: Any) -> Payment:
    """Return a payment of 100.00 UAH."""
    usual: dict[str, Any] = {
        "id": None,
        "installation_id": 1,
        "account_id": "account",
        "transaction_id": TRANSACTION,
        "order_id": ORDER,
        "flow": Flow.CHARGE,
        "amount": Decimal("100.00"),
        "currency": "UAH",
        "channel": "default-channel",
        "source_id": "Q2hlY2tvdXQ6Mg==",
        "created_at": BEGUN,
        "updated_at": BEGUN,
    }
    return Payment(**{**usual, **different})


def operation(kind: Kind = Kind.CREATE, state: State = State.SUCCESS, **different: Any) -> Operation:
    """Return an operation over the whole amount, concluded a second after it was requested."""
    usual: dict[str, Any] = {
        "kind": kind,
        "idempotency_key": kind.value,
        "state": state,
        "amount": Decimal("100.00"),
        "currency": "UAH",
        "request": {"customer_email": "olena@example.com", "customer_phone": "+380501234567"},
        "created_at": BEGUN,
        "updated_at": moment_after(seconds=1),
    }
    return Operation(**{**usual, **different})


def event(type_: str = "CHARGE_SUCCESS", state: EventState = EventState.DELIVERED, **different: Any) -> SaleorEvent:
    """Return an event for Saleor, delivered at the second attempt."""
    usual: dict[str, Any] = {
        "type": type_,
        "psp_reference": ORDER,
        "amount": Decimal("100.00"),
        "message": "Successful [1000]",
        "state": state,
        "attempts": 2,
        "created_at": moment_after(seconds=1),
        "delivered_at": moment_after(seconds=4) if state is EventState.DELIVERED else None,
        "next_attempt_at": moment_after(seconds=9) if state is EventState.WAITING else None,
    }
    return SaleorEvent(**{**usual, **different})


def notification(record: dict[str, Any] | None = None, **different: Any) -> StoredNotification:
    """Return a processed notification that the payment succeeded, with a shopper's personal data."""
    says: dict[str, Any] = {
        "pos_id": POS_ID,
        "mode": "hosted",
        "method": "purchase",
        "amount": Decimal("100.00"),
        "currency": "UAH",
        "order_id": ORDER,
        "payment_id": "36c59597-f4c4-456e-8f6e-91af30f1df96",
        "status": "success",
        "status_code": "1000",
        "cc_mask": "424242******4242",
        "customer_email": "olena@example.com",
        "processing_time": "2026-11-21T12:00:01Z",
        "created_at": "2026-11-21T12:00:00Z",
    }
    usual: dict[str, Any] = {
        "id": 1,
        "account_id": "account",
        "data": encode({**says, **(record or {})}),
        "order_id": ORDER,
        "deliveries": 1,
        "outcome": APPLIED,
        "attempts": 1,
        "received_at": moment_after(seconds=1),
        "processed_at": moment_after(seconds=1),
        "next_attempt_at": None,
    }
    return StoredNotification(**{**usual, **different})


def aggregate(
    operations: Sequence[Operation] = (), events: Sequence[SaleorEvent] = (), **different: Any
) -> PaymentAggregate:
    """Return the aggregate of a payment; by default it was made."""
    return PaymentAggregate(payment(**different), list(operations) or [operation()], list(events))


async def store_payment(
    services: Services,
    account: MerchantAccount,
    operations: Sequence[Operation] = (),
    events: Sequence[SaleorEvent] = (),
    notifications: Sequence[StoredNotification] = (),
    *,
    problem: str | None = None,
    cause: Cause = DIFFERS,
    **different: Any,
) -> Payment:
    """Store a payment with all that belongs to it."""
    row = payment(id=None, installation_id=account.installation_id, account_id=account.id, **different)
    if problem is not None:
        add_problem(row, cause, issue_saying(problem), BEGUN)
    parts = list(operations) or [operation()]
    row.status = status_of(row.flow, parts)
    for part in parts:
        update_booking(row, part)
    await store(services.database, row, parts, events)
    for told in notifications:
        assert told.data is not None
        name = digest(told.data)
        await services.inbox.store(
            account_id=account.id, digest=name, data=told.data, order_id=row.order_id, now=told.received_at
        )
        for kept in await services.inbox.find_for_order(account.id, row.order_id):
            await services.inbox.process(kept.id, Decided(told.outcome or APPLIED), told.received_at)
    return row
