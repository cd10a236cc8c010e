"""What follows from the decisions of staff: an operation settled by hand, problems that they have reviewed. Pure.

Staff settle by hand when the gateway's own record is gone or contradicts what really happened. They have checked the
merchant portal, and state who they are and why. The decision is stored with the operation for ever, reported to Saleor
like any outcome, and lets the operations continue that waited for it.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from app.core.alerts import AlertKind
from app.core.fact import Fact
from app.core.ids import GatewayOperationId, OperationRowId
from app.core.payment import Operation, PaymentAggregate, returned_of_payout
from app.core.vocabulary import Flow, Kind, State
from app.i18n.messages import gettext_noop
from app.rules.apply import apply, conclude, withdraw_contradiction
from app.rules.balance import ZERO, balance
from app.rules.decision_context import DecisionContext
from app.rules.decisions.answer_window import take_back_refund
from app.rules.issues import IssueCode
from app.rules.mapper import Observation
from app.rules.newer_try import forget_newer_try
from app.rules.problems import acknowledge, find_mismatch, needs_decision, open_problems
from app.rules.refusal import RefusalCode, RefusalError
from app.rules.schedule import end_look_ups
from integration_base.amounts import format_amount, is_amount

_CHARGES = frozenset({Kind.CREATE, Kind.CAPTURE, Kind.RECURRING})
_REVIEWED = gettext_noop("Staff have reviewed what the gateway reported: the payment counts as it is recorded")


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's finding. ``amount`` None: the requested amount. ``state`` is success or failure."""

    state: State
    by: str
    reason: str
    amount: Decimal | None = None


def operation_to_settle(aggregate: PaymentAggregate, row_id: int | None = None) -> Operation:
    """Return the operation with that row id; without one, the only one whose outcome is open. Raises RefusalError."""
    if row_id is not None:
        for operation in aggregate.operations:
            if operation.id == row_id:
                return operation
        raise _refusal(f"This payment has no operation {row_id}.")
    kinds = {Kind.CREATE, Kind.CAPTURE, Kind.VOID, Kind.REFUND, Kind.DISPUTE}
    found = [
        operation
        for operation in aggregate.operations
        if operation.kind in kinds
        and (not operation.state.final or operation.contradicted)
        and operation.state is not State.WAITING
    ]
    if len(found) != 1:
        named = ", ".join(
            f"{operation.id} ({operation.kind.value}, {operation.state.value})"
            for operation in found or aggregate.operations
        )
        what = "Several operations are open" if found else "Nothing is open"
        raise _refusal(f"{what}: specify the operation ({named}).")
    return found[0]


@dataclass(frozen=True, slots=True)
class OperationSettled(Fact[PaymentAggregate]):
    """Staff settle an operation by hand (see ``operation_to_settle``). ``decide`` raises RefusalError."""

    operation_id: OperationRowId | None
    decision: Decision
    context: DecisionContext

    def decide(self, aggregate: PaymentAggregate) -> PaymentAggregate:
        """Post the decision, unless it cannot be right.

        This is the only way from a failure to a success besides the gateway's own record (laws of money, 7). There is
        no way back from a success, which Saleor has booked, except of a dispute, which turns, and of what the gateway
        reports as failed by now: Saleor has events for a refund that came back, and for a charge that the bank took
        back, which is booked as a dispute.
        """
        operation, context = operation_to_settle(aggregate, self.operation_id), self.context
        amount = operation.amount if self.decision.amount is None else self.decision.amount
        _check(aggregate, operation, self.decision, amount, context)
        end_look_ups(operation)
        forget_newer_try(operation)
        seen = open_problems(aggregate.payment)
        if operation.state is State.SUCCESS and self.decision.state is State.FAILURE and operation.kind in _CHARGES:
            _book_chargeback(aggregate, operation, self.decision, context)
        else:
            _settle(aggregate, operation, self.decision, amount, context)
        news = [problem for problem in open_problems(aggregate.payment) if problem not in seen]
        acknowledge(aggregate.payment, context.now, aggregate.operations, unless=list(filter(needs_decision, news)))
        # The consequences: the rest of a reservation, a page to close, waiting operations.
        apply(aggregate, [], context)
        return aggregate


