"""Granted refunds: their events, their status, and when they may be requested (Saleor contract, A.6 and A.10).

A report is linked to a granted refund only through a REFUND_REQUEST that has the same ``pspReference`` when the report
arrives. It is never linked later.
"""

from decimal import Decimal

from saleor_app_sdk.testing.records import Event, GrantedRefund, Transaction
from saleor_app_sdk.testing.vocabulary import EventType, GrantedRefundStatus

_STATUSES = {
    EventType.REFUND_REQUEST: GrantedRefundStatus.PENDING,
    EventType.REFUND_SUCCESS: GrantedRefundStatus.SUCCESS,
    EventType.REFUND_FAILURE: GrantedRefundStatus.FAILURE,
    EventType.REFUND_REVERSE: GrantedRefundStatus.NONE,
}
_NOT_REPEATABLE = {
    GrantedRefundStatus.PENDING: ("REFUND_IS_PENDING", "The refund request is already in progress."),
    GrantedRefundStatus.SUCCESS: ("REFUND_ALREADY_PROCESSED", "The granted refund is already processed."),
}


class GrantRefusedError(Exception):
    """Saleor refuses to request the granted refund: field, code and Saleor's message."""

    field = "grantedRefundId"

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def check_requestable(granted: GrantedRefund, transaction: Transaction) -> None:
    """Raise GrantRefusedError if ``transactionRequestRefundForGrantedRefund`` refuses this."""
    if granted.status in _NOT_REPEATABLE:
        raise GrantRefusedError(*_NOT_REPEATABLE[granted.status])
    charged = transaction.amounts.charged
    if charged < granted.amount:
        message = (
            f"The granted refund amount {granted.amount} is greater than available charged amount on transactionItem "
            f"({charged}).Update the order granted refund amount to process the grant refund."
        )
        code = "AMOUNT_GREATER_THAN_AVAILABLE"
        raise GrantRefusedError(code, message)


def check_editable(granted: GrantedRefund, amount: Decimal) -> None:
    """Raise GrantRefusedError if ``orderGrantRefundUpdate`` refuses this amount: of a pending or successful refund."""
    if granted.status in _NOT_REPEATABLE:
        message = "Only reason can be updated when `OrderGrantedRefund.status` is PENDING or SUCCESS."
        raise GrantRefusedError("INVALID", message)
    if granted.transaction is not None and amount > granted.transaction.amounts.charged:
        message = "Amount cannot be greater than the charged amount of provided transaction."
        raise GrantRefusedError("AMOUNT_GREATER_THAN_AVAILABLE", message)


def find_granted_refund(transaction: Transaction, kind: EventType, psp_reference: str) -> GrantedRefund | None:
    """Return the granted refund that a report of this type and reference belongs to, by the current requests."""
    if kind not in _STATUSES:
        return None
    requests = [
        event
        for event in transaction.events
        if event.type is EventType.REFUND_REQUEST and event.psp_reference == psp_reference
    ]
    return requests[-1].granted_refund if requests else None


def granted_refund_events(granted: GrantedRefund) -> list[Event]:
    """Return the events linked to the granted refund, in the order in which they were recorded."""
    if granted.transaction is None:
        return []
    return [event for event in granted.transaction.events if event.granted_refund is granted]


def update_granted_refund_status(granted: GrantedRefund | None) -> None:
    """Set the status from the granted refund's newest event by ``created_at``. Without events it stays unchanged."""
    events = [event for event in granted_refund_events(granted) if event.type in _STATUSES] if granted else []
    if granted and events:
        granted.status = _STATUSES[max(events, key=lambda event: event.created_at).type]
