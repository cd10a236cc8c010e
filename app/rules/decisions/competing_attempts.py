"""Several attempts to pay the same checkout or order: one debt is paid once (laws of money, 12).

The debt is what Saleor says is owed, whatever amount it requests: its default amount ignores gift cards. Amounts that
are paid, reserved or at the bank cover part of the debt and leave less to pay. No attempt begins for more than is left,
and a page for more than the remainder is closed, be it older or newer. A newer page also replaces older
ones, unless together they do not exceed the amount to pay: then they are parts of one payment, which a storefront may
want to have paid side by side. If two are paid nevertheless, both are booked as they are, and staff are asked to refund
one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_FLOOR, Decimal, InvalidOperation

from app.core.fact import AttemptFact
from app.core.payment import Payment, PaymentAggregate, Problem, row_id_of
from app.core.vocabulary import CloseReason, Mode, State
from app.i18n.messages import Money
from app.rules.balance import ZERO, balance
from app.rules.decision_context import DecisionContext, raise_problem
from app.rules.issues import Issue, IssueCode, issue_from_json
from app.rules.order_standing import compare_uncounted_at, flag_missing_rest
from app.rules.page_cancellation import REPLACED_BY, have_page_closed
from app.rules.problems import (
    PAID_TWICE,
    Unowed,
    clear_problem,
    clear_unowed_money,
    find_problem,
    has_unended_problem,
    restate,
)
from app.rules.refusal import RefusalCode, RefusalError, shopper_message_of
from app.rules.stored_issues import is_stored
from integration_base.amounts import CENT
from saleor_app_sdk.events import SessionEvent
from saleor_app_sdk.source import Checkout, Order
from saleor_app_sdk.transaction_source import TransactionSource

_UNTIL_REPORTED = timedelta(minutes=1)  # what has happened, if Saleor can be reached

_IN_PROGRESS = "Another attempt to pay this is at the bank: no other page is opened until its outcome is known."
_TOO_HIGH = (
    "{amount} {currency} is more than is left to pay: Saleor says {left} {currency}. Request that amount instead."
)
_NOTHING_LEFT = "Saleor says that nothing is left to pay."
_PAID = "Another payment has already paid this: nothing, or less than this amount, is left to pay."


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to pay a debt. ``number`` grows with time.

    ``open``: its page, over ``amount``, can be paid. ``paid`` is the amount paid or reserved, and ``perhaps_paid`` one
    about which the gateway's records contradict each other or the request (laws of money, 7); ``covered`` includes
    both, and the amount that is at the bank.
    """

    number: int
    amount: Decimal
    open: bool
    covered: Decimal = ZERO
    paid: Decimal = ZERO
    perhaps_paid: Decimal = ZERO


def pages_to_close(attempts: Sequence[Attempt], to_pay: Decimal) -> list[int]:
    """Return the numbers of the attempts whose pages must be closed, so that no more than ``to_pay`` can be paid. Pure.

    First come pages for more than the others leave to pay (``pages_exceeding_remainder``). The newest of the rest is
    never closed. Of the older ones, those over the same amount are closed first, as duplicates; then the oldest.
    """
    closing = pages_exceeding_remainder(attempts, to_pay)
    alive = [attempt for attempt in attempts if (attempt.open or attempt.covered) and attempt.number not in closing]
    if not alive:
        return closing
    newest = max(alive, key=lambda attempt: attempt.number)
    left = to_pay - sum((attempt.covered for attempt in attempts), ZERO)
    requested = sum((attempt.amount for attempt in alive if attempt.open), ZERO)
    older = [attempt for attempt in alive if attempt.open and attempt is not newest]
    for attempt in sorted(older, key=lambda attempt: (attempt.amount != newest.amount, attempt.number)):
        if requested <= left:
            break
        requested -= attempt.amount
        closing.append(attempt.number)
    return closing


def pages_exceeding_remainder(attempts: Sequence[Attempt], to_pay: Decimal) -> list[int]:
    """Return the numbers of the open pages for more than the remainder. Pure."""
    left = to_pay - sum((attempt.covered for attempt in attempts), ZERO)
    return [attempt.number for attempt in attempts if attempt.open and attempt.amount > left]


def amount_to_pay(source: Checkout | Order, own_transaction_ids: set[str]) -> Decimal | None:
    """Return what the app's own transactions have to pay of a checkout or order; None when Saleor does not state it.

    Saleor keeps three decimals of what another app has taken: then the whole cents are to be paid.
    """
    if source.amount_due is None:
        return None
    others = (transaction.covered for transaction in source.transactions if transaction.id not in own_transaction_ids)
    try:
        return (source.amount_due - sum(others, ZERO)).quantize(CENT, ROUND_FLOOR)
    except InvalidOperation:  # too many digits, or not a number
        return None


def is_above_debt(event: SessionEvent) -> bool:
    """Return True when a session requests more than Saleor says is left to pay beside its other transactions."""
    left = amount_to_pay(event.source, {event.transaction.id})
    return left is not None and event.action.amount > left


