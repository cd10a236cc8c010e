"""Operations that were requested outside this app, and how much was left for them (laws of money, 8 and 10). Pure."""

from collections.abc import Collection
from datetime import datetime, timedelta
from decimal import Decimal

from app.core.payment import Operation, Payment, PaymentAggregate, returned_of_payout
from app.core.vocabulary import EXTERNAL_KEY_PREFIX, GIVES_A_PAYOUT_BACK, Flow, Kind, Origin, State
from app.i18n.currencies import rounded_by_saleor
from app.i18n.messages import Money, Verbatim
from app.rules.balance import ZERO, balance, is_in_flight, is_overdrawn
from app.rules.decision_context import DecisionContext, flag_unexplained, raise_problem
from app.rules.details import Details
from app.rules.dialects import keeps_rest
from app.rules.issues import Issue, IssueCode
from app.rules.labels import NAMES, what_of
from app.rules.mapper import Observation, largest_payer_fee
from app.rules.observation import UnexplainedMoney, is_ours, reference_of_external_operation
from app.rules.problems import (
    CHARGED_ON,
    TEST_CHARGED_ON,
    Cause,
    cause_of_mismatch,
    cause_of_operation_mismatch,
    clear_problem,
    has_unended_problem,
)
from app.rules.references import reference_of_subscription_end
from app.rules.schedule import look_up_order_after
from app.rules.stated_times import can_have_happened
from app.rules.subscription import charge_id_of, find_later_charge, has_running_subscription
from integration_base.amounts import is_amount

_SURELY_AFTER = timedelta(days=1)
_COMPARED = frozenset({Kind.CAPTURE, Kind.VOID, Kind.REFUND})


def new_external_operation(aggregate: PaymentAggregate, seen: Observation, context: DecisionContext) -> Operation:
    """Return the operation that the gateway reports for the first time; nothing is posted to it yet."""
    payment, reference = aggregate.payment, reference_of_external_operation(aggregate, seen)
    operation = Operation(
        kind=seen.kind,
        idempotency_key=f"{EXTERNAL_KEY_PREFIX}{reference}",
        state=State.INTENT,
        amount=seen.amount if is_amount(seen.amount) else ZERO,
        currency=seen.currency,
        origin=Origin.GATEWAY,
        asked_by_saleor=False,
        keeps_rest=seen.kind is Kind.CAPTURE and keeps_rest(payment.account),
        psp_reference=reference,
        operation_id=seen.gateway_id,
        charge_id=charge_id_of(aggregate, seen.payment_id),
        created_at=context.now,
        updated_at=context.now,
    )
    left = amount_left_for(aggregate, operation)
    is_refund = operation.kind is Kind.REFUND and operation.charge_id is None
    if left and is_refund and left < operation.amount <= left + largest_payer_fee(payment):
        operation.amount = left  # the payer gets the fee back too, which the store has never received
    return operation


def amount_left_for(aggregate: PaymentAggregate, operation: Operation) -> Decimal | None:
    """Return the most that an operation of others can move, whatever is reported later; None: it is not compared.

    What we requested is compared with that, and what has succeeded is booked. So is what the gateway itself had
    reported as failed before (laws of money, 7). A dispute is the bank's, which may take what was refunded; never more
    than was charged, whatever it has said before. What is given back of a later charge is compared with that charge.
    """
    payment = aggregate.payment
    total = _most_charged(aggregate)
    if operation.charge_id is not None:
        charge = find_later_charge(aggregate, operation.charge_id)
        if charge is None or operation.kind not in {Kind.REFUND, Kind.DISPUTE}:
            return None
        total = charge.amount
    elif operation.kind is Kind.DISPUTE and payment.flow is Flow.AUTHORIZATION:
        # A dispute comes weeks after the charge; looking up the order shows it.
        total = _sum_of_other_successes(aggregate, operation, (Kind.CAPTURE,))
    if operation.kind is Kind.DISPUTE:
        return total - _sum_of_other_successes(aggregate, operation, (Kind.DISPUTE,))
    if not _is_compared(operation):
        return None
    if payment.flow is Flow.PAYOUT:
        if operation.kind not in GIVES_A_PAYOUT_BACK:
            return ZERO
        used: tuple[Kind, ...] = tuple(GIVES_A_PAYOUT_BACK)
    elif operation.kind is Kind.REFUND:
        used = (Kind.VOID, Kind.REFUND)
    elif payment.flow is Flow.AUTHORIZATION:
        used = (Kind.CAPTURE, Kind.VOID)
    else:
        return ZERO
    return total - _sum_of_other_successes(aggregate, operation, used)


