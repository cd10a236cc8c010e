"""When the worker next attends to an operation: nothing else changes ``Operation.next_poll_at``. Pure.

A new operation brings its first moment along. What is due is looked up at the gateway; one that waits is sent.
"""

from datetime import datetime

from app.core.payment import Operation, Payment
from app.core.vocabulary import Kind, State
from app.rules.schedule import Schedule


def start_call(operation: Operation, schedule: Schedule, now: datetime) -> None:
    """Turn an operation into an intent, to be sent now; without an outcome it is due once its call must be over."""
    operation.state, operation.updated_at = State.INTENT, now
    operation.next_poll_at = schedule.intent_deadline(now)


def make_due(operation: Operation, moment: datetime) -> None:
    """Have an operation attended to at this moment, however it stands."""
    operation.next_poll_at = moment


def look_up_order_after(operation: Operation, schedule: Schedule, now: datetime) -> None:
    """Have the whole order looked up once the notifications of what has just happened must have arrived."""
    operation.next_poll_at = schedule.next_order_look_up(now)


def end_look_ups(operation: Operation) -> None:
    """Look an operation up no more: it has ended and is confirmed, or only a person can say what it is."""
    operation.next_poll_at = None


def plan_look_up(payment: Payment, operation: Operation, schedule: Schedule, now: datetime) -> None:
    """Plan the look-up that the state of an operation calls for; none when it has ended, or waits for its turn."""
    operation.next_poll_at = _next_look_up(payment, operation, operation.state, schedule, now)


def plan_another_look_up(payment: Payment, operation: Operation, schedule: Schedule, now: datetime) -> None:
    """Plan the look-up after one that has settled nothing.

    One that has ended is looked up once more (see ``apply``): until that works, as often as one that is at the bank.
    """
    state = State.PENDING if operation.state.final else operation.state
    # The answer with the link may still arrive: the gateway's notification can overtake it.
    link_due = schedule.intent_deadline(payment.created_at)
    if state is State.INIT and payment.is_link_missing and now < link_due:
        operation.next_poll_at = link_due
    else:
        operation.next_poll_at = _next_look_up(payment, operation, state, schedule, now)


def _next_look_up(
    payment: Payment, operation: Operation, state: State, schedule: Schedule, now: datetime
) -> datetime | None:
    if operation.kind is Kind.DISPUTE and not operation.state.final:
        return schedule.next_dispute_poll(now)
    return schedule.next_poll(state, operation.polls, now, since=operation.updated_at, expires_at=payment.expires_at)
