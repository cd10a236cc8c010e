"""What Saleor must hear of a payment: one queue, told in the order in which it is written (laws of money, 5). Pure.

Nothing overtakes what waits in it, and the answer to a webhook is its next element. A failure that is told after the
success of the same operation takes the money off Saleor's books for good (Saleor contract, A.7). Notes are events that
change no amount, but tell staff where a payment stands and what Saleor may offer to do.
"""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any

from app.db.aggregates import PaymentAggregate, row_id_of
from app.db.tables import EventState, Operation, Payment, SaleorEvent
from app.payments.core.problems import clear, of_event
from app.saleor.answers import EventType
from app.telemetry import trace_id

_MESSAGE_LIMIT = 512  # Saleor contract, A.7: longer messages are cut there


def enqueue(
    aggregate: PaymentAggregate,
    event: EventType,
    *,
    reference: str,
    amount: Decimal,
    message: str,
    actions: list[str] | None,
    now: datetime,
    due: datetime | None = None,
    card: dict[str, Any] | None = None,
    of: Operation | None = None,
) -> None:
    """Add an event unless the same one is there already: Saleor knows an event by its type and its reference.

    ``of``: the operation of which it tells. While a webhook that asks for that is being answered, it waits.
    Saleor has no transaction of a trial or a payout, so there is nothing to tell.
    """
    if not aggregate.payment.is_saleors or any(
        each.type == event.value and each.psp_reference == reference for each in aggregate.events
    ):
        return
    make_way(aggregate.events, now, possible=actions is not None)
    if event.value.endswith("_SUCCESS"):
        supersede_failures(aggregate, event, reference, now)
    answered = now if of is None or of.answer_awaited_until is None else of.answer_awaited_until
    told = SaleorEvent(
        payment_id=row_id_of(aggregate.payment),
        installation_id=aggregate.payment.installation_id,
        type=event.value,
        psp_reference=reference,
        amount=amount,
        message=message[:_MESSAGE_LIMIT],
        available_actions=actions,
        card=card,
        state=EventState.WAITING,
        next_attempt_at=max(due or now, answered),
        created_at=now,
        trace_id=(None if of is None else of.trace_id) or trace_id(),
    )
    aggregate.events.append(told)
    if of is not None and of.saleor_requests:
        aggregate.tie(told, of)


def says_what_is_possible(event: SaleorEvent) -> bool:
    """Return True when it replaces what Saleor offers to do."""
    return event.available_actions is not None


def is_note(event: SaleorEvent) -> bool:
    """Return True for a note about where a payment stands, which is stale as soon as something newer is told."""
    return event.type == EventType.INFO and says_what_is_possible(event)


def make_way(events: Iterable[SaleorEvent], now: datetime, *, possible: bool) -> None:
    """Let the notes that nobody has begun to tell make way for an event that is about to follow them.

    ``possible``: it says what is possible, and so they are not needed any more. Else they are told at once, because
    what follows waits for them. One that somebody has begun to tell can be on its way to Saleor, and is left alone:
    what is newer must not overtake it there.
    """
    for each in events:
        if is_note(each) and each.state is EventState.WAITING and each.attempts == 0:
            each.state, each.next_attempt_at = (EventState.SUPERSEDED, None) if possible else (each.state, now)


_FAILURE, _SUCCESS = "_FAILURE", "_SUCCESS"


def is_failure(event: SaleorEvent) -> bool:
    """Return True for an event that says that something was not done."""
    return event.type.endswith(_FAILURE)


def is_overtaken(event: SaleorEvent, others: Iterable[SaleorEvent]) -> bool:
    """Return True for a failure whose operation has succeeded after all, and Saleor has heard of that."""
    return has_succeeded(event, [each for each in others if each.state is EventState.DELIVERED])


def has_succeeded(event: SaleorEvent, others: Iterable[SaleorEvent]) -> bool:
    """Return True for a failure of an operation of whose success one of the other events tells."""
    success = event.type.removesuffix(_FAILURE) + _SUCCESS
    return any(each.type == success and each.psp_reference == event.psp_reference for each in others)


def supersede_failures(aggregate: PaymentAggregate, success: EventType, reference: str, now: datetime) -> None:
    """Let the failures of an operation that Saleor has not heard of make way for its success.

    One that somebody has begun to tell can be on its way to Saleor: it stays where it is, before the success.
    """
    failure = success.value.replace(_SUCCESS, _FAILURE)
    for each in aggregate.events:
        untold = each.state is EventState.REFUSED or (each.state is EventState.WAITING and each.attempts == 0)
        if untold and each.type == failure and each.psp_reference == reference:
            supersede(aggregate.payment, each, now)


def supersede(payment: Payment, event: SaleorEvent, now: datetime) -> None:
    """Take an event out of the queue: what Saleor is told instead says more. Nor is it a problem any longer."""
    event.state, event.next_attempt_at = EventState.SUPERSEDED, None
    clear(payment, of_event(event), now)


def success_must_wait(operation: Operation, events: Iterable[SaleorEvent]) -> bool:
    """Return True while an answer must not say yet that ``operation`` has succeeded.

    A failure of it can be on its way to Saleor; or it is told that the money is booked under another reference now.
    """
    return any(
        each.state is EventState.WAITING
        and (
            (is_failure(each) and each.psp_reference == operation.psp_reference)
            or (each.type == EventType.REFUND_REVERSE and each.operation_id == operation.id)
        )
        for each in events
    )
