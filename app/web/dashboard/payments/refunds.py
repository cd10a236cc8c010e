"""The refunds of a payment, as its page lists them: when, how much, why, by whom. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from app.core.payment import Operation
from app.core.vocabulary import Kind, Origin, State
from app.i18n.messages import LazyMessage, StoredMessage
from app.reports.status import Standing, failure_reason
from app.rules.details import Details

_STANDINGS = {State.SUCCESS: Standing.REFUNDED, State.FAILURE: Standing.FAILED}


@dataclass(frozen=True, slots=True)
class RefundRow:
    """One refund. ``by`` is None when the app requested it; ``receipt`` is the address of the gateway's receipt.

    ``reason`` is what whoever requested it gave; ``failure`` is why it failed.
    """

    at: datetime
    amount: Decimal
    standing: Standing
    failure: StoredMessage | None
    reason: str | None
    by: str | None
    receipt: str | None


def refund_rows(operations: Sequence[Operation]) -> list[RefundRow]:
    """Return the refunds among these operations, the newest first, whatever became of them."""
    refunds = [operation for operation in operations if operation.kind is Kind.REFUND]
    return [_row(operation) for operation in sorted(refunds, key=lambda refund: refund.created_at, reverse=True)]


def _row(operation: Operation) -> RefundRow:
    return RefundRow(
        at=operation.booked_at or operation.created_at,
        amount=operation.amount,
        standing=_STANDINGS.get(operation.state, Standing.REFUNDING),
        failure=failure_reason(operation),
        reason=operation.requested.comment,
        by=_requester(operation),
        receipt=Details.from_row(operation.details).receipt_url,
    )


def _requester(operation: Operation) -> str | None:
    if operation.requester is Origin.GATEWAY:
        return LazyMessage("not requested here")
    if operation.asked_by is not None:
        return operation.asked_by
    return "Saleor" if operation.requester is Origin.SALEOR else None
