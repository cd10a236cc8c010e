"""While a webhook of Saleor's is being answered, nothing of its operation is told: the answer goes first (law 5).

Saleor ties what it is told of a charge, refund or cancelation to its own request by the reference that it has read in
the answer (Saleor contract, A.10). So the events of such an operation wait until the answer is out; and then until
Saleor is known to have read it (``app.worker.read_answers``).
"""

from datetime import datetime

from app.db.aggregates import PaymentAggregate
from app.db.tables import EventState, Kind, Operation, SaleorEvent, State
from app.i18n.messages import gettext_noop
from app.payments.core.apply import Posting, note
from app.payments.core.balance import balance
from app.payments.core.event_queue import enqueue, says_what_is_possible
from app.payments.core.references import keep_reference, new_reference, reference_of_pending
from app.saleor.answers import EventType

_PENDING = gettext_noop("The gateway has not said yet what became of it: this is all that can be done meanwhile")
_TAKEN_BACK = gettext_noop("Saleor asked for this refund once more: it is booked anew, and no money moves")


def asked_by(operation: Operation, key: str, digest: str, posting: Posting) -> None:
    """Note a webhook by which Saleor asks for an operation. Until it is answered nothing of the operation is told."""
    operation.saleor_requests = [*operation.saleor_requests, {"key": key, "digest": digest}]
    operation.answer_awaited_until = posting.now + posting.schedule.answer_window


def answered(aggregate: PaymentAggregate, operation: Operation, posting: Posting) -> None:
    """Let what is to be told of an operation be told once Saleor has had time to read the answer that it gets now."""
    if operation.answer_awaited_until is None:
        return
    due = posting.now + posting.schedule.reading
    operation.answer_awaited_until = min(operation.answer_awaited_until, due)
    _say_what_is_possible(aggregate, operation, posting)
    for event in events_of(aggregate, operation):
        if event.state is EventState.WAITING and event.next_attempt_at is not None:
            event.next_attempt_at = min(event.next_attempt_at, due)


def _say_what_is_possible(aggregate: PaymentAggregate, operation: Operation, posting: Posting) -> None:
    """Withdraw what Saleor offers while an outcome is open: an asynchronous answer cannot say it (contract, A.10)."""
    if operation.state.final:
        return
    actions = [each.value for each in balance(aggregate.payment.flow, aggregate.operations).actions]
    offered = next((each.available_actions for each in reversed(aggregate.events) if says_what_is_possible(each)), None)
    if offered is None or set(offered) == set(actions):
        return
    note(aggregate, _PENDING, posting, reference=reference_of_pending(operation.idempotency_key), of=operation)


def ask_again(aggregate: PaymentAggregate, operation: Operation, key: str, digest: str, posting: Posting) -> None:
    """Saleor asks anew for a granted refund that is made, or on its way: it has not heard of it, or has lost it.

    No money moves. The new request gets a reference of its own, under which the refund is told from now on. What was
    told under the old one is taken back first, so that Saleor books the refund once (Saleor contract, A.10).
    """
    old = keep_reference(aggregate.payment, operation)
    unread = operation.answer_awaited_until is not None
    asked_by(operation, key, digest, posting)
    success = next(
        (
            each
            for each in events_of(aggregate, operation)
            if (each.type, each.psp_reference) == (EventType.REFUND_SUCCESS, old)
        ),
        None,
    )
    told = success is not None and not unread and (success.state is EventState.DELIVERED or success.attempts > 0)
    if success is not None and told:
        operation.psp_reference = new_reference(Kind.REFUND.value)
        _book_anew(aggregate, operation, success, posting.now)
    else:
        rename(aggregate, operation, new_reference(Kind.REFUND.value))


def rename(aggregate: PaymentAggregate, operation: Operation, reference: str) -> None:
    """Let an operation, and what is still to be told of it, have another reference."""
    old, operation.psp_reference = operation.psp_reference, reference
    for event in events_of(aggregate, operation):
        if event.state not in {EventState.WAITING, EventState.REFUSED}:
            continue
        if event.psp_reference == old:
            event.psp_reference = reference
        elif event.psp_reference.startswith(f"{old}-"):  # what its release is told under is made of it
            event.psp_reference = reference + event.psp_reference.removeprefix(str(old))


def _book_anew(aggregate: PaymentAggregate, operation: Operation, told: SaleorEvent, now: datetime) -> None:
    enqueue(
        aggregate,
        EventType.REFUND_REVERSE,
        reference=told.psp_reference,
        amount=told.amount,
        message=_TAKEN_BACK,
        actions=None,
        now=now,
        of=operation,
    )
    enqueue(
        aggregate,
        EventType.REFUND_SUCCESS,
        reference=keep_reference(aggregate.payment, operation),
        amount=told.amount,
        message=told.message,
        actions=[each.value for each in balance(aggregate.payment.flow, aggregate.operations).actions],
        now=now,
        of=operation,
    )


def refund_of(aggregate: PaymentAggregate, granted_refund_id: str) -> Operation | None:
    """Return the refund that was made, or is on its way, for what staff granted; None: there is none, or it failed."""
    of_it = [each for each in aggregate.operations if each.granted_refund_id == granted_refund_id]
    return next((each for each in reversed(of_it) if each.state is not State.FAILURE), None)


def events_of(aggregate: PaymentAggregate, operation: Operation) -> list[SaleorEvent]:
    """Return what Saleor was and will be told of an operation that it asked for."""
    return [each for each in aggregate.events if each.operation_id is not None and each.operation_id == operation.id]
