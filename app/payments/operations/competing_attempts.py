"""Several attempts to pay the same checkout or order: one debt is paid once (laws of money, 12).

What is paid, reserved or at the bank leaves less to pay: no attempt begins for what is covered, and a page that asks
for more than what is left is closed, be it older or newer. A newer page also replaces the older ones, unless they fit
together into what is to pay: then they are parts of one payment, which a storefront may well want to be paid side by
side. If two are paid even so, both are booked as they are, and staff are told to refund one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from app.amounts import is_in_cents
from app.db.aggregates import ById, PaymentAggregate, SameDebt, row_id_of
from app.db.tables import Kind, Mode, Payment, State
from app.i18n.messages import LazyMessage, Money
from app.payments.core.apply import Posting, raise_problem
from app.payments.core.balance import ZERO, balance
from app.payments.core.page_cancellation import COVERED, REPLACED, REPLACED_BY, cancellation, link_is_missing
from app.payments.core.problems import PAID_TWICE, clear
from app.payments.core.refusal import RefusalCode, RefusalError, shopper_words
from app.payments.services import Services
from app.saleor.source import Checkout, Order

_IN_PROGRESS = "Another attempt to pay this is at the bank: no other page is opened until it is known how it ends."
_PAID = "This is paid already by another payment: nothing, or less than that, is left to pay."


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to pay for something. ``number`` grows with time.

    ``open``: its page can be paid, over ``amount``. ``covered``: what of the total it has paid or reserved (``paid``),
    or what is at the bank.
    """

    number: int
    amount: Decimal
    open: bool
    covered: Decimal = ZERO
    paid: Decimal = ZERO


def replaced(attempts: Sequence[Attempt], to_pay: Decimal) -> list[int]:
    """Return the numbers of the attempts whose pages must be closed, so that no more than ``to_pay`` can be paid. Pure.

    First those that ask for more than what others leave to pay (``beyond``). The newest of the rest is never closed. Of
    the older ones those over the same amount go first, because they are the same thing once more; then the oldest.
    """
    closing = beyond(attempts, to_pay)
    alive = [each for each in attempts if (each.open or each.covered) and each.number not in closing]
    if not alive:
        return closing
    newest = max(alive, key=lambda each: each.number)
    left = to_pay - sum((each.covered for each in attempts), ZERO)
    asked = sum((each.amount for each in alive if each.open), ZERO)
    older = [each for each in alive if each.open and each is not newest]
    for each in sorted(older, key=lambda older: (older.amount != newest.amount, older.number)):
        if asked <= left:
            break
        asked -= each.amount
        closing.append(each.number)
    return closing


def beyond(attempts: Sequence[Attempt], to_pay: Decimal) -> list[int]:
    """Return the numbers of the open pages that ask for more than what is left, once anything is covered. Pure."""
    covered = sum((each.covered for each in attempts), ZERO)
    return [each.number for each in attempts if covered and each.open and each.amount > to_pay - covered]


def to_pay(source: Checkout | Order, ours: set[str]) -> Decimal | None:
    """Return what is to pay of a checkout or order by the transactions ``ours``; None when Saleor does not say it."""
    if source.total is None:
        return None
    amount = source.total.gross.amount - sum(
        (each.covered for each in source.transactions if each.id not in ours), ZERO
    )
    return amount if is_in_cents(amount) else None


def join(newest: Payment, others: Sequence[PaymentAggregate], source: Checkout | Order) -> RefusalError | None:
    """Let a payment that is about to be recorded be an attempt beside ``others``, which are locked.

    Returns why it must not begin. From now on all of them know that there are others, what is to pay, and by which id
    Saleor calls what they pay: a checkout becomes an order.
    """
    newest.to_pay = to_pay(source, {newest.transaction_id, *(each.payment.transaction_id for each in others)})
    newest.has_rivals = bool(others)
    for each in others:
        each.payment.has_rivals, each.payment.source_id = True, newest.source_id
    if newest.to_pay is None:
        return None
    covered = sum((each.covered for each in attempts_of(others, newest.currency)), ZERO)
    if not covered or newest.amount <= newest.to_pay - covered:
        return None
    code = covering(others, newest)
    words = _PAID if code is RefusalCode.ALREADY_PAID else _IN_PROGRESS
    return RefusalError(code, words, shopper=shopper_words(code.value, newest.language))


def covering(others: Sequence[PaymentAggregate], newest: Payment) -> RefusalCode:
    """Return why ``newest`` must not be paid: what others have paid leaves too little, or what is at the bank does."""
    paid = sum((each.paid for each in attempts_of(others, newest.currency)), ZERO)
    enough = newest.to_pay is not None and newest.amount <= newest.to_pay - paid
    return RefusalCode.PAYMENT_IN_PROGRESS if enough or not paid else RefusalCode.ALREADY_PAID


