"""Compares a payment with what it pays for, as Saleor states it now: money and order can part (laws of money, 10).

Saleor states it with its answer to each report, and when it is asked: about a page that can still be paid, before a
shopper is led on and whenever the worker looks the page up, and about the order that a paid checkout becomes. Pure.

A page on which nothing is owed any more is closed like one that was replaced (12). If it was paid even so, or more than
is owed, or for a checkout that nobody completes, or if an order relies on a payment that has failed, staff are told
what to do. Money that arrives raises such a problem, and an order that does not follow; what staff do to an order that
is paid already is their own decision. What is only authorized is not paid: they are told if more of it is charged than
the order costs by then. Once they have been told, they are told what is true now, until money and order agree. What
arrives after they have looked, for an order that has ended, they are shown again.
"""

from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from app.core.alerts import AlertKind
from app.core.payment import Operation, Payment, PaymentAggregate, Problem
from app.core.vocabulary import CloseReason, Kind, Mode, State
from app.i18n.messages import Money
from app.rules.balance import ZERO, balance
from app.rules.decision_context import raise_problem
from app.rules.event_queue import has_unreported_money
from app.rules.issues import Issue, IssueCode
from app.rules.page_cancellation import NOT_OWED_PAGE, have_page_closed, was_closed_for
from app.rules.problems import (
    PAID_TWICE,
    TEST_CHARGED_ON,
    TOTAL_ROSE,
    Cause,
    Unowed,
    cause_of_unowed_money,
    cause_of_unpaid_order,
    clear_problem,
    clear_unowed_money,
    find_problem,
    find_unowed_money,
    has_unended_problem,
    open_problems,
    restate,
    restate_unowed_money,
)
from app.rules.references import reference_of_note
from app.rules.subscription import has_running_subscription
from saleor_app_sdk.responses import EventType
from saleor_app_sdk.transaction_source import TransactionSource

MONEY_ARRIVES = frozenset(
    {EventType.CHARGE_SUCCESS, EventType.AUTHORIZATION_SUCCESS, EventType.AUTHORIZATION_ADJUSTMENT}
)

PATIENT_POLLS = 3
"""How often Saleor is asked for the order of a paid checkout before staff are: more than an hour.

By then the storefront does not come back by itself.
"""

_ENDS_IN_SALEOR = frozenset({AlertKind.NOT_OWED, AlertKind.NOT_PAID, AlertKind.PAID_TWICE})

FAILED = cause_of_unpaid_order("failed")


def closing_reason(payment: Payment, source: TransactionSource) -> CloseReason | None:
    """Return why the page of a payment must be closed; None while all of its amount is owed."""
    if source.is_gone:
        return CloseReason.CHECKOUT_GONE
    if source.is_canceled:
        return CloseReason.ORDER_CANCELED
    if source.is_expired:
        return CloseReason.ORDER_EXPIRED
    if source.is_returned:
        return CloseReason.ORDER_RETURNED
    too_high = source.excess is not None and payment.amount > -source.excess
    return CloseReason.TOO_HIGH if too_high else None


def agrees(payment: Payment, source: TransactionSource) -> bool:
    """Return True when there is nothing to compare: what is owed is paid, and the payment has no problems."""
    return source.is_open and not source.excess and not payment.has_problems and not is_left_unordered(payment, source)


def is_left_unordered(payment: Payment, source: TransactionSource) -> bool:
    """Return True when the checkout of a payment still exists, and nobody has completed it for a long time."""
    return source.order is None and not source.is_gone and payment.order_polls > PATIENT_POLLS


def close_page_not_owed(aggregate: PaymentAggregate, source: TransactionSource, now: datetime) -> bool:
    """Have the worker close an open page on which nothing, or less than its amount, is owed; return True if it must."""
    reason = closing_reason(aggregate.payment, source)
    return reason is not None and close_page(aggregate, reason, now)


def close_page(aggregate: PaymentAggregate, reason: CloseReason, now: datetime) -> bool:
    """Have the worker close a page that must not be paid, if it is open; return True if it must.

    A test payment that is at the bank already is followed in the same way, whatever it comes to.
    """
    payment, create = aggregate.payment, aggregate.create
    is_open = balance(payment.flow, aggregate.operations).unpaid and not payment.is_link_missing
    is_at_bank = reason is CloseReason.LEFT_TEST_PROJECT and create.state is State.PENDING
    if create.contradicted or not (is_open or is_at_bank):
        return False
    return have_page_closed(aggregate, key=NOT_OWED_PAGE, reason=reason, due=now, now=now)


def are_sums_behind(aggregate: PaymentAggregate) -> bool:
    """Return True while Saleor's sums are not those of this payment: it has not been told of all that has happened.

    They also hold what it has asked to charge or refund, whatever becomes of that.
    """
    current = balance(aggregate.payment.flow, aggregate.operations)
    is_pending = current.voiding or current.capturing or current.refunding
    return bool(is_pending) or has_unreported_money(aggregate.events)


def compare_at(payment: Payment, due: datetime) -> None:
    """Have Saleor asked for what is owed at that moment, unless it is asked earlier anyway."""
    payment.next_order_poll_at = min(payment.next_order_poll_at or due, due)


