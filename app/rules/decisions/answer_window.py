"""While a Saleor webhook is being answered, no event of its operation is reported: the answer goes first (law 5).

Saleor ties the reported events of a charge, refund or cancelation to its own request by the reference that it has read
in the answer (Saleor contract, A.10). So the events of such an operation wait until the answer has been sent, and then
until Saleor is known to have read it (``app.worker.confirm_answers``).
"""

from datetime import datetime

from app.core.ids import PspReference
from app.core.payment import Operation, PaymentAggregate, SaleorEvent
from app.core.vocabulary import EventState, Kind
from app.i18n.messages import gettext_noop
from app.rules.balance import actions_to_offer
from app.rules.decision_context import DecisionContext, enqueue_note
from app.rules.event_queue import enqueue, has_available_actions
from app.rules.references import ensure_reference, new_reference, reference_of_pending
from saleor_app_sdk.responses import EventType

_PENDING = gettext_noop("The gateway has not reported the outcome yet: until then, only this can be done")
_REFUND_REBOOKED = gettext_noop("Saleor requested this refund again: it is recorded again, and no money moves")


def record_request(operation: Operation, key: str, digest: str, context: DecisionContext) -> None:
    """Record a webhook that requests an operation. Until it is answered, no event of the operation is reported."""
    operation.saleor_requests = [*operation.saleor_requests, {"key": key, "digest": digest}]
    operation.answer_awaited_until = context.now + context.schedule.answer_window


def mark_answered(aggregate: PaymentAggregate, operation: Operation, context: DecisionContext) -> None:
    """Release the events of an operation for the time when Saleor will have read the answer that is sent now."""
    if operation.answer_awaited_until is None:
        return
    due = context.now + context.schedule.first_reading_check
    operation.answer_awaited_until = min(operation.answer_awaited_until, due)
    _report_possible_actions(aggregate, operation, context)
    for event in events_of(aggregate, operation):
        if event.state is EventState.WAITING and event.next_attempt_at is not None:
            event.next_attempt_at = min(event.next_attempt_at, due)


def _report_possible_actions(aggregate: PaymentAggregate, operation: Operation, context: DecisionContext) -> None:
    """Withdraw the actions that an open outcome rules out: an asynchronous answer cannot do that (contract, A.10)."""
    if operation.state.final:
        return
    actions = actions_to_offer(aggregate)
    offered = next(
        (event.available_actions for event in reversed(aggregate.events) if has_available_actions(event)), None
    )
    if offered is None or set(offered) == set(actions):
        return
    enqueue_note(
        aggregate, _PENDING, context, reference=reference_of_pending(operation.idempotency_key), operation=operation
    )


def record_repeated_request(
    aggregate: PaymentAggregate, operation: Operation, key: str, digest: str, context: DecisionContext
) -> None:
    """Record that Saleor requests a granted refund again that is made or pending: it missed the report, or lost it.

    No money moves. The new request gets a reference of its own, under which the refund is reported from now on. The
    success reported under the old one is reversed first, so that Saleor books the refund once (Saleor contract, A.10).
    """
    old = ensure_reference(aggregate.payment, operation)
    unread = operation.answer_awaited_until is not None
    record_request(operation, key, digest, context)
    success = next(
        (
            event
            for event in events_of(aggregate, operation)
            if (event.type, event.psp_reference) == (EventType.REFUND_SUCCESS, old)
        ),
        None,
    )
    reported = success is not None and not unread and success.attempts > 0
    if success is not None and reported:
        _rebook_refund(aggregate, operation, success, context.now)
    else:
        change_reference(aggregate, operation, new_reference(Kind.REFUND.value))


def change_reference(aggregate: PaymentAggregate, operation: Operation, reference: PspReference) -> None:
    """Change the reference of an operation, and of its events that are still to be reported."""
    old, operation.psp_reference = operation.psp_reference, reference
    for event in events_of(aggregate, operation):
        if event.state not in {EventState.WAITING, EventState.REFUSED}:
            continue
        if event.psp_reference == old:
            event.psp_reference = reference
        elif event.psp_reference.startswith(f"{old}-"):  # the reference of a release is derived from it
            event.psp_reference = PspReference(reference + event.psp_reference.removeprefix(str(old)))


def take_back_refund(aggregate: PaymentAggregate, operation: Operation, message: str, now: datetime) -> None:
    """Tell Saleor that a refund which it has, or is about to hear of, has come back; nothing if it never hears of it.

    Whatever is reported of the refund from now on has another reference: Saleor drops a second success under the old
    one, and takes the money of a failure there away once more (Saleor contract, A.7).
    """
    heard_of = {EventState.WAITING, EventState.DELIVERED}
    told = (EventType.REFUND_SUCCESS, operation.psp_reference)
    for event in aggregate.events:
        if (event.type, event.psp_reference) == told and event.state in heard_of:
            _reverse(aggregate, operation, event, message, now)
            return


def _reverse(
    aggregate: PaymentAggregate, operation: Operation, success: SaleorEvent, message: str, now: datetime
) -> None:
    operation.psp_reference = new_reference(Kind.REFUND.value)
    enqueue(
        aggregate,
        EventType.REFUND_REVERSE,
        reference=success.psp_reference,
        amount=success.amount,
        message=message,
        actions=None,
        now=now,
        operation=operation,
    )


def _rebook_refund(aggregate: PaymentAggregate, operation: Operation, success: SaleorEvent, now: datetime) -> None:
    _reverse(aggregate, operation, success, _REFUND_REBOOKED, now)
    enqueue(
        aggregate,
        EventType.REFUND_SUCCESS,
        reference=ensure_reference(aggregate.payment, operation),
        amount=success.amount,
        message=success.message,
        actions=actions_to_offer(aggregate),
        now=now,
        operation=operation,
    )


def find_granted_refund(aggregate: PaymentAggregate, granted_refund_id: str) -> Operation | None:
    """Return the refund made or pending for a granted refund; None when there is none, or it failed."""
    refunds = [operation for operation in aggregate.operations if operation.granted_refund_id == granted_refund_id]
    return next((refund for refund in reversed(refunds) if not refund.has_surely_failed), None)


def events_of(aggregate: PaymentAggregate, operation: Operation) -> list[SaleorEvent]:
    """Return the events, sent and pending, of an operation that Saleor requested."""
    return [
        event for event in aggregate.events if event.operation_id is not None and event.operation_id == operation.id
    ]