def compare(aggregates: Sequence[PaymentAggregate], newest: Payment, posting: Posting, *, replacing: bool) -> None:
    """Record which pages are to be closed now, and tell staff of what is paid twice; the worker does the rest.

    ``aggregates`` are all attempts to pay what ``newest`` pays, locked. ``replacing``: a newer page replaces older ones
    also while nothing is covered. Does nothing when Saleor did not say what there is to pay in all.
    """
    if newest.to_pay is None:
        return
    of_currency = [each for each in aggregates if each.payment.currency == newest.currency]
    known = attempts_of(of_currency, newest.currency)
    covered = beyond(known, newest.to_pay)
    closing = replaced(known, newest.to_pay) if replacing else covered
    for aggregate in of_currency:
        if row_id_of(aggregate.payment) in closing:
            _close(aggregate, newest, posting.now, why=COVERED if row_id_of(aggregate.payment) in covered else REPLACED)
    paid = {each.number: each.paid for each in known}
    mind_what_is_paid_twice(
        [(aggregate, paid[row_id_of(aggregate.payment)]) for aggregate in of_currency], newest.to_pay, posting.now
    )


def is_closed_for_others(aggregate: PaymentAggregate) -> bool:
    """Return True when a page that has just opened is to be closed again, because the same is covered meanwhile."""
    return any(each.request.get("why") == COVERED and not each.state.final for each in aggregate.operations)


def attempts_of(aggregates: Sequence[PaymentAggregate], currency: str) -> list[Attempt]:
    """Return what the attempts in that currency have come to."""
    return [_attempt(each) for each in aggregates if each.payment.currency == currency]


def _attempt(aggregate: PaymentAggregate) -> Attempt:
    payment, create = aggregate.payment, aggregate.create
    now = balance(payment.flow, aggregate.operations)
    released = any(
        each.kind in {Kind.CAPTURE, Kind.VOID} and each.state is State.SUCCESS for each in aggregate.operations
    )
    paid = now.charged - now.refunded + (ZERO if released else now.authorized)
    return Attempt(
        number=row_id_of(payment),
        amount=payment.amount,
        open=now.unpaid and not link_is_missing(payment),
        covered=paid + (create.amount if _is_at_the_bank(aggregate) else ZERO),
        paid=paid,
    )


def _is_at_the_bank(aggregate: PaymentAggregate) -> bool:
    """Return True while it is not the shopper's turn: also of a card payment of which nobody knows yet how it ended."""
    create = aggregate.create
    if create.state is State.PENDING:
        return not create.waits_for_shopper
    return aggregate.payment.mode is Mode.DIRECT and create.state in {State.INTENT, State.UNKNOWN}


def _close(aggregate: PaymentAggregate, newest: Payment, now: datetime, *, why: str) -> None:
    """Have a page closed. Should somebody be paying at this very moment, the closing finds out how that ends."""
    key = f"{REPLACED_BY}{newest.order_id}"
    if aggregate.by_key(key) is None:
        aggregate.operations.append(
            cancellation(aggregate.payment, key=key, why=why, state=State.WAITING, next_poll_at=now, now=now)
        )


def mind_what_is_paid_twice(
    attempts: Sequence[tuple[PaymentAggregate, Decimal]], to_pay: Decimal, now: datetime
) -> None:
    """Make it a problem of each payment, when several have paid or reserved more than there is to pay together.

    ``attempts`` are all attempts to pay the same, each with what it has paid or reserved. The problem is gone when
    enough is refunded or released.
    """
    paid = [(aggregate, amount) for aggregate, amount in attempts if amount > ZERO]
    total = sum((amount for _, amount in paid), ZERO)
    twice = len(paid) > 1 and total > to_pay
    for aggregate, amount in attempts:
        if not twice or amount <= ZERO:
            clear(aggregate.payment, PAID_TWICE, now)
            continue
        currency = aggregate.payment.currency
        words = LazyMessage(
            "Paid twice: %(total)s were paid or reserved for %(to_pay)s, by this payment and by %(others)s. Ask the "
            "customer if need be, and refund or release one of them.",
            total=Money(total, currency),
            to_pay=Money(to_pay, currency),
            others=", ".join(other.payment.order_id for other, _ in paid if other is not aggregate),
        )
        raise_problem(aggregate, words, now, cause=PAID_TWICE)


async def compare_attempts(services: Services, payment_id: int) -> None:
    """Close the pages of the other attempts that must not be paid any more; tell staff of what is paid twice."""
    which = ById(payment_id)
    known = await services.payments.find(which)
    assert known is not None  # noqa: S101 - payments are never deleted
    posting = services.posting()

    def step(own: PaymentAggregate, attempts: Sequence[PaymentAggregate]) -> Sequence[PaymentAggregate]:
        own.payment.attempts_due_at = None
        # The newest was told last what there is to pay.
        compare(attempts, attempts[-1].payment, posting, replacing=own.payment.account.cancel_older)
        return attempts

    debt = SameDebt(known.payment.installation_id, known.payment.source_id)
    services.wake_for(await services.payments.update_attempts(which, debt, step))
