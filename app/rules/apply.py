"""Applies gateway records to a payment: updates operation states and enqueues events for Saleor, all in one commit.

Nothing here reads or writes anything but the aggregate it is given; the caller holds the payment's lock and commits.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from app.core.payment import Operation, Payment, PaymentAggregate
from app.core.vocabulary import Kind, State
from app.rules.balance import balance, is_overdrawn, status_of, update_booking
from app.rules.decision_context import DecisionContext, enqueue_note, flag_unexplained, raise_problem, report_operation
from app.rules.details import Details, forget_decline, payment_method_to_row, update_details
from app.rules.disputes import flag_disputes_paid_back_twice, report_dispute, report_returned_money
from app.rules.external_operations import (
    amount_left_for,
    clear_charged_on,
    clear_overdrawn,
    clear_partial_release,
    flag_charged_after_end,
    flag_made_after_all,
    flag_other_payment,
    flag_overdrawn,
    flag_rounded_by_saleor,
    flag_unexplained_attempt,
    flag_unknown_status,
    is_more_than_left,
    leaves_rest,
    new_external_operation,
    payer_fee_on,
    waits_for_charge,
)
from app.rules.mapper import (
    Observation,
    Transition,
    compute_transition,
    event_type_of,
    expectation_of,
    update_shopper_turn,
)
from app.rules.newer_try import update_newer_try
from app.rules.observation import (
    UnexplainedMoney,
    bind_attempt,
    find_matching_operation,
    is_first_charge,
    is_ours,
    is_superseded_attempt,
    normalize_observation,
    posting_order,
)
from app.rules.order_standing import flag_late_test_money
from app.rules.page_cancellation import conclude_cancellations, is_retried_until_confirmed, reason_of_closing
from app.rules.problems import (
    cause_of_dispute,
    cause_of_mismatch,
    cause_of_overdue_operation,
    clear_mismatches,
    clear_problem,
    clear_returned_money,
)
from app.rules.references import reference_of_note, reference_of_problem
from app.rules.releases import (
    correct_released_rest,
    end_doubt_of_released,
    is_failure_of_released,
    report_released_rest,
    take_over_release,
)
from app.rules.saved_cards import update_cards
from app.rules.schedule import end_look_ups, look_up_order_after, make_due, plan_look_up
from app.rules.split.choice import update_choice
from app.rules.subscription import is_of_unknown_payment


def apply(aggregate: PaymentAggregate, records: Sequence[Observation], context: DecisionContext) -> None:
    """Post ``records`` of one gateway order to its payment.

    A record belongs to the operation with its id; otherwise to an operation of the same kind and amount whose id is
    not known yet; otherwise it was requested outside this app (laws of money, 10), and gets an operation of its own.
    """
    repeated, arrived_at = [], context.arrived_at or context.now
    for record in sorted(records, key=posting_order):
        seen = normalize_observation(aggregate, record, arrived_at)
        if seen.kind is Kind.RECURRING and aggregate.payment.recurring_id is None:
            if seen.state is State.SUCCESS:
                money = UnexplainedMoney("recurrent", seen.amount, seen.currency, seen.gateway_id)
                flag_unexplained(aggregate, money, context.now)
            continue
        if is_superseded_attempt(aggregate, seen, records, is_single_record=context.is_single_record):
            flag_unexplained_attempt(aggregate, seen, context.now)
            continue
        if is_failure_of_released(aggregate, seen, records):
            continue
        if is_first_charge(aggregate, seen, arrived_at):
            _bind_first_charge(aggregate, seen, context)
        operation = find_matching_operation(aggregate, seen, context.answered_operation_id)
        if operation is not None:
            _post_known_operation(aggregate, operation, seen, context)
            repeated.append((operation, seen))
        elif is_of_unknown_payment(aggregate, seen.payment_id, seen.kind):
            flag_other_payment(aggregate, seen, context)
        else:
            _post_external_operation(aggregate, seen, context)
    report_returned_money(aggregate, context)
    correct_released_rest(aggregate, context)
    report_released_rest(aggregate, context)
    clear_overdrawn(aggregate, context.now)
    clear_partial_release(aggregate, context.now)
    end_doubt_of_released(aggregate, context.now)
    conclude_cancellations(aggregate, context)
    for operation, seen in repeated:  # last: what has given a payment back may explain its status
        flag_unknown_status(aggregate, operation, seen, context.now)
    _wake_next_operation(aggregate, context.now)


def conclude(
    aggregate: PaymentAggregate,
    operation: Operation,
    state: State,
    context: DecisionContext,
    *,
    message: str,
    shopper_message: str = "",
    status_code: str | None = None,
    inferred: bool = False,
) -> None:
    """Set ``operation`` to a ``state`` that we conclude ourselves: refused, not sent, unknown, or settled by silence.

    Does nothing when the gateway has already reported a later state: its notification can overtake its response.
    """
    before = operation.state
    if before.rank >= state.rank:
        return
    operation.state = state
    operation.inferred = inferred
    operation.message = message
    operation.shopper_message = shopper_message or operation.shopper_message
    operation.status_code = status_code or operation.status_code
    _reschedule(aggregate.payment, operation, context)
    _book(aggregate, operation, context)
    event = event_type_of(operation.kind, aggregate.payment.flow, state)
    if event is not None and operation.kind is not Kind.DISPUTE:
        report_operation(aggregate, operation, event, context, amount=operation.amount, message=message)
    _flag_consequences(aggregate, operation, before, context)
    conclude_cancellations(aggregate, context)
    _wake_next_operation(aggregate, context.now)


def withdraw_contradiction(
    aggregate: PaymentAggregate, operation: Operation, message: str, context: DecisionContext
) -> None:
    """End the contradiction about an operation that staff have settled or reviewed, and tell Saleor what is possible.

    The state stays what it is; a new one is reported with the actions anyway.
    """
    if not operation.contradicted:
        return
    operation.contradicted = False
    _book(aggregate, operation, context)
    reference = reference_of_problem(aggregate.payment.order_id, f"{operation.id} {context.now.isoformat()}")
    enqueue_note(aggregate, message, context, reference=reference)


def _post_known_operation(
    aggregate: PaymentAggregate, operation: Operation, seen: Observation, context: DecisionContext
) -> None:
    """Post a record of an operation that is known already, or that is matched to one of ours.

    Matched to ours by its amount only, the record may be of an identical operation from outside. And when an operation
    ends, the notification of an outside operation may have been lost. And the turns of a dispute may arrive in another
    order than they happened. And the first charge of a subscription that we hear of may be a later one. Looking up the
    whole order settles all of this (7, 10).
    """
    before, bound = operation.state, operation.operation_id is not None
    transition = _transition(aggregate, operation, seen)
    _post(aggregate, operation, transition, seen, context)
    if seen.kind is Kind.CREATE and transition.problem is None:
        update_cards(aggregate, seen.card, context.seal_token, context.now, ended=transition.state)
    matched_by_amount = not bound and operation.operation_id is not None
    ended = operation.state.final and not before.final and is_ours(operation)
    turned = operation.kind is Kind.DISPUTE and before.final and operation.state is not before
    overdrawn = operation.state is not before and _is_overdrawn(aggregate)
    beyond = is_more_than_left(transition.problem) or waits_for_charge(aggregate, operation, context)
    is_unsure = matched_by_amount or ended or turned or overdrawn or beyond
    if operation.kind is Kind.CREATE:
        is_unsure = ended and seen.subscription is not None
    if context.is_single_record and is_unsure:
        look_up_order_after(operation, context.schedule, context.now)


def _post_external_operation(aggregate: PaymentAggregate, seen: Observation, context: DecisionContext) -> None:
    """Post an operation that was requested outside this app.

    A record that cannot be right only raises a problem: as an operation it would be in flight for ever. What would move
    more than was left is kept as one that has perhaps succeeded: its money must not be used again.
    """
    operation = new_external_operation(aggregate, seen, context)
    transition = _transition(aggregate, operation, seen)
    if transition.state is not None or is_more_than_left(transition.problem):
        aggregate.operations.append(operation)
    _post(aggregate, operation, transition, seen, context)
    is_last = operation.kind is Kind.RECURRING and operation.state.final
    is_beyond = _is_overdrawn(aggregate) or is_more_than_left(transition.problem)
    is_unsure = is_last or is_beyond or leaves_rest(aggregate) or waits_for_charge(aggregate, operation, context)
    if is_unsure and context.is_single_record:
        # The notification of what came before it may be lost or late: looking up the whole order shows it.
        look_up_order_after(operation, context.schedule, context.now)


def _transition(aggregate: PaymentAggregate, operation: Operation, seen: Observation) -> Transition:
    left, fee = amount_left_for(aggregate, operation), payer_fee_on(aggregate, operation)
    return compute_transition(expectation_of(aggregate.payment, operation, payer_fee=fee, left=left), seen)


def _is_overdrawn(aggregate: PaymentAggregate) -> bool:
    return is_overdrawn(aggregate.payment.flow, aggregate.operations)


def _bind_first_charge(aggregate: PaymentAggregate, seen: Observation, context: DecisionContext) -> None:
    """Bind the payment to the first charge of its subscription, and book as a later one what it was bound to."""
    create = aggregate.create
    assert create.operation_id is not None  # noqa: S101 - of the caller
    later = replace(
        seen,
        kind=Kind.RECURRING,
        flow=None,
        amount=create.amount,
        paid=None,
        gateway_id=create.operation_id,
        payment_id=None,
        details=Details.from_row(create.details),
    )
    create.operation_id, create.details, create.booked_at = seen.gateway_id, {}, None
    _post_external_operation(aggregate, later, context)


def _post(
    aggregate: PaymentAggregate,
    operation: Operation,
    transition: Transition,
    seen: Observation,
    context: DecisionContext,
) -> None:
    payment, before = aggregate.payment, operation.state
    behind = transition.problem is not None or seen.state.rank < before.rank
    if transition.state is State.SUCCESS:
        forget_decline(operation)
    update_details(operation, seen.details, behind=behind)
    if transition.problem is not None:
        _post_mismatch(aggregate, operation, transition, seen, context)
    if transition.state is None:
        _book(aggregate, operation, context)  # its fee may arrive late
        if transition.problem is None:
            _post_repeated(aggregate, operation, seen, context)
        return
    if transition.state.final:
        clear_mismatches(payment, operation.id, seen.gateway_id, context.now)
    message = reason_of_closing(aggregate, seen) or seen.message
    _take_over(aggregate, operation, transition, seen)
    operation.message = message
    _reschedule(payment, operation, context)
    _book(aggregate, operation, context)
    take_over_release(aggregate, operation)
    is_told_later = operation.kind is Kind.DISPUTE or waits_for_charge(aggregate, operation, context)
    if transition.event is not None and not is_told_later:
        card = payment_method_to_row(seen.method)
        report_operation(
            aggregate, operation, transition.event, context, amount=operation.amount, message=message, card=card
        )
    elif operation.kind is Kind.CREATE and before is State.INIT:
        # Saleor still offers to cancel the payment, which the gateway would now refuse.
        reference = reference_of_note(payment.order_id, operation.state)
        enqueue_note(aggregate, message, context, reference=reference)
    _flag_consequences(aggregate, operation, before, context)


def _take_over(aggregate: PaymentAggregate, operation: Operation, transition: Transition, seen: Observation) -> None:
    """Take the new state of an operation over from a record, with what explains it."""
    assert transition.state is not None  # noqa: S101 - of the caller
    # The shopper has already seen why it failed; when the gateway confirms the failure, that message stays (4).
    already_reported = operation.state is transition.state and operation.status_code is not None
    operation.state = transition.state
    operation.inferred = operation.contradicted = False
    bind_attempt(aggregate, operation, seen, transition.state)
    operation.waits_for_shopper = seen.waits_for_shopper
    aggregate.payment.redirect_url = seen.action_url or aggregate.payment.redirect_url
    if not already_reported:
        operation.status_code = seen.status_code  # of this state: an earlier one's code would explain it wrongly
        operation.shopper_message = seen.shopper_message or operation.shopper_message
    if transition.amount is not None:
        operation.amount = transition.amount


def _flag_consequences(
    aggregate: PaymentAggregate, operation: Operation, before: State, context: DecisionContext
) -> None:
    """Show staff what the new state of an operation means for the money of the others, and for Saleor's amounts."""
    if operation.state is State.SUCCESS:
        flag_rounded_by_saleor(aggregate, operation, context.now)
        flag_charged_after_end(aggregate, operation, context.now)
        flag_late_test_money(aggregate, operation, context.now)
    if operation.kind is Kind.DISPUTE:
        report_dispute(aggregate, operation, context)
    elif before is State.FAILURE and operation.state is State.SUCCESS:
        flag_made_after_all(aggregate, operation, context.now)
    elif is_ours(operation) and operation.state is State.SUCCESS and operation.kind is not Kind.CREATE:
        # What was paid or charged may be heard of after what was given back of it.
        flag_overdrawn(aggregate, operation, context.now)
    if operation.kind is Kind.REFUND:
        flag_disputes_paid_back_twice(aggregate, context)
        update_choice(aggregate, operation, before)


