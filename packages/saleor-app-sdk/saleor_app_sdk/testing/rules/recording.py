"""Record an app's responses: events, amounts, actions (Saleor contract, A.4 to A.6).

``response`` is the JSON value that the app returned, or None if it is unusable (an HTTP error status where that
matters, no JSON, ``null``, a dropped connection, a timeout).
"""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from saleor_app_sdk.testing.records import Event, EventClock, GrantedRefund, Transaction
from saleor_app_sdk.testing.rules import amounts
from saleor_app_sdk.testing.rules.grants import update_granted_refund_status
from saleor_app_sdk.testing.rules.responses import (
    AsyncActionResponse,
    ResponseRefusedError,
    SaleorCrashedError,
    TransactionResponse,
    parse_action_response,
    parse_session_response,
)
from saleor_app_sdk.testing.vocabulary import Action, EventType

NOT_DELIVERED = "Failed to delivery request."
AMOUNT_MISMATCH = "The transaction with provided `pspReference` and `type` already exists with different amount."
ALREADY_AUTHORIZED = (
    "Event with `AUTHORIZATION_SUCCESS` already reported for the transaction. Use `AUTHORIZATION_ADJUSTMENT` to "
    "change the authorization amount."
)

FINAL_TYPES = frozenset(
    EventType(f"{family}_{outcome}")
    for family in ("AUTHORIZATION", "CHARGE")
    for outcome in ("SUCCESS", "FAILURE", "REQUEST")
)
_UPDATES_TRANSACTION = FINAL_TYPES - {EventType.AUTHORIZATION_FAILURE, EventType.CHARGE_FAILURE}
_NEVER_DUPLICATES = frozenset(
    {EventType.AUTHORIZATION_ACTION_REQUIRED, EventType.CHARGE_ACTION_REQUIRED, EventType.INFO}
)


