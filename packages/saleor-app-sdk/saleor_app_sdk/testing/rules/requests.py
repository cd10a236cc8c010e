"""Requests by staff or by the app itself: the ``*_REQUEST`` event, which is recorded before the app is called."""

from decimal import Decimal

from saleor_app_sdk.testing.records import Event, EventClock, GrantedRefund, Transaction
from saleor_app_sdk.testing.rules.grants import check_requestable, update_granted_refund_status
from saleor_app_sdk.testing.rules.recording import create_request_event, record_failure
from saleor_app_sdk.testing.vocabulary import Action

NO_APP_FOR_ACTION = "No app or plugin is configured to handle requested action."


def request_action(
    transaction: Transaction,
    action: Action,
    amount: Decimal | None,
    event_clock: EventClock,
    *,
    idempotency_key: str,
    reason: str = "",
) -> Event:
    """Record a ``transactionRequestAction``. The amount is limited to the available one, which may be zero.

    ``reason`` is the reason of a refund (from 3.22 on).
    """
    available = transaction.amounts.charged if action is Action.REFUND else transaction.amounts.authorized
    # Zero is treated as missing: it is replaced by the whole available amount.
    clipped = min(amount or available, available)
    return create_request_event(
        transaction, action.request, clipped, event_clock, idempotency_key=idempotency_key, reason=reason
    )


def request_granted_refund(
    granted: GrantedRefund, transaction: Transaction, event_clock: EventClock, *, idempotency_key: str
) -> Event:
    """Record a ``transactionRequestRefundForGrantedRefund``; raise GrantRefusedError.

    A granted refund over nothing, of a gift for example, is treated as one over everything that is charged.
    The caller must update the status of the granted refund after building the webhook's body, which still states the
    previous status.
    """
    check_requestable(granted, transaction)
    granted.transaction = granted.transaction or transaction
    charged = transaction.amounts.charged
    amount = min(granted.amount or charged, charged)
    return create_request_event(
        transaction, Action.REFUND.request, amount, event_clock, idempotency_key=idempotency_key, granted_refund=granted
    )


def fail_undeliverable_request(transaction: Transaction, request: Event, event_clock: EventClock) -> None:
    """Record the failure of a request that no app can handle: it is inactive, deleted, or may not handle payments."""
    record_failure(transaction, request, NO_APP_FOR_ACTION, event_clock)
    update_granted_refund_status(request.granted_refund)
