"""What must hold in every reachable state, and once everything has come to its end (laws of money)."""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

from app.core.payment import Operation, PaymentAggregate
from app.core.vocabulary import EventState, Flow, Kind, Origin, State
from app.rules.balance import balance, is_in_flight
from app.rules.problems import PAID_TWICE, has_problem, open_problems
from saleor_app_sdk.testing.vocabulary import GrantedRefundStatus
from tests.model.world import ACTION_KEY, TO_PAY, Attempt, World

ZERO = Decimal("0.00")


def broken_laws(world: World) -> Iterator[str]:
    """Yield what does not hold in this state."""
    for attempt in world.attempts:
        yield from _broken_by_attempt(attempt)
        yield from _open_pages(attempt, world)


def _broken_by_attempt(attempt: Attempt) -> Iterator[str]:
    aggregate = attempt.aggregate
    if aggregate is None:
        return
    yield from _broken_by_calls(attempt, aggregate)
    yield from _broken_by_requests(attempt, aggregate)
    yield from _broken_by_reports(attempt, aggregate)
    if not any(record.turned for record in attempt.order.records):
        # Else what was true when Saleor was told need not be any more: the books are compared at the end.
        yield from _broken_by_sums(attempt)
    yield from _waiting_in_silence(attempt, aggregate)


def _broken_by_calls(attempt: Attempt, aggregate: PaymentAggregate) -> Iterator[str]:
    if len([operation for operation in aggregate.operations if is_in_flight(operation)]) > 1:
        yield "3: two operations are in flight"
    for operation_id, times in attempt.calls_made.items():
        if times > 1 and attempt.operation(operation_id).kind is not Kind.CANCEL:
            yield f"2: the gateway was called {times} times for one operation"
    for operation_id, record in attempt.carried_out.items():
        has_failed = attempt.operation(operation_id).state is State.FAILURE
        if has_failed and record.status != "failure" and not record.turned:
            yield f"2: a {record.method} has failed for us, and the gateway carries it out"


def _broken_by_requests(attempt: Attempt, aggregate: PaymentAggregate) -> Iterator[str]:
    asked = [event for event in attempt.transaction.events if (event.idempotency_key or "").startswith(ACTION_KEY)]
    made = [one for one in aggregate.operations if one.requester is Origin.SALEOR and one.kind is not Kind.CREATE]
    if len(made) > len(asked):
        yield f"4: {len(asked)} operations were requested, and {len(made)} made"
    taken = [operation.psp_reference for operation in aggregate.operations if operation.psp_reference is not None]
    if max(Counter(taken).values(), default=0) > 1:
        yield "9: two operations share a reference"


def _broken_by_reports(attempt: Attempt, aggregate: PaymentAggregate) -> Iterator[str]:
    for operation in aggregate.operations:
        turns = operation.kind is Kind.DISPUTE or operation.state is State.SUCCESS
        if not turns and _is_told(aggregate, operation):
            yield f"7: a {operation.kind.value} that Saleor was told of is {operation.state.value} again"
    succeeded = set[tuple[str, str | None]]()
    for event in attempt.transaction.events:
        what, _, outcome = event.type.value.partition("_")
        if outcome == "SUCCESS":
            succeeded.add((what, event.psp_reference))
        elif outcome == "FAILURE" and event.counts and (what, event.psp_reference) in succeeded:
            yield f"5: Saleor was told of a failed {what.lower()} after its success"


def _broken_by_sums(attempt: Attempt) -> Iterator[str]:
    order, amounts = attempt.order, attempt.transaction.amounts
    if order.refunded > order.charged:
        yield "3: more was refunded than charged"
    if amounts.charged < ZERO and not order.disputed:
        yield f"10: Saleor counts {amounts.charged} as charged"
    if amounts.charged + amounts.refunded > order.charged:
        yield f"8: Saleor counts {amounts.charged + amounts.refunded} as charged, the gateway {order.charged}"
    if amounts.refunded > order.refunded:
        yield f"8: Saleor counts {amounts.refunded} as refunded, the gateway {order.refunded}"


def _open_pages(attempt: Attempt, world: World) -> Iterator[str]:
    """A page on which nobody shall pay any more is closed, or is being closed."""
    aggregate, payment = attempt.aggregate, attempt.order.payment
    if aggregate is None or payment is None or payment.status != "init":
        return
    is_closing = any(one.kind is Kind.CANCEL and not one.state.final for one in aggregate.operations)
    if is_closing or open_problems(aggregate.payment):
        return
    if aggregate.create.state is State.FAILURE:
        yield "2: a page is open that has failed for Saleor, and is not being closed"
    others = [other.aggregate for other in world.attempts if other is not attempt and other.aggregate is not None]
    is_shown = aggregate.create.state is State.INIT and aggregate.payment.attempts_due_at is None
    if is_shown and any(_is_covered_by(other) for other in others):
        yield "12: a page is open beside an attempt that is paid, and is not being closed"


def _is_covered_by(other: PaymentAggregate) -> bool:
    return other.create.state is State.SUCCESS and other.payment.attempts_due_at is None


def _is_told(aggregate: PaymentAggregate, operation: Operation) -> bool:
    """Return whether the success of an operation was reported, or is to be."""
    return any(
        (event.operation_id == operation.id or event.psp_reference == operation.psp_reference)
        and event.type.endswith("_SUCCESS")
        and event.state is not EventState.SUPERSEDED
        for event in aggregate.events
    )


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
    paid = [attempt for attempt in world.attempts if _held(attempt) > ZERO]
    total = sum(map(_held, paid), ZERO)
    for attempt in paid:
        assert attempt.aggregate is not None
        if len(paid) > 1 and total > TO_PAY and not has_problem(attempt.aggregate.payment, PAID_TWICE):
            yield "12: paid twice, and staff are not told"


def _held(attempt: Attempt) -> Decimal:
    order = attempt.order
    return order.charged + order.reserved - order.refunded - order.disputed


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