class ConflictError(Exception):
    """The event conflicts with an existing one. Field, code and text are Saleor's."""

    def __init__(self, field: str, code: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.code = code


def create_request_event(
    transaction: Transaction,
    kind: EventType,
    amount: Decimal,
    event_clock: EventClock,
    *,
    idempotency_key: str,
    granted_refund: GrantedRefund | None = None,
    reason: str = "",
) -> Event:
    """Record the ``*_REQUEST`` event that precedes a webhook. It counts only once the app has accepted it."""
    request = Event(
        id=event_clock.event_id(),
        created_at=event_clock.now(),
        type=kind,
        amount=amount,
        idempotency_key=idempotency_key,
        message=reason,
        counts=False,
        granted_refund=granted_refund,
    )
    transaction.events.append(request)
    return request


def final_event(transaction: Transaction) -> Event | None:
    """Return the event that ends the session, if any. Failures that Saleor recorded itself end no session.

    It is the first one that was recorded, whatever has been reported since.
    """
    return next((event for event in transaction.events if event.type in FINAL_TYPES and event.counts), None)


def existing_event(transaction: Transaction, kind: EventType, psp_reference: str | None) -> Event | None:
    """Return the event that a new one would duplicate: same transaction, type and reference, counted or not."""
    if kind in _NEVER_DUPLICATES:
        return None
    return next(
        (e for e in transaction.events if e.type is kind and e.psp_reference == psp_reference),
        None,
    )


def record_event(transaction: Transaction, event: Event) -> tuple[Event, bool]:
    """Record an event unless it exists already; return the recorded event, and whether it is new.

    Raises ConflictError if it exists with another amount, or if it would be a second authorization.
    """
    existing = existing_event(transaction, event.type, event.psp_reference)
    if existing is not None:
        if existing.amount != event.amount:
            raise ConflictError("pspReference", "INCORRECT_DETAILS", AMOUNT_MISMATCH)
        return existing, False
    if event.type is EventType.AUTHORIZATION_SUCCESS and any(
        e.type is EventType.AUTHORIZATION_SUCCESS for e in transaction.events
    ):
        raise ConflictError("type", "ALREADY_EXISTS", ALREADY_AUTHORIZED)
    transaction.events.append(event)
    return event, True


def record_failure(transaction: Transaction, of: Event, why: str, event_clock: EventClock) -> Event:
    """Record a failure event by Saleor itself for ``of``: it counts in no calculation and ends no session."""
    failure = Event(
        id=event_clock.event_id(),
        created_at=event_clock.now(),
        type=of.type.failure,
        amount=of.amount,
        psp_reference=of.psp_reference,
        message=why,
        counts=False,
        granted_refund=of.granted_refund,
    )
    transaction.events.append(failure)
    return failure


def recalculate_transaction_amounts(transaction: Transaction, now: datetime) -> None:
    """Recalculate the amounts of a transaction from its events."""
    transaction.amounts = amounts.calculate_amounts(transaction.events)
    transaction.modified_at = now


def _require_object(response: Any) -> Mapping[str, Any]:
    if response is None:
        raise ResponseRefusedError(NOT_DELIVERED)
    if not isinstance(response, Mapping):
        code = "AttributeError"
        raise SaleorCrashedError(code)
    return response


def _event_from_response(response: TransactionResponse, request: Event, event_clock: EventClock) -> Event:
    return Event(
        id=event_clock.event_id(),
        created_at=response.time or event_clock.now(),
        type=response.result,
        # Zero is treated as missing: it is replaced by the requested amount.
        amount=response.amount or request.amount,
        psp_reference=response.psp_reference,
        message=response.message,
        external_url=response.url,
        granted_refund=request.granted_refund,
    )


def record_session_response(
    transaction: Transaction, request: Event, response: Any, event_clock: EventClock
) -> tuple[Event, Any]:
    """Record the response to initialize or process; return the event and the ``data`` for the storefront.

    Raises SaleorCrashedError if the response makes Saleor itself fail (then nothing is recorded).
    """
    try:
        session = parse_session_response(_require_object(response))
    except ResponseRefusedError as exc:
        # The storefront gets the data even of a refused response.
        return record_failure(transaction, request, str(exc), event_clock), (response or {}).get("data")
    event = request
    if session.result.outcome == "REQUEST":
        request.type, request.amount = session.result, session.amount or request.amount
        request.psp_reference, request.counts = session.psp_reference, True
    else:
        try:
            event, _ = record_event(transaction, _event_from_response(session, request, event_clock))
        except ConflictError as exc:
            return record_failure(transaction, request, str(exc), event_clock), session.data
        request.psp_reference = event.psp_reference
    if event.type in _UPDATES_TRANSACTION:
        transaction.psp_reference = event.psp_reference
        update_available_actions(transaction, session.actions)
        if session.method_details is not None:
            transaction.payment_method_details = session.method_details.model_dump(by_alias=True)
        recalculate_transaction_amounts(transaction, event_clock.now())
    elif event.psp_reference and event.psp_reference != transaction.psp_reference:
        transaction.psp_reference, transaction.modified_at = event.psp_reference, event_clock.now()
    return event, session.data


def record_action_response(
    transaction: Transaction, request: Event, action: Action, response: Any, event_clock: EventClock
) -> None:
    """Record the response to a staff action. Raises SaleorCrashedError where Saleor's task dies silently."""
    try:
        parsed = parse_action_response(_require_object(response), action)
        if parsed.psp_reference is not None:
            # Whatever the result, the request takes over the reference of the response (Saleor contract, A.10).
            request.psp_reference, request.counts = parsed.psp_reference, True
        if isinstance(parsed, TransactionResponse):
            record_event(transaction, _event_from_response(parsed, request, event_clock))
    except (ResponseRefusedError, ConflictError) as exc:
        record_failure(transaction, request, str(exc), event_clock)
    else:
        if isinstance(parsed, AsyncActionResponse):
            transaction.unreadable = transaction.unreadable or bool(parsed.actions)
        update_available_actions(transaction, parsed.actions)
        recalculate_transaction_amounts(transaction, event_clock.now())
    update_granted_refund_status(request.granted_refund)


def update_available_actions(transaction: Transaction, actions: list[str] | None) -> None:
    """Replace the actions that are available to staff; None keeps them."""
    if actions is not None:
        transaction.actions = sorted(set(actions))