def compare_uncounted_at(payment: Payment, due: datetime) -> None:
    """Have Saleor asked for what is owed at that moment, besides the few times that it is asked for the order.

    So staff hear no sooner that nobody completes the checkout.
    """
    compare_at(payment, due)
    do_not_count_poll(payment)


def do_not_count_poll(payment: Payment) -> None:
    """Do not count a poll among those for the order: every poll is counted when it is claimed, so one is taken off."""
    payment.order_polls = max(payment.order_polls - 1, 0)


def compare_with_source(
    aggregate: PaymentAggregate,
    source: TransactionSource,
    now: datetime,
    *,
    money_arrives: bool,
    is_asked: bool = False,
) -> None:
    """Raise and end the problems of a payment whose money and order have parted, and close its page.

    ``money_arrives``: Saleor has just learned of money of this payment, or of the order that it pays for; or staff have
    been told that they part. ``is_asked``: Saleor was asked for the order, and leaves out what staff have granted.
    """
    payment = aggregate.payment
    if agrees(payment, source):
        return
    current = balance(payment.flow, aggregate.operations)
    if current.recurring or are_sums_behind(aggregate):
        # What a subscription charges is owed for nothing that Saleor knows of.
        source = replace(source, excess=None)
    close_page_not_owed(aggregate, source, now)
    _end_solved(payment, source, now)
    if current.kept <= ZERO:
        _flag_failure(aggregate, source, now)
    elif money_arrives:
        if not is_asked and any(done.kind not in {Kind.CREATE, Kind.CANCEL} for done in aggregate.operations):
            # Its sums also hold what staff have granted to refund, which is no news.
            _ask_what_was_overcharged(aggregate, source, now)
            source = replace(source, excess=None)
        _flag_unowed_money(aggregate, source, current.kept, now)
        _flag_higher_total(aggregate, source, current.held, now)
        _flag_missing_order(aggregate, source, current.kept, now)


def _ask_what_was_overcharged(aggregate: PaymentAggregate, source: TransactionSource, now: datetime) -> None:
    """Have Saleor asked whether more was charged than the order costs, which the answer to a report does not tell.

    The order may have been edited while the authorization stood, and the Dashboard charges all of that.
    """
    charges = any(done.kind is Kind.CAPTURE and done.state is State.SUCCESS for done in aggregate.operations)
    if charges and source.excess is not None and source.excess > ZERO:
        compare_uncounted_at(aggregate.payment, now)


def needs_comparison(payment: Payment) -> bool:
    """Return True while staff are shown that money and order have parted: it can end in Saleor, without a report."""
    return any(problem.kind in _ENDS_IN_SALEOR for problem in open_problems(payment))


def _end_solved(payment: Payment, source: TransactionSource, now: datetime) -> None:
    if source.order is not None:
        clear_unowed_money(payment, Unowed.CHECKOUT_GONE, now)
    if source.order is not None or source.is_gone:
        clear_unowed_money(payment, Unowed.NOT_ORDERED, now)
    if source.is_open and source.excess is not None and source.excess <= ZERO:
        clear_unowed_money(payment, Unowed.OVERPAID, now)
    if not source.is_open or (source.excess is not None and source.excess >= ZERO):
        for cause in (FAILED, TOTAL_ROSE):
            clear_problem(payment, cause, now)


def _flag_unowed_money(aggregate: PaymentAggregate, source: TransactionSource, held: Decimal, now: datetime) -> None:
    payment, sum_held = aggregate.payment, Money(held, aggregate.payment.currency)
    number = "" if source.order is None else source.order.number
    if not source.is_open:  # this says more
        clear_unowed_money(payment, Unowed.OVERPAID, now)
    if source.is_gone:
        _raise_unowed(aggregate, Unowed.CHECKOUT_GONE, ZERO, Issue(IssueCode.CHECKOUT_GONE, sum=sum_held), now)
    elif source.is_canceled:
        issue = Issue(IssueCode.ORDER_CANCELED, number=number, sum=sum_held)
        _raise_unowed(aggregate, Unowed.ORDER_CANCELED, ZERO, issue, now)
    elif source.is_expired:
        issue = Issue(IssueCode.ORDER_EXPIRED, number=number, sum=sum_held)
        _raise_unowed(aggregate, Unowed.ORDER_EXPIRED, ZERO, issue, now)
    elif source.is_returned:
        issue = Issue(IssueCode.ORDER_RETURNED, number=number, sum=sum_held)
        _raise_unowed(aggregate, Unowed.ORDER_RETURNED, ZERO, issue, now)
    elif source.excess is not None and source.excess > ZERO and not has_unended_problem(payment, PAID_TWICE):
        excess = min(source.excess, held)
        issue = Issue(IssueCode.OVERPAID, excess=Money(excess, payment.currency))
        _raise_unowed(aggregate, Unowed.OVERPAID, held - excess, issue, now)


