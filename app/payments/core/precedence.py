"""Nothing overtakes what waits in the outbox: which event may be told, or answered, after which (laws of money, 5).

What Saleor hears of a payment is one queue, and the answer to a webhook is its next element. A failure that is told
after the success of the same operation takes the money off Saleor's books for good (Saleor contract, A.7). Pure.
"""

from collections.abc import Iterable

from app.db.tables import EventState, Operation, Payment, SaleorEvent
from app.payments.core.problems import clear, of_event
from app.saleor.answers import EventType

_FAILURE, _SUCCESS = "_FAILURE", "_SUCCESS"


def is_failure(event: SaleorEvent) -> bool:
    """Return True for an event that says that something was not done."""
    return event.type.endswith(_FAILURE)


def is_overtaken(event: SaleorEvent, others: Iterable[SaleorEvent]) -> bool:
    """Return True for a failure whose operation has succeeded after all, and Saleor has heard of that."""
    return has_succeeded(event, [each for each in others if each.state is EventState.DELIVERED])


def has_succeeded(event: SaleorEvent, others: Iterable[SaleorEvent]) -> bool:
    """Return True for a failure of an operation of whose success one of the other events tells."""
    success = event.type.replace(_FAILURE, _SUCCESS)
    return is_failure(event) and any(
        each.type == success and each.psp_reference == event.psp_reference for each in others
    )


def supersede_failures(payment: Payment, events: Iterable[SaleorEvent], success: EventType, reference: str) -> None:
    """Let the failures of an operation that Saleor has not heard of make way for its success.

    One that somebody has begun to tell can be on its way to Saleor: it stays where it is, before the success.
    """
    failure = success.value.replace(_SUCCESS, _FAILURE)
    for each in events:
        untold = each.state is EventState.REFUSED or (each.state is EventState.WAITING and each.attempts == 0)
        if untold and each.type == failure and each.psp_reference == reference:
            supersede(payment, each)


def supersede(payment: Payment, event: SaleorEvent) -> None:
    """Take an event out of the queue: what Saleor is told instead says more. Nor is it a problem any longer."""
    event.state, event.next_attempt_at = EventState.SUPERSEDED, None
    clear(payment, of_event(event))


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
