"""Capture, void, refund and dispute (gateway interface, 3 to 6, and States and transitions).

A hold is captured once, whole or in part (a partial capture gives the rest back), or voided whole. Refunds never sum
to more than was taken. What is pending counts as if it had succeeded.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from app.sandbox.book import cards, shares
from app.sandbox.book.book import Book
from app.sandbox.book.codes import (
    BAD_AMOUNT,
    INSUFFICIENT_FUNDS,
    INVALID_OPERATION,
    OK,
    REFUNDED,
    SETTLES_BY_ITSELF,
    VOIDED,
    Status,
    status_of,
)
from app.sandbox.book.records import Operation, OperationMethod, Payment, Share
from app.sandbox.book.refusals import InvalidFieldsError, NotPossibleError

_SUCCESS = {"capture": OK, "void": VOIDED, "refund": REFUNDED, "dispute": OK}


@dataclass(frozen=True)
class Order:
    """What was asked about a payment. `amount` None stands for all of it."""

    amount: Decimal | None = None
    currency: str | None = None
    split: list[Share] = field(default_factory=list)
    through_split: bool = False
    comment: str | None = None
    server_url: str | None = None
    products: list[dict[str, Any]] = field(default_factory=list)


def operate(book: Book, payment: Payment, method: OperationMethod, order: Order, now: datetime) -> Operation:
    """Carry out an operation by its name. Raises what that operation raises."""
    carry_out = {"capture": capture, "void": void, "refund": refund, "dispute": dispute}[method]
    return carry_out(book, payment, order, now)


def capture(book: Book, payment: Payment, order: Order, now: datetime) -> Operation:
    """Take a hold. Raises NotPossibleError (not a hold, or taken or given back before) and InvalidFieldsError."""
    _same_currency(payment, order)
    _must_be_a_free_hold(book, payment, now)
    amount = payment.amount if order.amount is None else order.amount
    excess = book.behaviour(payment.pos_id).capture_excess_percent
    if amount > payment.amount * (1 + excess / 100):
        raise NotPossibleError("More than was reserved", BAD_AMOUNT)
    split = order.split
    if payment.shares and not split:
        if amount != payment.amount:
            raise InvalidFieldsError([("split", "a part of a split payment is captured with its split")])
        split = payment.shares
    if split:
        shares.check(book, payment.pos_id, split, amount)
    return _carry_out(book, payment, "capture", replace(order, amount=amount, split=split), now)


def void(book: Book, payment: Payment, order: Order, now: datetime) -> Operation:
    """Give a hold back, whole. Raises NotPossibleError and InvalidFieldsError."""
    _same_currency(payment, order)
    _must_be_a_free_hold(book, payment, now)
    return _carry_out(book, payment, "void", replace(order, amount=payment.amount), now)


def refund(book: Book, payment: Payment, order: Order, now: datetime) -> Operation:
    """Give money back, whole or in part.

    Raises NotPossibleError (nothing taken, or too much asked) and InvalidFieldsError.
    """
    _same_currency(payment, order, split_refund=order.through_split)
    taken = taken_amount(book, payment)
    if taken == 0:
        raise NotPossibleError("Only a successful purchase or capture can be refunded", INVALID_OPERATION)
    amount = taken if order.amount is None else order.amount
    if amount > taken - refunded_amount(book, payment) - disputed_amount(book, payment):
        raise NotPossibleError("More than is left to refund", BAD_AMOUNT)
    is_split = bool(shares.received(book, payment))
    if is_split != order.through_split:
        message = "A split payment is refunded by split refund" if is_split else "This payment is not split"
        raise NotPossibleError(message, INVALID_OPERATION)
    if is_split:
        shares.check(book, payment.pos_id, order.split, amount)
        shares.must_fit(order.split, shares.left(book, payment))
    return _carry_out(book, payment, "refund", replace(order, amount=amount), now)


def dispute(book: Book, payment: Payment, order: Order, now: datetime) -> Operation:
    """The payer's bank takes back what the store still has.

    Raises NotPossibleError (nothing is left, or less than that).

    The interface names disputes and does not show them; ours is an operation of its own, of the merchant's money.
    """
    _same_currency(payment, order)
    left = taken_amount(book, payment) - refunded_amount(book, payment) - disputed_amount(book, payment)
    if left <= 0:
        raise NotPossibleError("Only what was paid can be disputed", INVALID_OPERATION)
    amount = left if order.amount is None else order.amount
    if amount > left:
        raise NotPossibleError("More than was paid", BAD_AMOUNT)
    return _carry_out(book, payment, "dispute", replace(order, amount=amount), now)


def taken_amount(book: Book, payment: Payment) -> Decimal:
    """What was really taken: by the purchase, or by the capture of a hold."""
    if payment.status is not Status.SUCCESS:
        return Decimal(0)
    if payment.method == "purchase":
        return payment.paid_amount
    captures = (entry for entry in book.living(payment, "capture") if entry.status is Status.SUCCESS)
    return sum((entry.amount for entry in captures), Decimal(0))


def refunded_amount(book: Book, payment: Payment) -> Decimal:
    """What was given back or is about to be."""
    return sum((entry.amount for entry in book.living(payment, "refund")), Decimal(0))


def disputed_amount(book: Book, payment: Payment) -> Decimal:
    """What the payer's bank has taken back or is about to."""
    return sum((entry.amount for entry in book.living(payment, "dispute")), Decimal(0))


