"""Writing down what an answer says: events, amounts, actions (Saleor contract, A.4 to A.6).

``answer`` is what came back from the app: the JSON value, or None if nothing usable came (a refusal by HTTP status
where that matters, no JSON, ``null``, a dropped connection, a time-out).
"""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from app.saleor.testing.records import Event, EventClock, GrantedRefund, Transaction
from app.saleor.testing.rules import amounts
from app.saleor.testing.rules.answers import (
    Answer,
    AnswerRefusedError,
    PendingAnswer,
    SaleorCrashedError,
    read_action_answer,
    read_session_answer,
)
from app.saleor.testing.rules.grants import settle_granted_refund
from app.saleor.testing.vocabulary import Action, EventType

NOT_DELIVERED = "Failed to delivery request."
OTHER_AMOUNT = "The transaction with provided `pspReference` and `type` already exists with different amount."
SECOND_AUTHORIZATION = (
    "Event with `AUTHORIZATION_SUCCESS` already reported for the transaction. Use `AUTHORIZATION_ADJUSTMENT` to "
    "change the authorization amount."
)

FINAL = frozenset(
    EventType(f"{family}_{outcome}")
    for family in ("AUTHORIZATION", "CHARGE")
    for outcome in ("SUCCESS", "FAILURE", "REQUEST")
)
_RECORDED_AT_ONCE = FINAL - {EventType.AUTHORIZATION_FAILURE, EventType.CHARGE_FAILURE}
_NEVER_DUPLICATES = frozenset(
    {EventType.AUTHORIZATION_ACTION_REQUIRED, EventType.CHARGE_ACTION_REQUIRED, EventType.INFO}
)


class ConflictError(Exception):
    """The event contradicts one that is there already. Field, code and text are Saleor's."""

    def __init__(self, field: str, code: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.code = code


def open_request(
    transaction: Transaction,
    kind: EventType,
    amount: Decimal,
    event_clock: EventClock,
    *,
    idempotency_key: str,
    granted_refund: GrantedRefund | None = None,
    reason: str = "",
) -> Event:
    """Write down the ``*_REQUEST`` event that precedes a webhook. It counts only once the app has accepted it."""
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
    """Return the event that ends the session, if any. Failures that Saleor itself wrote down end nothing."""
    ends = [event for event in transaction.events if event.type in FINAL and event.counts]
    return max(ends, key=lambda event: event.created_at, default=None)


def existing_event(transaction: Transaction, kind: EventType, psp_reference: str | None) -> Event | None:
    """Return the event that this one would duplicate: same transaction, type and reference, counted or not."""
    if kind in _NEVER_DUPLICATES:
        return None
    return next(
        (e for e in transaction.events if e.type is kind and e.psp_reference == psp_reference),
        None,
    )


def write_event(transaction: Transaction, event: Event) -> tuple[Event, bool]:
    """Write the event down unless it is there: return the event that stands, and whether it is new.

    Raises ConflictError if it is there with another amount, or if it would be a second authorization.
    """
    twin = existing_event(transaction, event.type, event.psp_reference)
    if twin is not None:
        if twin.amount != event.amount:
            raise ConflictError("pspReference", "INCORRECT_DETAILS", OTHER_AMOUNT)
        return twin, False
    if event.type is EventType.AUTHORIZATION_SUCCESS and any(
        e.type is EventType.AUTHORIZATION_SUCCESS for e in transaction.events
    ):
        raise ConflictError("type", "ALREADY_EXISTS", SECOND_AUTHORIZATION)
    transaction.events.append(event)
    return event, True


def write_failure(transaction: Transaction, of: Event, why: str, event_clock: EventClock) -> Event:
    """Write down Saleor's own failure of ``of``: it takes part in no calculation and ends no session."""
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


def recount(transaction: Transaction, now: datetime) -> None:
    """Bring the amounts of the transaction in line with its events."""
    transaction.amounts = amounts.count(transaction.events)
    transaction.modified_at = now


def _as_object(answer: Any) -> Mapping[str, Any]:
    if answer is None:
        raise AnswerRefusedError(NOT_DELIVERED)
    if not isinstance(answer, Mapping):
        code = "AttributeError"
        raise SaleorCrashedError(code)
    return answer


def _event_of(answer: Answer, request: Event, event_clock: EventClock) -> Event:
    return Event(
        id=event_clock.event_id(),
        created_at=answer.time or event_clock.now(),
        type=answer.result,
        # Zero is as good as missing: the requested amount takes its place.
        amount=answer.amount or request.amount,
        psp_reference=answer.psp_reference,
        message=answer.message,
        external_url=answer.url,
        granted_refund=request.granted_refund,
    )


def record_session_answer(
    transaction: Transaction, request: Event, answer: Any, event_clock: EventClock
) -> tuple[Event, Any]:
    """Record the answer to initialize or process; return the event and the ``data`` for the storefront.

    Raises SaleorCrashedError where the answer makes Saleor fail in itself (then nothing is recorded).
    """
    try:
        session = read_session_answer(_as_object(answer))
    except AnswerRefusedError as exc:
        # The storefront gets even the data of an answer that was refused.
        return write_failure(transaction, request, str(exc), event_clock), (answer or {}).get("data")
    event = request
    if session.result.outcome == "REQUEST":
        request.type, request.amount = session.result, session.amount or request.amount
        request.psp_reference, request.counts = session.psp_reference, True
    else:
        try:
            event, _ = write_event(transaction, _event_of(session, request, event_clock))
        except ConflictError as exc:
            return write_failure(transaction, request, str(exc), event_clock), session.data
        request.psp_reference = event.psp_reference
    if event.type in _RECORDED_AT_ONCE:
        transaction.psp_reference = event.psp_reference
        offer(transaction, session.actions)
        if session.method_details is not None:
            transaction.payment_method_details = session.method_details.model_dump(by_alias=True)
        recount(transaction, event_clock.now())
    elif event.psp_reference and event.psp_reference != transaction.psp_reference:
        transaction.psp_reference, transaction.modified_at = event.psp_reference, event_clock.now()
    return event, session.data


def record_action_answer(
    transaction: Transaction, request: Event, action: Action, answer: Any, event_clock: EventClock
) -> None:
    """Record the answer to a staff action. Raises SaleorCrashedError where the task dies without a trace."""
    try:
        understood = read_action_answer(_as_object(answer), action)
        if understood.psp_reference is not None:
            # Whatever the answer says, its reference is the request's from now on (Saleor contract, A.10).
            request.psp_reference, request.counts = understood.psp_reference, True
        if isinstance(understood, Answer):
            write_event(transaction, _event_of(understood, request, event_clock))
    except (AnswerRefusedError, ConflictError) as exc:
        write_failure(transaction, request, str(exc), event_clock)
    else:
        if isinstance(understood, PendingAnswer):
            transaction.unreadable = transaction.unreadable or bool(understood.actions)
        offer(transaction, understood.actions)
        recount(transaction, event_clock.now())
    settle_granted_refund(request.granted_refund)


def offer(transaction: Transaction, actions: list[str] | None) -> None:
    """Replace what staff may do next; None keeps it."""
    if actions is not None:
        transaction.actions = sorted(set(actions))