def _is_compared(operation: Operation) -> bool:
    is_turn = operation.state is State.FAILURE and not operation.contradicted and operation.decision is None
    is_booked = operation.state is State.SUCCESS or is_turn
    return operation.kind in _COMPARED and not is_ours(operation) and not is_booked


def payer_fee_on(aggregate: PaymentAggregate, operation: Operation) -> Decimal:
    """Return the most by which a record of the operation may exceed its amount: the fee that the payer paid on top.

    The payer gets it back with a refund by others of all that is left, or when the bank takes back the payment.
    """
    is_of_payment = operation.kind is Kind.CREATE or (operation.kind is Kind.DISPUTE and operation.charge_id is None)
    is_refund = operation.kind is Kind.REFUND and operation.charge_id is None and not is_ours(operation)
    refunded = _sum_of_other_successes(aggregate, operation, (Kind.VOID, Kind.REFUND))
    takes_all = is_refund and operation.amount >= aggregate.create.amount - refunded
    return largest_payer_fee(aggregate.payment) if is_of_payment or takes_all else ZERO


def is_more_than_left(issue: Issue | None) -> bool:
    """Return True when the issue is that others have moved more than was left."""
    return issue is not None and issue.code is IssueCode.MORE_THAN_LEFT


def flag_other_payment(aggregate: PaymentAggregate, seen: Observation, context: DecisionContext) -> None:
    """Put to staff what was done to a payment that we do not know; it is booked nowhere.

    It may be a later charge whose notification is late: looking up the whole order shows that one, and ends the issue.
    """
    if context.is_single_record:
        look_up_order_after(aggregate.create, context.schedule, context.now)
    if seen.state is not State.SUCCESS:
        return
    amount = Money(seen.amount, seen.currency)
    issue = Issue(IssueCode.OTHER_PAYMENT, what=seen.kind, sum=amount, payment=seen.payment_id or "")
    raise_problem(aggregate, issue, context.now, cause=cause_of_mismatch(issue, None, seen.gateway_id))


def flag_unexplained_attempt(aggregate: PaymentAggregate, seen: Observation, now: datetime) -> None:
    """Put another payment of a paid order to staff whose status we do not know: it may be a second one."""
    if seen.unknown_status is not None:
        name = NAMES[seen.kind]
        money = UnexplainedMoney(name, seen.amount, seen.currency, seen.gateway_id, seen.unknown_status)
        flag_unexplained(aggregate, money, now)


def flag_made_after_all(aggregate: PaymentAggregate, operation: Operation, now: datetime) -> None:
    """Show staff what had failed, as far as anybody knew, and was made after all, if it was or may have been repeated.

    Whether a payout was repeated is not known, and Saleor, which would show it, knows of none.
    """
    flag_overdrawn(aggregate, operation, now)
    is_payout = aggregate.payment.flow is Flow.PAYOUT and operation.kind is Kind.CREATE
    repeated = (is_payout or _is_repeated(aggregate, operation)) and is_ours(operation)
    if not repeated or is_overdrawn(aggregate.payment.flow, aggregate.operations):
        return
    amount = Money(operation.amount, operation.currency)
    issue = Issue(IssueCode.MADE_AFTER_ALL, what=what_of(aggregate.payment.flow, operation.kind), sum=amount)
    raise_problem(aggregate, issue, now, cause=cause_of_operation_mismatch(issue, operation))


def flag_charged_after_end(aggregate: PaymentAggregate, operation: Operation, now: datetime) -> None:
    """Show staff a later charge that the gateway began long after staff had cancelled its subscription.

    Soon after that, the two clocks do not tell which was first (laws of money, 15).
    """
    begun_at = Details.from_row(operation.details).created_at
    if operation.kind is not Kind.RECURRING or begun_at is None:
        return
    if not can_have_happened(begun_at, aggregate.payment, now):
        return
    reference = reference_of_subscription_end(aggregate.payment.order_id)
    ends = (event.created_at for event in aggregate.events if event.psp_reference == reference)
    if any(begun_at > end + _SURELY_AFTER for end in ends):
        issue = Issue(IssueCode.CHARGED_AFTER_END, sum=Money(operation.amount, operation.currency))
        raise_problem(aggregate, issue, now, cause=cause_of_operation_mismatch(issue, operation))