def _post_repeated(
    aggregate: PaymentAggregate, operation: Operation, seen: Observation, context: DecisionContext
) -> None:
    """Post a record that leaves the state of its operation as it is."""
    payment = aggregate.payment
    if operation.decision is not None and seen.state is operation.state:
        operation.operation_id = operation.operation_id or seen.gateway_id  # staff settled it before it was named
    if operation.state is seen.state is State.PENDING:
        bind_attempt(aggregate, operation, seen, seen.state)
    update_newer_try(payment, operation, seen, context)
    turn = operation.waits_for_shopper
    update_shopper_turn(payment, operation, seen)
    if operation.waits_for_shopper is not turn and payment.has_rivals:
        payment.attempts_due_at = context.now


def _post_mismatch(
    aggregate: PaymentAggregate,
    operation: Operation,
    transition: Transition,
    seen: Observation,
    context: DecisionContext,
) -> None:
    """Raise the problem of a record; unless staff have judged that record, it can be in doubt how the operation ended.

    Saleor is then told what is possible nevertheless. Polling does not resolve a mismatch. A person must look; the
    problem stays until the operation has ended (13).
    """
    payment, known, issue = aggregate.payment, operation.contradicted, transition.problem
    assert issue is not None  # noqa: S101 - of the caller
    is_beyond = is_more_than_left(issue)
    end_look_ups(operation)
    if is_beyond and operation.state is not State.SUCCESS:
        operation.state = State.FAILURE  # nothing waits for it, but it has perhaps succeeded
    elif operation.state is State.INTENT:
        operation.state = State.UNKNOWN  # the call is over, and its outcome is not known
    offered = balance(payment.flow, aggregate.operations).actions
    operation.contradicted = known or transition.contradicted
    possible = balance(payment.flow, aggregate.operations).actions
    actions = None if possible == offered else [action.value for action in possible]
    # What others did may not have a row yet by which it could be known.
    cause = cause_of_mismatch(issue, None if is_beyond else operation.id, seen.gateway_id)
    problem = raise_problem(aggregate, issue, context.now, cause=cause, actions=actions)
    if is_beyond:
        aggregate.link(problem, operation)
    if problem.acknowledged_at is not None:
        operation.contradicted = known
    if operation.contradicted and operation.kind is Kind.CREATE and payment.has_rivals:
        payment.attempts_due_at = context.now


