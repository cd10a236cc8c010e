"""The queue of a payment's events for Saleor, which are reported in the order in which they are added. Pure.

No event overtakes a waiting one, and the answer to a webhook is the queue's next element (laws of money, 5). A failure
that is reported after the success of the same operation removes the money from Saleor's books for good (Saleor
contract, A.7). Notes are events that change no amount, but show staff the payment's status and the actions that Saleor
may offer.
"""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any

from app.core.ids import PspReference
from app.core.payment import Operation, Payment, PaymentAggregate, SaleorEvent
from app.core.vocabulary import EventState
from app.rules.problems import cause_of_refused_event, clear_problem
from app.rules.references import is_release
from saleor_app_sdk.responses import EventType

_MESSAGE_LIMIT = 512  # Saleor contract, A.7: longer messages are cut there


def enqueue(
    aggregate: PaymentAggregate,
    event: EventType,
    *,
    reference: PspReference,
    amount: Decimal,
    message: str,
    actions: list[str] | None,
    now: datetime,
    due: datetime | None = None,
    card: dict[str, Any] | None = None,
    operation: Operation | None = None,
) -> None:
    """Add an event unless the same one is there already: Saleor identifies an event by its type and reference.

    ``operation``: the operation that it reports. While a webhook that requests this operation is being answered, the
    event waits. Saleor has no transaction of a trial or a payout, so for these nothing is added.
    """
    if not aggregate.payment.is_known_to_saleor or any(
        known.type == event.value and known.psp_reference == reference for known in aggregate.events
    ):
        return
    supersede_notes(aggregate.events, now, has_actions=actions is not None)
    if event.value.endswith("_SUCCESS"):
        supersede_failures(aggregate, event, reference, now)
    answered_until = (
        now if operation is None or operation.answer_awaited_until is None else operation.answer_awaited_until
    )
    queued = SaleorEvent(
        type=event.value,
        psp_reference=reference,
        amount=amount,
        message=message[:_MESSAGE_LIMIT],
        available_actions=actions,
        card=card,
        state=EventState.WAITING,
        next_attempt_at=max(due or now, answered_until),
        created_at=now,
        trace_id=None if operation is None else operation.trace_id,
    )
    aggregate.events.append(queued)
    if operation is not None and operation.saleor_requests:
        aggregate.link(queued, operation)


def has_available_actions(event: SaleorEvent) -> bool:
    """Return True when the event replaces the actions that Saleor offers."""
    return event.available_actions is not None


def is_note(event: SaleorEvent) -> bool:
    """Return True for a note about a payment's status, which is stale as soon as a newer event is reported."""
    return event.type == EventType.INFO and has_available_actions(event)


def has_unreported_money(events: Iterable[SaleorEvent]) -> bool:
    """Return True when Saleor has not been told yet of an event that changes its amounts."""
    return any(event.state is EventState.WAITING and event.type != EventType.INFO for event in events)


def supersede_notes(events: Iterable[SaleorEvent], now: datetime, *, has_actions: bool) -> None:
    """Supersede the notes of which no delivery was attempted, before a further event is added.

    ``has_actions``: the further event has the available actions, so the notes are not needed any more. Otherwise they
    become due at once, because the further event waits for them. A note with a delivery attempt can be on its way to
    Saleor, and is left alone: a newer event must not overtake it there.
    """
    for event in events:
        if is_note(event) and event.state is EventState.WAITING and event.attempts == 0:
            event.state, event.next_attempt_at = (EventState.SUPERSEDED, None) if has_actions else (event.state, now)


_FAILURE, _SUCCESS = "_FAILURE", "_SUCCESS"


def is_failure(event: SaleorEvent) -> bool:
    """Return True for an event that reports a failure."""
    return event.type.endswith(_FAILURE)


def is_outdated_failure(event: SaleorEvent, others: Iterable[SaleorEvent]) -> bool:
    """Return True for a failure whose operation has succeeded after all, if that success was delivered to Saleor.

    What takes back the release of a reservation is told although the release was.
    """
    if is_release(event.psp_reference):
        return False
    return has_matching_success(event, [other for other in others if other.state is EventState.DELIVERED])


def has_matching_success(event: SaleorEvent, others: Iterable[SaleorEvent]) -> bool:
    """Return True for a failure of an operation whose success is reported by one of the other events."""
    success = event.type.removesuffix(_FAILURE) + _SUCCESS
    return any(other.type == success and other.psp_reference == event.psp_reference for other in others)


def supersede_failures(aggregate: PaymentAggregate, success: EventType, reference: PspReference, now: datetime) -> None:
    """Supersede the failures of an operation that Saleor has not received, before its success is added.

    A failure with a delivery attempt can be on its way to Saleor: it stays in the queue, before the success.
    """
    failure = success.value.replace(_SUCCESS, _FAILURE)
    for event in aggregate.events:
        unreported = event.state is EventState.REFUSED or (event.state is EventState.WAITING and event.attempts == 0)
        if unreported and event.type == failure and event.psp_reference == reference:
            supersede(aggregate.payment, event, now)


def supersede(payment: Payment, event: SaleorEvent, now: datetime) -> None:
    """Take an event out of the queue, because a newer one replaces it; clear the problem if Saleor had refused it."""
    event.state, event.next_attempt_at = EventState.SUPERSEDED, None
    clear_problem(payment, cause_of_refused_event(event), now)


def should_delay_success(operation: Operation, events: Iterable[SaleorEvent]) -> bool:
    """Return True while an answer must not report yet that ``operation`` has succeeded.

    A failure of it can be on its way to Saleor; or a waiting event reports that the money is now booked under another
    reference.
    """
    return any(
        event.state is EventState.WAITING
        and (
            (is_failure(event) and event.psp_reference == operation.psp_reference)
            or (event.type == EventType.REFUND_REVERSE and event.operation_id == operation.id)
        )
        for event in events
    )