@dataclass(frozen=True, slots=True)
class AttemptBegun(AttemptFact[RefusalError | None]):
    """A payment of ``source`` is about to be recorded, and competes with the others. Returns why it must not begin."""

    source: Checkout | Order

    def decide(self, aggregate: PaymentAggregate, attempts: Sequence[PaymentAggregate]) -> RefusalError | None:
        """Record in all that there are rivals, and Saleor's current id of the debt (a checkout becomes an order).

        In the newest also the amount to pay. ``attempts`` are the others alone.
        """
        newest, others = aggregate.payment, attempts
        competing = {newest.transaction_id, *(other.payment.transaction_id for other in others)}
        newest.to_pay = amount_to_pay(self.source, competing)
        newest.has_rivals = bool(others)
        for other in others:
            other.payment.has_rivals, other.payment.source_id = True, newest.source_id
        if newest.to_pay is None:
            return None
        left = newest.to_pay - _covered(others, newest.currency)
        return None if newest.amount <= left else _refusal(others, newest, max(left, ZERO))


def _refusal(others: Sequence[PaymentAggregate], newest: Payment, left: Decimal) -> RefusalError:
    """Return the refusal of a payment for more than is ``left`` to pay, with the amount to request instead."""
    if _covered(others, newest.currency):
        code = refusal_code(others, newest)
        message = _PAID if code is RefusalCode.ALREADY_PAID else _IN_PROGRESS
    elif left:
        code, currency = RefusalCode.AMOUNT_TOO_HIGH, newest.currency
        message = _TOO_HIGH.format(amount=newest.amount, left=left, currency=currency)
    else:
        return RefusalError(RefusalCode.INVALID_AMOUNT, _NOTHING_LEFT, "amount", amount_to_pay=left)
    shopper_message = shopper_message_of(code.value, newest.language)
    return RefusalError(code, message, shopper_message=shopper_message, amount_to_pay=left)


def _covered(attempts: Sequence[PaymentAggregate], currency: str) -> Decimal:
    return sum((attempt.covered for attempt in attempts_of(attempts, currency)), ZERO)


def refusal_code(others: Sequence[PaymentAggregate], newest: Payment) -> RefusalCode:
    """Return why ``newest`` must not be paid: the others have paid too much of the debt, or have it at the bank."""
    paid = sum((attempt.paid for attempt in attempts_of(others, newest.currency)), ZERO)
    fits = newest.to_pay is not None and newest.amount <= newest.to_pay - paid
    return RefusalCode.PAYMENT_IN_PROGRESS if fits or not paid else RefusalCode.ALREADY_PAID


def close_competing_pages(
    aggregates: Sequence[PaymentAggregate], newest: Payment, context: DecisionContext, *, replacing: bool
) -> None:
    """Record which pages must be closed, and flag a double payment for staff; the worker closes the pages.

    ``aggregates`` are all attempts to pay the same debt as ``newest``; all are locked. ``replacing``: a newer page
    replaces older ones even while nothing is covered. Does nothing when Saleor did not state the total to pay.
    """
    if newest.to_pay is None:
        return
    of_currency = [aggregate for aggregate in aggregates if aggregate.payment.currency == newest.currency]
    known = attempts_of(of_currency, newest.currency)
    exceeding = pages_exceeding_remainder(known, newest.to_pay)
    closing = pages_to_close(known, newest.to_pay) if replacing else exceeding
    too_much = CloseReason.COVERED if any(attempt.covered for attempt in known) else CloseReason.TOO_HIGH
    for aggregate in of_currency:
        if row_id_of(aggregate.payment) in closing:
            reason = too_much if row_id_of(aggregate.payment) in exceeding else CloseReason.REPLACED
            key = f"{REPLACED_BY}{newest.order_id}"
            have_page_closed(aggregate, key=key, reason=reason, due=context.now, now=context.now)
    paid = {attempt.number: attempt.paid + attempt.perhaps_paid for attempt in known}
    flag_double_payment(
        [(aggregate, paid[row_id_of(aggregate.payment)]) for aggregate in of_currency], newest.to_pay, context.now
    )


def compare_with_debt(attempts: Sequence[PaymentAggregate], source: Checkout | Order, context: DecisionContext) -> None:
    """Close the pages for more than is left to pay now: Saleor has stated the debt once more.

    ``attempts`` are all attempts to pay it, oldest first; all are locked.
    """
    newest = attempts[-1].payment  # it has the latest amount to pay
    newest.to_pay = amount_to_pay(source, {attempt.payment.transaction_id for attempt in attempts})
    close_competing_pages(attempts, newest, context, replacing=False)


def attempts_of(aggregates: Sequence[PaymentAggregate], currency: str) -> list[Attempt]:
    """Return the payments in that currency as attempts, with what each has paid and covers."""
    return [attempt_of(aggregate) for aggregate in aggregates if aggregate.payment.currency == currency]


