"""``transactionEventReport``: reports that an app sends on its own initiative (Saleor contract, A.7)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from pydantic import HttpUrl, TypeAdapter, ValidationError

from saleor_app_sdk.testing.money import ZERO, quantize_price
from saleor_app_sdk.testing.records import Event, EventClock, Transaction
from saleor_app_sdk.testing.rules.grants import find_granted_refund, update_granted_refund_status
from saleor_app_sdk.testing.rules.recording import (
    ConflictError,
    recalculate_transaction_amounts,
    record_event,
    record_failure,
    update_available_actions,
)
from saleor_app_sdk.testing.rules.responses import EXTERNAL_URL_LENGTH, PSP_REFERENCE_LENGTH, truncate_message
from saleor_app_sdk.testing.vocabulary import EventType

_URL: TypeAdapter[HttpUrl] = TypeAdapter(HttpUrl)

_SETS_PSP_REFERENCE = frozenset(
    {
        EventType.AUTHORIZATION_REQUEST,
        EventType.AUTHORIZATION_SUCCESS,
        EventType.CHARGE_REQUEST,
        EventType.CHARGE_SUCCESS,
    }
)

# Where a missing amount is taken from: events of these types with the same reference, in any transaction.
_AMOUNT_FROM = {
    EventType.AUTHORIZATION_FAILURE: ("AUTHORIZATION_SUCCESS", "AUTHORIZATION_REQUEST"),
    EventType.CHARGE_FAILURE: (
        "CHARGE_SUCCESS",
        "CHARGE_REQUEST",
        "AUTHORIZATION_SUCCESS",
        "AUTHORIZATION_REQUEST",
        "AUTHORIZATION_FAILURE",
    ),
    EventType.REFUND_FAILURE: (
        "REFUND_SUCCESS",
        "REFUND_REQUEST",
        "CHARGE_SUCCESS",
        "CHARGE_REQUEST",
        "CHARGE_FAILURE",
    ),
    EventType.CANCEL_FAILURE: (
        "CANCEL_SUCCESS",
        "CANCEL_REQUEST",
        "AUTHORIZATION_SUCCESS",
        "AUTHORIZATION_REQUEST",
        "AUTHORIZATION_FAILURE",
    ),
    EventType.REFUND_REVERSE: ("REFUND_SUCCESS",),
    EventType.CHARGE_BACK: ("CHARGE_SUCCESS",),
}

_METHOD_LIMITS = {
    "name": (0, 256),
    "brand": (0, 40),
    "firstDigits": (0, 4),
    "lastDigits": (0, 4),
    "lastChars": (0, 4),
    "expMonth": (1, 12),
    "expYear": (2000, 9999),
}
_METHOD_TYPES = {"card": "CARD", "other": "OTHER", "giftCard": "GIFT_CARD"}


@dataclass(frozen=True)
class Report:
    """The arguments of the mutation. ``actions`` None keeps the current ones."""

    type: EventType
    psp_reference: str
    amount: Decimal | None = None
    time: datetime | None = None
    message: str | None = None
    external_url: str | None = None
    actions: list[str] | None = None
    metadata: dict[str, str] | None = None
    private_metadata: dict[str, str] | None = None
    method_details: dict[str, Any] | None = None


class ReportRefusedError(Exception):
    """One entry of ``transactionEventReport.errors``: field, code and Saleor's message."""

    def __init__(self, field: str, code: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.code = code


def record_report(
    transaction: Transaction, report: Report, transactions: Iterable[Transaction], event_clock: EventClock
) -> tuple[Event, bool]:
    """Record a report; return the recorded event and whether it had been processed already.

    ``transactions`` are all transactions of this Saleor (a missing amount is looked up in all of them). Raises
    ReportRefusedError; with INCORRECT_DETAILS and ALREADY_EXISTS a failure event has been recorded.
    """
    amount = quantize_price(_report_amount(report, transactions), transaction.currency)
    details = _payment_method_details(report.method_details)
    _check_column_lengths(report)
    event = Event(
        id=event_clock.event_id(),
        created_at=report.time or event_clock.now(),
        type=report.type,
        amount=amount,
        psp_reference=report.psp_reference,
        message=truncate_message(report.message or ""),
        external_url=report.external_url or "",
        granted_refund=find_granted_refund(transaction, report.type, report.psp_reference),
    )
    try:
        event, new = record_event(transaction, event)
    except ConflictError as exc:
        record_failure(transaction, event, str(exc), event_clock)
        update_granted_refund_status(event.granted_refund)
        raise ReportRefusedError(exc.field, exc.code, str(exc)) from exc
    if report.actions is not None:
        update_available_actions(transaction, report.actions)
        transaction.unreadable = False
    if details is not None:
        transaction.payment_method_details = details
    if new:
        _apply_new_report(transaction, report, event, event_clock)
    return event, not new


def _apply_new_report(transaction: Transaction, report: Report, event: Event, event_clock: EventClock) -> None:
    """Apply the effects of a new report: a repeated one does not even save its metadata."""
    if event.type in _SETS_PSP_REFERENCE and not transaction.psp_reference:
        transaction.psp_reference = event.psp_reference
    transaction.metadata.update(report.metadata or {})
    transaction.private_metadata.update(report.private_metadata or {})
    recalculate_transaction_amounts(transaction, event_clock.now())
    update_granted_refund_status(event.granted_refund)


def _report_amount(report: Report, transactions: Iterable[Transaction]) -> Decimal:
    if report.amount is not None:
        return report.amount
    if report.type is EventType.INFO:
        return ZERO
    name = report.type.value.lower()
    if report.type not in _AMOUNT_FROM:
        raise ReportRefusedError("amount", "REQUIRED", f"The `amount` field is required for {name} event.")
    sources = [
        event
        for transaction in transactions
        for event in transaction.events
        if event.type in _AMOUNT_FROM[report.type] and event.psp_reference == report.psp_reference
    ]
    if not sources:
        raise ReportRefusedError("amount", "REQUIRED", f"Unable to deduce the amount for {name} event.")
    return max(sources, key=lambda event: event.created_at).amount


def _check_column_lengths(report: Report) -> None:
    if len(report.psp_reference) > PSP_REFERENCE_LENGTH:
        raise ReportRefusedError(
            "pspReference", "INVALID", _too_long_message(report.psp_reference, PSP_REFERENCE_LENGTH)
        )
    url = report.external_url
    if not url:
        return
    if len(url) > EXTERNAL_URL_LENGTH:
        raise ReportRefusedError("externalUrl", "INVALID", _too_long_message(url, EXTERNAL_URL_LENGTH))
    try:
        _URL.validate_python(url)
    except ValidationError as exc:
        raise ReportRefusedError("externalUrl", "INVALID", "Enter a valid URL.") from exc


def _too_long_message(value: str, limit: int) -> str:
    return f"Ensure this value has at most {limit} characters (it has {len(value)})."


def _payment_method_details(details: dict[str, Any] | None) -> dict[str, Any] | None:
    chosen = {kind: fields for kind, fields in (details or {}).items() if fields is not None}
    if not chosen:
        return None
    if len(chosen) > 1:
        raise ReportRefusedError("paymentMethodDetails", "INVALID", "Only one of the methods may be described.")
    [(kind, fields)] = chosen.items()
    for name, value in fields.items():
        low, high = _METHOD_LIMITS[name]
        size = len(value) if isinstance(value, str) else value
        if value is not None and not low <= size <= high:
            raise ReportRefusedError(name, "INVALID", f"The value of {name} is out of its limits ({low} to {high}).")
    return {"type": _METHOD_TYPES[kind], **fields}