@dataclass(frozen=True, slots=True)
class ProblemsReviewed(Fact["tuple[str, ...]"]):
    """Staff have reviewed the problems of a payment, or those of one ``kind``. Returns the texts of the removed ones.

    A problem of an operation that is still open stays until that has ended (``problems.acknowledge``).
    """

    context: DecisionContext
    kind: AlertKind | None = None

    def decide(self, aggregate: PaymentAggregate) -> tuple[str, ...]:
        """Acknowledge the problems; when nothing is left to decide, a success that was in doubt counts."""
        payment = aggregate.payment
        others = [problem for problem in open_problems(payment) if self.kind not in {None, problem.kind}]
        reviewed = acknowledge(payment, self.context.now, aggregate.operations, unless=others)
        if reviewed and not any(map(needs_decision, open_problems(payment))):
            for operation in aggregate.operations:
                if operation.state is State.SUCCESS:  # nothing else can be decided about it
                    withdraw_contradiction(aggregate, operation, _REVIEWED, self.context)
        return reviewed


def _settle(
    aggregate: PaymentAggregate, operation: Operation, decision: Decision, amount: Decimal, context: DecisionContext
) -> None:
    operation.decision = _row_of(decision, decision.state, amount, context)
    message = _message_of(decision)
    moves = decision.state is not operation.state
    turns = operation.kind is Kind.DISPUTE and operation.state.final and amount != operation.amount
    if moves or turns:
        if operation.kind is Kind.REFUND and operation.state is State.SUCCESS:
            take_back_refund(aggregate, operation, message, context.now)
        operation.state = State.UNKNOWN  # nothing is concluded of what has ended
        operation.contradicted = False
        if decision.state is State.SUCCESS:
            operation.amount = amount
        conclude(aggregate, operation, decision.state, context, message=message)
    withdraw_contradiction(aggregate, operation, message, context)
    operation.inferred = False


def _book_chargeback(
    aggregate: PaymentAggregate, operation: Operation, decision: Decision, context: DecisionContext
) -> None:
    """Book that the bank took back what is left of a charge, as a dispute that is lost. Raises RefusalError.

    It has the id of what was charged: taken back once more, it turns again, and each capture has one of its own. Should
    the gateway ever report a dispute of the payment, that is bound to it.
    """
    withdraw_contradiction(aggregate, operation, _message_of(decision), context)
    amount = min(operation.amount, _left_of(aggregate, operation))
    if not amount:
        raise _refusal("Nothing is left of it: all was refunded or taken back before.")
    charged_as = operation.operation_id or GatewayOperationId(aggregate.payment.order_id)
    seen = Observation(
        kind=Kind.DISPUTE,
        state=State.SUCCESS,
        amount=amount,
        currency=operation.currency,
        pos_id=aggregate.payment.account.pos_id,
        order_id=aggregate.payment.order_id,
        gateway_id=charged_as,
        payment_id=charged_as if operation.kind is Kind.RECURRING else None,
        message=_message_of(decision),
    )
    apply(aggregate, [seen], context)
    for dispute in aggregate.operations:
        if dispute.kind is Kind.DISPUTE and dispute.operation_id == charged_as:
            dispute.decision = _row_of(decision, seen.state, amount, context)


def _message_of(decision: Decision) -> str:
    return f"Settled by {decision.by}: {decision.reason}"


def _row_of(decision: Decision, state: State, amount: Decimal, context: DecisionContext) -> dict[str, Any]:
    return {
        "state": state.value,
        "amount": str(amount),
        "by": decision.by,
        "reason": decision.reason,
        "at": context.now.isoformat(),
    }