def flag_unknown_status(aggregate: PaymentAggregate, operation: Operation, seen: Observation, now: datetime) -> None:
    """Put a status to staff that we do not know, of what had succeeded: its money may be gone (laws of money, 16).

    What a refund, release or dispute does to the status of the payment's own record is not shown by the interface: a
    payment of which nothing is left may have any.
    """
    if seen.unknown_status is None or operation.state is not State.SUCCESS:
        return
    if operation.kind in {Kind.CREATE, Kind.CAPTURE} and not _is_something_left(aggregate):
        return
    what, amount = what_of(aggregate.payment.flow, operation.kind), Money(operation.amount, operation.currency)
    issue = Issue(IssueCode.UNKNOWN_STATUS, what=what, sum=amount, word=Verbatim(seen.unknown_status))
    raise_problem(aggregate, issue, now, cause=cause_of_operation_mismatch(issue, operation))


def _is_something_left(aggregate: PaymentAggregate) -> bool:
    if aggregate.payment.flow is Flow.PAYOUT:
        return returned_of_payout(aggregate.operations) < aggregate.create.amount
    return balance(aggregate.payment.flow, aggregate.operations).held > ZERO


def _is_repeated(aggregate: PaymentAggregate, operation: Operation) -> bool:
    """Return True when a charge or refund of the same amount was requested after this one, and has not failed."""
    later = aggregate.operations[aggregate.operations.index(operation) + 1 :]
    return operation.kind in {Kind.CAPTURE, Kind.REFUND} and any(
        (known.kind, known.amount, known.charge_id) == (operation.kind, operation.amount, operation.charge_id)
        and is_ours(known)
        and not known.has_surely_failed
        for known in later
    )


def flag_overdrawn(aggregate: PaymentAggregate, operation: Operation, now: datetime) -> None:
    """Show staff an operation that was carried out although the payment had not enough left for it."""
    if is_overdrawn(aggregate.payment.flow, aggregate.operations):
        issue, cause = _overdrawing(operation)
        raise_problem(aggregate, issue, now, cause=cause)


def flag_rounded_by_saleor(aggregate: PaymentAggregate, operation: Operation, now: datetime) -> None:
    """Show staff an amount that others have moved, or the payer has chosen, and that is no amount in Saleor (8)."""
    rounded = rounded_by_saleor(operation.amount, operation.currency)
    is_chosen_here = operation.kind is not Kind.CREATE and is_ours(operation)
    if is_chosen_here or rounded == operation.amount or not aggregate.payment.is_known_to_saleor:
        return
    sums = {"sum": Money(operation.amount, operation.currency), "rounded": Money(rounded, operation.currency)}
    issue = Issue(IssueCode.ROUNDED_BY_SALEOR, what=operation.kind, **sums)
    raise_problem(aggregate, issue, now, cause=cause_of_operation_mismatch(issue, operation))


def flag_overdrawn_by_others(aggregate: PaymentAggregate, now: datetime) -> None:
    """Show staff, once the whole order is known, what others did with more money than there was; unless they know."""
    succeeded = [known for known in aggregate.operations if known.kind in _COMPARED and known.state is State.SUCCESS]
    is_known = any(has_unended_problem(aggregate.payment, _overdrawing(operation)[1]) for operation in succeeded)
    if is_known or any(map(is_in_flight, aggregate.operations)):
        return
    # What was more than was left is put to staff by itself, and says nothing of the others.
    certain = [known for known in aggregate.operations if known.kind is Kind.CREATE or known.state is not State.FAILURE]
    if not is_overdrawn(aggregate.payment.flow, certain):
        return
    for operation in [known for known in succeeded if not is_ours(known)][-1:]:
        flag_overdrawn(aggregate, operation, now)


def clear_charged_on(payment: Payment, now: datetime) -> None:
    """End the problems with a subscription that goes on, once that is cancelled, by whomever."""
    if not has_running_subscription(payment):
        for cause in (CHARGED_ON, TEST_CHARGED_ON):
            clear_problem(payment, cause, now)