def finish(book: Book, operation: Operation, code: str, now: datetime) -> None:
    """Give an operation that is not final the status of a code; money moves when it succeeds."""
    account = book.account(operation.pos_id, operation.currency)
    if status_of(code) is Status.SUCCESS and operation.method == "refund":
        own = operation.amount - shares.total_of(operation.shares)
        if account.available < own:
            code = INSUFFICIENT_FUNDS
        else:
            account.available -= own
            shares.pay_out(book, operation)
    if status_of(code) is Status.SUCCESS and operation.method == "capture":
        operation.fee = book.fee_for(operation.pos_id, operation.amount, operation.currency)
        own = shares.pay_in(book, operation, operation.shares, operation.amount)
        book.take_in(operation, own)
    if status_of(code) is Status.SUCCESS and operation.method == "dispute":
        account.available -= operation.amount  # nobody asks whether there is as much
    operation.move(code, now)
    if code in SETTLES_BY_ITSELF:
        operation.settles_at = now + book.behaviour(operation.pos_id).settle_after
    book.announce(operation)


def settle(book: Book, operation: Operation, code: str, now: datetime) -> None:
    """Decide a pending operation; any success code stands for the method's own. Raises NotPossibleError."""
    if operation.final:
        raise NotPossibleError("This operation is final", INVALID_OPERATION)
    finish(book, operation, _SUCCESS[operation.method] if status_of(code) is Status.SUCCESS else code, now)


def _carry_out(book: Book, payment: Payment, method: OperationMethod, order: Order, now: datetime) -> Operation:
    operation = Operation(
        operation_id=book.new_id(),
        payment_id=payment.payment_id,
        order_id=payment.order_id,
        pos_id=payment.pos_id,
        transaction_id=book.new_id(),
        method=method,
        amount=payment.amount if order.amount is None else order.amount,
        currency=payment.currency,
        created_at=now,
        server_url=order.server_url,
        comment=order.comment,
        products=order.products,
        shares=order.split,
        through_split=order.through_split,
        base_url=payment.base_url,
    )
    book.add_operation(operation)
    finish(book, operation, _outcome(book, operation), now)
    return operation


def _outcome(book: Book, operation: Operation) -> str:
    scripted = book.scripted(operation.method, operation.order_id)
    if scripted is not None and status_of(scripted) is not Status.SUCCESS:
        return scripted
    success = _SUCCESS[operation.method]
    # A void's amount is not the caller's choice, nor is that of a dispute, so its cents choose nothing.
    if scripted or operation.method in {"void", "dispute"} or not book.behaviour(operation.pos_id).amount_endings:
        return success
    return cards.SECONDARY_ENDINGS.get(cards.ending_of(operation.amount), success)


def _same_currency(payment: Payment, order: Order, *, split_refund: bool = False) -> None:
    if order.currency is not None and order.currency != payment.currency:
        name = "currency" if split_refund else "order_currency"
        raise InvalidFieldsError([(name, "is not the currency of the payment")])


def _must_be_a_free_hold(book: Book, payment: Payment, now: datetime) -> None:
    if payment.method != "auth" or payment.status is not Status.SUCCESS:
        raise NotPossibleError("Only a successful reservation allows this", INVALID_OPERATION)
    if not book.is_free_hold(payment):
        raise NotPossibleError("This reservation was captured or voided before", INVALID_OPERATION)
    lapses_after = book.behaviour(payment.pos_id).hold_lapses_after
    if lapses_after is not None and payment.processed_at is not None and payment.processed_at + lapses_after <= now:
        raise NotPossibleError("This reservation has lapsed", INVALID_OPERATION)