def _check(
    aggregate: PaymentAggregate, operation: Operation, decision: Decision, amount: Decimal, context: DecisionContext
) -> None:
    state, kind = operation.state, operation.kind
    if kind is Kind.CANCEL:
        raise _refusal("A cancellation ends with its payment: settle the payment instead.")
    if state is State.WAITING:
        raise _refusal("It has not been sent yet: it is waiting for the operation before it.")
    in_flight = state is State.INTENT and context.now < context.schedule.intent_deadline(operation.updated_at)
    if in_flight:
        raise _refusal("A request to the gateway is in progress: try again in a minute.")
    may_turn = kind is Kind.DISPUTE or (decision.state is State.FAILURE and _has_failed_since(aggregate, operation))
    if state is State.SUCCESS and not may_turn and (decision.state is not state or amount != operation.amount):
        raise _refusal("It has succeeded, and Saleor has recorded it: correct what is wrong by a refund, or in Saleor.")
    if decision.state is State.FAILURE:
        _check_failure(aggregate, operation, context)
    elif state is not State.SUCCESS:
        _check_success(aggregate, operation, amount)


def _has_failed_since(aggregate: PaymentAggregate, operation: Operation) -> bool:
    """Return True for money that was moved, where the gateway has reported since that it was not.

    An authorization moves none: staff release it.
    """
    is_authorization = operation.kind is Kind.CREATE and aggregate.payment.flow is Flow.AUTHORIZATION
    failed = find_mismatch(aggregate.payment, IssueCode.FAILED_AFTER_SUCCESS, operation)
    return failed is not None and not is_authorization and operation.kind in {Kind.REFUND, *_CHARGES}


def _left_of(aggregate: PaymentAggregate, operation: Operation) -> Decimal:
    now = balance(aggregate.payment.flow, aggregate.operations)
    if operation.kind is Kind.RECURRING:
        return now.refundable_of(operation.operation_id)
    if aggregate.payment.flow is Flow.PAYOUT:
        return operation.amount - returned_of_payout(aggregate.operations)
    return max(ZERO, now.charged - now.refunded - now.refunding - now.disputed)  # also while another charge is in doubt


def _check_failure(aggregate: PaymentAggregate, operation: Operation, context: DecisionContext) -> None:
    if operation.kind is not Kind.CREATE or operation.state is State.SUCCESS:
        return
    if any(
        other.kind in {Kind.CAPTURE, Kind.REFUND} and other.state is State.SUCCESS for other in aggregate.operations
    ):
        raise _refusal("Money of this payment was charged or refunded, so it cannot have failed.")
    ends = aggregate.payment.expires_at
    if operation.state is State.INIT and ends is not None and context.now < ends:
        raise _refusal("The shopper can still pay: cancel the payment on the order in the Dashboard.")


def _check_success(aggregate: PaymentAggregate, operation: Operation, amount: Decimal) -> None:
    if not is_amount(amount):
        raise _refusal(
            f"{format_amount(amount)} is not a valid amount: it must be above zero, with at most two decimals."
        )
    if amount != operation.amount and operation.shares:
        raise _refusal("It is split among sub-merchants, whose shares are those of the requested amount.")
    if operation.kind is Kind.VOID and amount != operation.amount:
        raise _refusal(f"An authorization is released as a whole: {format_amount(operation.amount)}.")
    if operation.kind not in {Kind.CREATE, Kind.DISPUTE} and amount > operation.amount:
        requested = format_amount(operation.amount)
        raise _refusal(f"{requested} was requested, so it cannot be {format_amount(amount)}.")
    if operation.state is not State.FAILURE or operation.contradicted:
        return
    # It was considered failed, so another operation may have used the same money since.
    now = balance(aggregate.payment.flow, aggregate.operations)
    if operation.kind is Kind.REFUND and amount > (left := now.refundable_of(operation.charge_id)):
        of_what = "payment" if operation.charge_id is None else "charge"
        raise _refusal(f"Only {format_amount(left)} of this {of_what} is left to refund.")
    if operation.kind in {Kind.CAPTURE, Kind.VOID} and amount > now.capturable:
        raise _refusal("The authorization has been charged or released by another operation.")


def _refusal(message: str) -> RefusalError:
    return RefusalError(RefusalCode.NOT_POSSIBLE, message)
