"""What must hold in every reachable state, and once everything has come to its end (laws of money)."""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

from app.core.payment import Operation, PaymentAggregate
from app.core.vocabulary import EventState, Flow, Kind, Origin, State
from app.rules.balance import balance, is_in_flight
from app.rules.problems import PAID_TWICE, has_problem, open_problems
from saleor_app_sdk.testing.vocabulary import Action, GrantedRefundStatus
from tests.model.world import TO_PAY, Attempt, World

ZERO = Decimal("0.00")
_REQUESTS = frozenset(action.request for action in Action)


def broken_laws(world: World) -> Iterator[str]:
    """Yield what does not hold in this state."""
    for attempt in world.attempts:
        yield from _broken_by_attempt(attempt)


def _broken_by_attempt(attempt: Attempt) -> Iterator[str]:
    aggregate, order = attempt.aggregate, attempt.order
    if aggregate is None:
        return
    operations = aggregate.operations
    if len([operation for operation in operations if is_in_flight(operation)]) > 1:
        yield "3: two operations are in flight"
    for operation_id, times in attempt.calls_made.items():
        if times > 1 and attempt.operation(operation_id).kind is not Kind.CANCEL:
            yield f"2: the gateway was called {times} times for one operation"
    for operation_id, record in attempt.carried_out.items():
        has_failed = attempt.operation(operation_id).state is State.FAILURE
        if has_failed and record.status != "failure" and not record.turned:
            yield f"2: a {record.method} has failed for us, and the gateway carries it out"
    asked = [event for event in attempt.transaction.events if event.type in _REQUESTS]
    made = [one for one in operations if one.requester is Origin.SALEOR and one.kind is not Kind.CREATE]
    if len(made) > len(asked):
        yield f"4: {len(asked)} operations were requested, and {len(made)} made"
    taken = [operation.psp_reference for operation in operations if operation.psp_reference is not None]
    if max(Counter(taken).values(), default=0) > 1:
        yield "9: two operations share a reference"
    amounts = attempt.transaction.amounts
    if any(record.turned for record in order.records):
        yield from _waiting_in_silence(attempt, aggregate)
        return  # what was true when Saleor was told need not be any more: the books are compared at the end
    if order.refunded > order.charged:
        yield "3: more was refunded than charged"
    if amounts.charged + amounts.refunded > order.charged:
        yield f"8: Saleor counts {amounts.charged + amounts.refunded} as charged, the gateway {order.charged}"
    if amounts.refunded > order.refunded:
        yield f"8: Saleor counts {amounts.refunded} as refunded, the gateway {order.refunded}"
    yield from _waiting_in_silence(attempt, aggregate)


def _waiting_in_silence(attempt: Attempt, aggregate: PaymentAggregate) -> Iterator[str]:
    under_way = {call.operation_id for call in attempt.calls}
    for operation in aggregate.operations:
        waits = not operation.state.final and operation.next_poll_at is None and operation.id not in under_way
        queued = operation.state is State.WAITING and any(map(is_in_flight, aggregate.operations))
        if waits and not queued and not open_problems(aggregate.payment):
            yield f"13: {operation.kind.value} waits in silence"
    for event in aggregate.events:
        if event.state is EventState.WAITING and event.next_attempt_at is None:
            yield "13: an event waits in silence"


def waits_for_people(world: World) -> bool:
    """Return whether all that has not ended is something that staff have been told of (laws of money, 13)."""
    known = [attempt.aggregate for attempt in world.attempts if attempt.aggregate is not None]
    waiting = [one for one in known if not all(operation.state.final for operation in one.operations)]
    return bool(waiting) and all(open_problems(one.payment) for one in waiting)


def unequal_books(world: World) -> Iterator[str]:
    """Yield what differs between the three books, once all that can happen by itself has happened."""
    for attempt in world.attempts:
        yield from _differences(attempt, world)
    paid = [
        attempt for attempt in world.attempts if attempt.order.charged + attempt.order.reserved > attempt.order.refunded
    ]
    total = sum((attempt.order.charged + attempt.order.reserved - attempt.order.refunded for attempt in paid), ZERO)
    for attempt in paid:
        assert attempt.aggregate is not None
        if len(paid) > 1 and total > TO_PAY and not has_problem(attempt.aggregate.payment, PAID_TWICE):
            yield "12: paid twice, and staff are not told"


def _unsettled_grant(attempt: Attempt, *, problems: bool) -> Iterator[str]:
    """A granted refund ends as the refund did; one that failed can be requested again."""
    granted = attempt.granted
    if granted is None or problems:
        return
    paid_out = [
        record
        for operation_id, record in attempt.carried_out.items()
        if attempt.operation(operation_id).granted_refund_id is not None and record.status == "success"
    ]
    if len(paid_out) > 1:
        yield "4: a granted refund was paid out twice"
    if granted.status is GrantedRefundStatus.PENDING:
        yield "5: a granted refund is pending for ever"
    if granted.status is not GrantedRefundStatus.SUCCESS and paid_out:
        yield f"5: a granted refund was paid out, and Saleor has it as {granted.status.value}"


def _is_lost_dispute(operation: Operation) -> bool:
    return operation.kind is Kind.DISPUTE and operation.state is State.SUCCESS


def _differences(attempt: Attempt, world: World) -> Iterator[str]:
    aggregate, order, amounts = attempt.aggregate, attempt.order, attempt.transaction.amounts
    if aggregate is None:
        return
    ours = balance(aggregate.payment.flow, aggregate.operations)
    problems = bool(open_problems(aggregate.payment))
    taken_back = sum((one.amount for one in aggregate.operations if _is_lost_dispute(one)), ZERO)
    books = {
        "charged": (
            order.charged - order.disputed,
            ours.charged - taken_back,
            amounts.charged + amounts.refunded,
        ),
        "refunded": (order.refunded, ours.refunded, amounts.refunded),
        "reserved": (order.reserved, ours.reserved, amounts.authorized if world.flow is Flow.AUTHORIZATION else ZERO),
    }
    for name, sums in books.items():
        if len(set(sums)) > 1 and not problems:
            yield f"books differ in what is {name}: gateway {sums[0]}, app {sums[1]}, Saleor {sums[2]}"
    pending = amounts.charge_pending, amounts.refund_pending, amounts.authorize_pending, amounts.cancel_pending
    if any(pending) and not problems:
        yield f"Saleor waits for ever: {pending}"
    yield from _unsettled_grant(attempt, problems=problems)
    still_open = [operation for operation in aggregate.operations if not operation.state.final]
    if still_open and not problems:
        yield f"13: {still_open[0].kind.value} never ends"
