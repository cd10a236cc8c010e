"""Disputes: the payer's bank takes money back, gives it back to the store, and may take it again. Pure.

A dispute turns by nature (laws of money, 7): the word that arrived last counts, whichever it is. The interface names no
time of a decision, and a repeated notification is recognised before it is posted (6), so arrival is the only order
there is. Saleor is told the difference between what it has been told and what is true now: each turn is an event with
a reference of its own, and a decision over less or more than was disputed is no special case.
"""

from app.core.payment import Operation, PaymentAggregate, SaleorEvent
from app.core.vocabulary import Flow, Kind, State
from app.i18n.messages import LazyMessage, Money
from app.rules.balance import ZERO, actions_to_offer, balance
from app.rules.decision_context import DecisionContext, enqueue_note, raise_problem, report_operation
from app.rules.external_operations import waits_for_charge
from app.rules.issues import Issue, IssueCode
from app.rules.observation import is_ours
from app.rules.problems import cause_of_dispute, cause_of_operation_mismatch, clear_problem, end_problem, find_mismatch
from app.rules.references import ensure_reference, reference_of_note, reference_of_turn
from app.rules.stored_issues import is_stored
from saleor_app_sdk.responses import EventType

_SIGNS = {EventType.CHARGE_BACK.value: 1, EventType.CHARGE_SUCCESS.value: -1}


def report_dispute(aggregate: PaymentAggregate, operation: Operation, context: DecisionContext) -> None:
    """Tell Saleor and staff how a dispute stands: what the bank took or gave back, and what there is to do."""
    turns = _reported_turns(aggregate, operation)
    reported = sum((_SIGNS[event.type] * event.amount for event in turns), ZERO)
    taken = operation.amount if operation.state is State.SUCCESS else ZERO
    amount = Money(operation.amount, operation.currency)
    if operation.state.final and taken != reported and not waits_for_charge(aggregate, operation, context):
        # Money that comes back is charged anew: another success of a transaction adds to it (Saleor contract, A.7).
        kind = EventType.CHARGE_BACK if taken > reported else EventType.CHARGE_SUCCESS
        own = ensure_reference(aggregate.payment, operation)
        reference = reference_of_turn(own, str(len(turns))) if turns else own
        message = _message(operation, returned=taken < reported)
        difference = abs(taken - reported)
        report_operation(aggregate, operation, kind, context, amount=difference, message=message, reference=reference)
    is_payout = aggregate.payment.flow is Flow.PAYOUT  # what comes back of it, the store gets
    lost = cause_of_dispute(operation, lost=True)
    if taken != reported:
        clear_problem(aggregate.payment, lost, context.now)  # of the turn before
    if operation.state is State.SUCCESS:
        issue = Issue(IssueCode.DISPUTE_OF_PAYOUT if is_payout else IssueCode.DISPUTE_LOST, sum=amount)
        aggregate.link(raise_problem(aggregate, issue, context.now, cause=lost), operation)
        _flag_paid_back_twice(aggregate, operation, context)
        return
    if operation.state is State.FAILURE:
        if taken == reported:
            reference = reference_of_note(f"{operation.operation_id or ''}{_turn(len(turns))}", operation.state)
            enqueue_note(aggregate, _message(operation, returned=False), context, reference=reference)
        return
    actions = actions_to_offer(aggregate)
    cause = cause_of_dispute(operation, lost=False)
    issue = Issue(IssueCode.DISPUTE_OF_PAYOUT if is_payout else IssueCode.DISPUTE_OPEN, sum=amount)
    aggregate.link(raise_problem(aggregate, issue, context.now, cause=cause, actions=actions), operation)


def report_returned_money(aggregate: PaymentAggregate, context: DecisionContext) -> None:
    """Tell Saleor of the refunds by others and the chargebacks that have waited for their charge.

    ``waits_for_charge`` says which. What was told before is not told again: the queue has the event.
    """
    if not aggregate.payment.is_known_to_saleor:
        return
    for operation in aggregate.operations:
        if operation.state is not State.SUCCESS or waits_for_charge(aggregate, operation, context):
            continue
        if operation.kind is Kind.REFUND and not is_ours(operation):
            message, kind = operation.message or "", EventType.REFUND_SUCCESS
            report_operation(aggregate, operation, kind, context, amount=operation.amount, message=message)
        elif operation.kind is Kind.DISPUTE and not _reported_turns(aggregate, operation):
            report_dispute(aggregate, operation, context)


def _message(operation: Operation, *, returned: bool) -> LazyMessage:
    """Return what Saleor is told of a dispute that has ended, or turned; ``returned``: the bank had taken the money.

    The interface names ``dispute`` among the methods and shows no record of one (gateway interface, 10 and 12). Its
    status is read as that of any operation: while open, the bank decides; ``success``, the money went back to the
    payer; ``failure``, the store keeps it.
    """
    amount = Money(operation.amount, operation.currency)
    if operation.state is State.SUCCESS:
        return Issue(IssueCode.DISPUTE_LOST, sum=amount).message
    if returned:
        return LazyMessage(
            "The dispute over %(sum)s has turned in the store's favour: the bank has given back what it took.",
            sum=amount,
        )
    return LazyMessage("The dispute over %(sum)s has ended in the store's favour: nothing was taken back.", sum=amount)


def _reported_turns(aggregate: PaymentAggregate, operation: Operation) -> list[SaleorEvent]:
    reference = operation.psp_reference
    if reference is None:
        return []
    prefix = reference_of_turn(reference, "")
    return [
        event
        for event in aggregate.events
        if event.type in _SIGNS and (event.psp_reference == reference or event.psp_reference.startswith(prefix))
    ]


def _turn(count: int) -> str:
    return f"-{count}" if count else ""


def flag_disputes_paid_back_twice(aggregate: PaymentAggregate, context: DecisionContext) -> None:
    """Show staff that a refund gives the payer what the bank has taken back before; no longer, once it has failed."""
    for dispute in aggregate.operations:
        if dispute.kind is Kind.DISPUTE and dispute.state is State.SUCCESS:
            _flag_paid_back_twice(aggregate, dispute, context)


def _flag_paid_back_twice(aggregate: PaymentAggregate, operation: Operation, context: DecisionContext) -> None:
    """Show staff that the payer got the same money twice: by a refund, and from the bank; with the sums of now.

    Each charge of a subscription is money of its own, which was given back or not.
    """
    now = balance(aggregate.payment.flow, aggregate.operations)
    later = (charge for charge in now.recurring if charge.id == operation.charge_id)
    disputed = now if operation.charge_id is None else next(later, None)
    is_payout = aggregate.payment.flow is Flow.PAYOUT  # nothing was charged; `is_overdrawn` compares what came back
    if is_payout or disputed is None or waits_for_charge(aggregate, operation, context):
        return
    refunded = disputed.refunded + disputed.refunding
    sums = {"refunded": now.sum(refunded), "disputed": now.sum(disputed.disputed)}
    issue = Issue(IssueCode.PAID_BACK_TWICE, **sums)
    known = find_mismatch(aggregate.payment, issue.code, operation)
    if known is not None and not is_stored(issue, known.message):
        end_problem(aggregate.payment, known, context.now)  # it may have been looked at: another sum is news
    if refunded + disputed.disputed > disputed.charged:
        cause = cause_of_operation_mismatch(issue, operation)
        raise_problem(aggregate, issue, context.now, cause=cause)