def _raise_unowed(aggregate: PaymentAggregate, reason: Unowed, owed: Decimal, issue: Issue, now: datetime) -> None:
    """Show staff money that is not owed; of what they know of, the sum that is true now, and again where it grew."""
    known, cause = find_unowed_money(aggregate.payment, reason), cause_of_unowed_money(reason, owed)
    if known is None:
        raise_problem(aggregate, issue, now, cause=cause)
    else:
        restate_unowed_money(aggregate.payment, known, issue, now, cause)


def _raise_or_restate(
    aggregate: PaymentAggregate, known: Problem | None, issue: Issue, now: datetime, *, cause: Cause
) -> None:
    """Raise a problem; of one that is ``known``, state the sum that is true now."""
    if known is None:
        raise_problem(aggregate, issue, now, cause=cause)
    else:
        restate(known, issue, cause)


def flag_test_money(aggregate: PaymentAggregate, now: datetime) -> None:
    """Show staff what was paid in a test project, for an order of a channel that takes real money now."""
    payment, kept = aggregate.payment, balance(aggregate.payment.flow, aggregate.operations).kept
    if kept > ZERO:
        issue = Issue(IssueCode.TEST_MONEY, sum=Money(kept, payment.currency))
        _raise_unowed(aggregate, Unowed.TEST_MONEY, ZERO, issue, now)


def flag_late_test_money(aggregate: PaymentAggregate, operation: Operation, now: datetime) -> None:
    """Show staff a payment in a test project that has succeeded although its page was to be closed for that."""
    if operation.kind is Kind.CREATE and was_closed_for(aggregate, CloseReason.LEFT_TEST_PROJECT):
        flag_test_money(aggregate, now)
        flag_test_subscription(aggregate, now)


def flag_test_subscription(aggregate: PaymentAggregate, now: datetime) -> None:
    """Show staff a test project's subscription that goes on in a channel that takes real money now."""
    if has_running_subscription(aggregate.payment):
        raise_problem(aggregate, Issue(IssueCode.TEST_SUBSCRIPTION), now, cause=TEST_CHARGED_ON)


def _flag_failure(aggregate: PaymentAggregate, source: TransactionSource, now: datetime) -> None:
    """Show staff an order that relied on a pending payment, which Saleor counts as paid, and which has failed."""
    left, known = _left_to_pay(source), find_problem(aggregate.payment, FAILED)
    if not source.is_open or source.order is None or left is None:
        return
    if not aggregate.create.has_surely_failed or not _was_counted(aggregate):
        return
    rest = Money(left, aggregate.payment.currency)
    issue = Issue(IssueCode.ORDER_NOT_PAID, number=source.order.number, left=rest)
    _raise_or_restate(aggregate, known, issue, now, cause=FAILED)


def _was_counted(aggregate: PaymentAggregate) -> bool:
    """Return True for a payment of a checkout that was pending: Saleor places the order as if it were paid."""
    payment = aggregate.payment
    left_its_page = reference_of_note(payment.order_id, State.PENDING)
    pending = payment.mode is Mode.DIRECT or any(event.psp_reference == left_its_page for event in aggregate.events)
    return aggregate.create.requested.is_of_checkout and pending


def _flag_higher_total(aggregate: PaymentAggregate, source: TransactionSource, held: Decimal, now: datetime) -> None:
    """Show staff a payment for all that was owed when it began, and that is less than what is owed now."""
    payment = aggregate.payment
    was_all = payment.to_pay is not None and payment.amount >= payment.to_pay and held >= payment.amount
    if was_all or has_unended_problem(payment, TOTAL_ROSE):
        flag_missing_rest(aggregate, source, now)


def flag_missing_rest(aggregate: PaymentAggregate, source: TransactionSource, now: datetime) -> None:
    """Show staff how much is owed now beyond what is paid, by this payment and others, if anything is."""
    payment, left = aggregate.payment, _left_to_pay(source)
    if not source.is_open or left is None:
        return
    rest = Money(left, payment.currency)
    if source.order is None:
        issue = Issue(IssueCode.CHECKOUT_TOTAL_ROSE, left=rest)
    else:
        issue = Issue(IssueCode.ORDER_TOTAL_ROSE, number=source.order.number, left=rest)
    _raise_or_restate(aggregate, find_problem(payment, TOTAL_ROSE), issue, now, cause=TOTAL_ROSE)


def _flag_missing_order(aggregate: PaymentAggregate, source: TransactionSource, held: Decimal, now: datetime) -> None:
    """Show staff money for a checkout that nobody completes, unless they know that it cannot or must not be."""
    payment = aggregate.payment
    is_known = has_unended_problem(payment, TOTAL_ROSE) or find_unowed_money(payment, Unowed.TEST_MONEY) is not None
    if is_left_unordered(payment, source) and not is_known:
        issue = Issue(IssueCode.NOT_ORDERED, sum=Money(held, payment.currency))
        _raise_unowed(aggregate, Unowed.NOT_ORDERED, ZERO, issue, now)


def _left_to_pay(source: TransactionSource) -> Decimal | None:
    """Return what is left to pay; None when nothing is, or Saleor does not state it."""
    return -source.excess if source.excess is not None and source.excess < ZERO else None