def clear_overdrawn(aggregate: PaymentAggregate, now: datetime) -> None:
    """End the problem: the gateway has reported late where the money came from, or that something else failed."""
    if not aggregate.payment.has_problems or is_overdrawn(aggregate.payment.flow, aggregate.operations):
        return
    for operation in aggregate.operations:
        if operation.kind in _COMPARED:
            clear_problem(aggregate.payment, _overdrawing(operation)[1], now)


def flag_partial_release(aggregate: PaymentAggregate, now: datetime) -> None:
    """Show staff, once the whole order is known, a release by others that leaves a rest of a reservation.

    Saleor shows the rest as authorized, and nobody can charge or release it here.
    """
    if leaves_rest(aggregate):
        for operation in _releases_by_others(aggregate):
            issue, cause = _partial_release(aggregate, operation)
            raise_problem(aggregate, issue, now, cause=cause)


def clear_partial_release(aggregate: PaymentAggregate, now: datetime) -> None:
    """End that problem: the gateway has reported late what became of the rest."""
    if aggregate.payment.has_problems and not leaves_rest(aggregate):
        for operation in _releases_by_others(aggregate):
            clear_problem(aggregate.payment, _partial_release(aggregate, operation)[1], now)


def waits_for_charge(aggregate: PaymentAggregate, operation: Operation, context: DecisionContext) -> bool:
    """Return True while a refund by others, or a chargeback, is not told to Saleor: its charge is not known yet.

    Saleor's charged amount would be negative meanwhile. The charge's notification is late or lost: it comes, or looking
    up the whole order shows it.
    """
    is_back = operation.kind in {Kind.REFUND, Kind.DISPUTE} and operation.state is State.SUCCESS
    is_of_sale = aggregate.payment.flow is not Flow.PAYOUT and operation.charge_id is None
    if not context.is_single_record or not is_back or not is_of_sale or is_ours(operation):
        return False
    back = operation.amount + _sum_of_other_successes(aggregate, operation, (operation.kind,))
    return balance(aggregate.payment.flow, aggregate.operations).charged < back <= _most_charged(aggregate)


def leaves_rest(aggregate: PaymentAggregate) -> bool:
    """Return True when a release by others has left something of a reservation that no capture has released."""
    create = aggregate.create
    if aggregate.payment.flow is not Flow.AUTHORIZATION or create.state is not State.SUCCESS:
        return False
    captures = [known for known in aggregate.operations if known.kind is Kind.CAPTURE and known.state is State.SUCCESS]
    used = _sum_of_other_successes(aggregate, create, (Kind.CAPTURE, Kind.VOID))
    is_kept = all(capture.keeps_rest for capture in captures)
    return is_kept and used < create.amount and bool(_releases_by_others(aggregate))


def _releases_by_others(aggregate: PaymentAggregate) -> list[Operation]:
    releases = (known for known in aggregate.operations if known.kind is Kind.VOID and known.state is State.SUCCESS)
    return [release for release in releases if not is_ours(release)]


def _partial_release(aggregate: PaymentAggregate, operation: Operation) -> tuple[Issue, Cause]:
    said, ours = (Money(amount, operation.currency) for amount in (operation.amount, aggregate.create.amount))
    issue = Issue(IssueCode.RECORDED_AMOUNT, what=Kind.VOID, said=said, ours=ours)
    return issue, cause_of_operation_mismatch(issue, operation)


def _most_charged(aggregate: PaymentAggregate) -> Decimal:
    """Return the most that can have been charged.

    That the shopper has paid, and that it was charged, may be reported after what was done next.
    """
    create = aggregate.create
    return create.amount if create.state is State.SUCCESS else aggregate.payment.amount


def _overdrawing(operation: Operation) -> tuple[Issue, Cause]:
    issue = Issue(IssueCode.OVERDRAWN, what=operation.kind, sum=Money(operation.amount, operation.currency))
    return issue, cause_of_operation_mismatch(issue, operation)


def _sum_of_other_successes(aggregate: PaymentAggregate, operation: Operation, kinds: Collection[Kind]) -> Decimal:
    """Return the sum of the other operations of these kinds on the same charge, as far as they have succeeded."""
    others = (known for known in aggregate.operations if known is not operation and known.kind in kinds)
    of_charge = (known for known in others if known.charge_id == operation.charge_id)
    return sum((known.amount for known in of_charge if known.state is State.SUCCESS), ZERO)