def _book(aggregate: PaymentAggregate, operation: Operation, context: DecisionContext) -> None:
    """Update the booking of an operation, for the daily sums, and the status of the payment, for the payment list."""
    update_booking(aggregate.payment, operation, context.arrived_at or context.now)
    aggregate.payment.status = status_of(aggregate.payment.flow, aggregate.operations)


def _wake_next_operation(aggregate: PaymentAggregate, now: datetime) -> None:
    """Clear the problems that have ended; if nothing is in flight, make the next waiting operation due (3)."""
    for operation in aggregate.operations:
        if operation.state.final:
            clear_problem(aggregate.payment, cause_of_overdue_operation(operation), now)
            clear_problem(aggregate.payment, cause_of_dispute(operation, lost=False), now)
    clear_charged_on(aggregate.payment, now)
    current = balance(aggregate.payment.flow, aggregate.operations)
    clear_returned_money(aggregate.payment, current.held, now, later=current.kept - current.held)
    if current.in_flight:
        return
    waiting = (known for known in aggregate.operations if known.state is State.WAITING)
    following = next((known for known in waiting if not is_retried_until_confirmed(known)), None)
    if following is not None:
        # The gateway may have stated when it takes it (see ``call_errors.wait_again``).
        make_due(following, max(now, Details.from_row(following.details).retry_after or now))


def _reschedule(payment: Payment, operation: Operation, context: DecisionContext) -> None:
    operation.updated_at = payment.updated_at = context.now
    if payment.has_rivals:
        payment.attempts_due_at = context.now
    plan_look_up(payment, operation, context.schedule, context.now)