def attempt_of(aggregate: PaymentAggregate) -> Attempt:
    """Return the payment as an attempt, with what it has paid and covers.

    What was refunded, or taken back by the payer's bank, covers nothing; of one that was given back twice there is no
    more to pay than is owed.
    """
    payment, create = aggregate.payment, aggregate.create
    current = balance(payment.flow, aggregate.operations)
    paid = max(current.held, ZERO)
    perhaps_paid = create.amount if create.contradicted and create.state is not State.SUCCESS else ZERO
    at_the_bank = create.amount if _is_at_the_bank(aggregate) and not perhaps_paid else ZERO
    return Attempt(
        number=row_id_of(payment),
        amount=payment.amount,
        open=current.unpaid and not perhaps_paid and not payment.is_link_missing,
        covered=paid + perhaps_paid + at_the_bank,
        paid=paid,
        perhaps_paid=perhaps_paid,
    )


def _is_at_the_bank(aggregate: PaymentAggregate) -> bool:
    """Return True while the shopper has nothing to do; also for a card payment whose outcome is not known yet."""
    create = aggregate.create
    if create.newer_try is not None:
        return True
    if create.state is State.PENDING:
        return not create.waits_for_shopper
    return aggregate.payment.mode is Mode.DIRECT and create.state in {State.INTENT, State.UNKNOWN}


def flag_double_payment(attempts: Sequence[tuple[PaymentAggregate, Decimal]], to_pay: Decimal, now: datetime) -> None:
    """Raise a problem on each payment, if several have together paid or reserved more than there is to pay.

    ``attempts`` are all attempts to pay the same debt, each with the amount that it has paid, reserved, or perhaps
    paid. The problem is cleared once enough is refunded or released. Saleor is asked what is owed now, since the total
    may have changed: also of what is left when the problem is cleared.
    """
    paid = [(aggregate, amount) for aggregate, amount in attempts if amount > ZERO]
    total = sum((amount for _, amount in paid), ZERO)
    twice = len(paid) > 1 and total > to_pay
    for aggregate, amount in attempts:
        known = find_problem(aggregate.payment, PAID_TWICE)
        if not twice or amount <= ZERO:
            if known is not None and amount > ZERO:
                compare_uncounted_at(aggregate.payment, now + _UNTIL_REPORTED)
            clear_problem(aggregate.payment, PAID_TWICE, now)
            continue
        currency = aggregate.payment.currency
        issue = Issue(
            IssueCode.PAID_TWICE,
            total=Money(total, currency),
            to_pay=Money(to_pay, currency),
            others=", ".join(other.payment.order_id for other, _ in paid if other is not aggregate),
        )
        if known is None or not is_stored(issue, known.message):
            compare_uncounted_at(aggregate.payment, now + _UNTIL_REPORTED)
        if known is not None and total > _stated_total(known):  # one more has paid: that is news
            clear_problem(aggregate.payment, PAID_TWICE, now)
        elif known is not None:
            restate(known, issue)
        raise_problem(aggregate, issue, now, cause=PAID_TWICE)
        clear_unowed_money(aggregate.payment, Unowed.OVERPAID, now)  # this says more


def _stated_total(problem: Problem) -> Decimal:
    """Return the sum that staff were told when they were told that several have paid."""
    issue = issue_from_json(problem.message)
    total = None if issue is None else issue.facts.get("total")
    return total.amount if isinstance(total, Money) else ZERO


def state_double_payment(attempts: Sequence[PaymentAggregate], source: TransactionSource, now: datetime) -> None:
    """State what is owed of what several have paid: Saleor was asked, and its total may have changed.

    On each payment of which staff were told that it is too much, they are told when it has become too little.
    ``attempts`` are all attempts to pay it, oldest first; all are locked.
    """
    newest = attempts[-1].payment  # it has the latest amount to pay
    known = attempts_of(attempts, newest.currency)
    paid = [attempt.paid for attempt in known if attempt.paid]
    if source.excess is None or len(paid) < 2 or sum(paid) != _covered(attempts, newest.currency):
        return
    newest.to_pay = sum(paid, ZERO) - source.excess
    amounts = {attempt.number: attempt.paid for attempt in known}
    rows = ((row_id_of(aggregate.payment), aggregate) for aggregate in attempts)
    too_much = [aggregate for aggregate in attempts if has_unended_problem(aggregate.payment, PAID_TWICE)]
    flag_double_payment([(aggregate, amounts[row]) for row, aggregate in rows if row in amounts], newest.to_pay, now)
    for aggregate in too_much:
        flag_missing_rest(aggregate, source, now)


@dataclass(frozen=True, slots=True)
class AttemptsDue(AttemptFact[None]):
    """A payment has progressed, so the other attempts to pay the same are due for a review."""

    context: DecisionContext

    def decide(self, aggregate: PaymentAggregate, attempts: Sequence[PaymentAggregate]) -> None:
        """Close the pages of competing attempts that must not be paid any more, and flag a double payment for staff."""
        aggregate.payment.attempts_due_at = None
        # The newest has the latest amount to pay.
        replacing = aggregate.payment.account.cancel_older
        close_competing_pages(attempts, attempts[-1].payment, self.context, replacing=replacing)
