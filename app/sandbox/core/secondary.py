"""Capture, void, refund and dispute (gateway interface, 3 to 6, and States and transitions).

A hold is captured once, whole or in part (a partial capture gives the rest back), or voided whole. Refunds never sum
to more than was taken. What is pending counts as if it had succeeded.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from app.sandbox.core import cards, shares
from app.sandbox.core.codes import (
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
from app.sandbox.core.gateway_state import GatewayState
from app.sandbox.core.records import Operation, OperationMethod, Payment, Share
from app.sandbox.core.refusals import InvalidFieldsError, NotPossibleError

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


def operate(state: GatewayState, payment: Payment, method: OperationMethod, order: Order, now: datetime) -> Operation:
    """Carry out an operation by its name. Raises what that operation raises."""
    carry_out = {"capture": capture, "void": void, "refund": refund, "dispute": dispute}[method]
    return carry_out(state, payment, order, now)


def capture(state: GatewayState, payment: Payment, order: Order, now: datetime) -> Operation:
    """Take a hold. Raises NotPossibleError (not a hold, or taken or given back before) and InvalidFieldsError."""
    _same_currency(payment, order)
    _must_be_a_free_hold(state, payment, now)
    amount = payment.amount if order.amount is None else order.amount
    excess = state.behaviour(payment.pos_id).capture_excess_percent
    if amount > payment.amount * (1 + excess / 100):
        raise NotPossibleError("More than was reserved", BAD_AMOUNT)
    split = order.split
    if payment.shares and not split:
        if amount != payment.amount:
            raise InvalidFieldsError([("split", "a part of a split payment is captured with its split")])
        split = payment.shares
    if split:
        shares.check(state, payment.pos_id, split, amount)
    return _carry_out(state, payment, "capture", replace(order, amount=amount, split=split), now)


def void(state: GatewayState, payment: Payment, order: Order, now: datetime) -> Operation:
    """Give a hold back, whole. Raises NotPossibleError and InvalidFieldsError."""
    _same_currency(payment, order)
    _must_be_a_free_hold(state, payment, now)
    return _carry_out(state, payment, "void", replace(order, amount=payment.amount), now)


def refund(state: GatewayState, payment: Payment, order: Order, now: datetime) -> Operation:
    """Give money back, whole or in part.

    Raises NotPossibleError (nothing taken, or too much asked) and InvalidFieldsError.
    """
    _same_currency(payment, order, split_refund=order.through_split)
    taken = taken_amount(state, payment)
    if taken == 0:
        raise NotPossibleError("Only a successful purchase or capture can be refunded", INVALID_OPERATION)
    amount = taken if order.amount is None else order.amount
    if amount > taken - refunded_amount(state, payment) - disputed_amount(state, payment):
        raise NotPossibleError("More than is left to refund", BAD_AMOUNT)
    is_split = bool(shares.received(state, payment))
    if is_split != order.through_split:
        message = "A split payment is refunded by split refund" if is_split else "This payment is not split"
        raise NotPossibleError(message, INVALID_OPERATION)
    if is_split:
        shares.check(state, payment.pos_id, order.split, amount)
        shares.must_fit(order.split, shares.left(state, payment))
    return _carry_out(state, payment, "refund", replace(order, amount=amount), now)


def dispute(state: GatewayState, payment: Payment, order: Order, now: datetime) -> Operation:
    """The payer's bank takes back what the store still has.

    Raises NotPossibleError (nothing is left, or less than that).

    The interface names disputes and does not show them; ours is an operation of its own, of the merchant's money.
    """
    _same_currency(payment, order)
    left = taken_amount(state, payment) - refunded_amount(state, payment) - disputed_amount(state, payment)
    if left <= 0:
        raise NotPossibleError("Only what was paid can be disputed", INVALID_OPERATION)
    amount = left if order.amount is None else order.amount
    if amount > left:
        raise NotPossibleError("More than was paid", BAD_AMOUNT)
    return _carry_out(state, payment, "dispute", replace(order, amount=amount), now)


def taken_amount(state: GatewayState, payment: Payment) -> Decimal:
    """What was really taken: by the purchase, or by the capture of a hold."""
    if payment.status is not Status.SUCCESS:
        return Decimal(0)
    if payment.method == "purchase":
        return payment.paid_amount
    captures = (entry for entry in state.living(payment, "capture") if entry.status is Status.SUCCESS)
    return sum((entry.amount for entry in captures), Decimal(0))


def refunded_amount(state: GatewayState, payment: Payment) -> Decimal:
    """What was given back or is about to be."""
    return sum((entry.amount for entry in state.living(payment, "refund")), Decimal(0))


def disputed_amount(state: GatewayState, payment: Payment) -> Decimal:
    """What the payer's bank has taken back or is about to."""
    return sum((entry.amount for entry in state.living(payment, "dispute")), Decimal(0))


def finish(state: GatewayState, operation: Operation, code: str, now: datetime) -> None:
    """Give an operation that is not final the status of a code; money moves when it succeeds."""
    account = state.account(operation.pos_id, operation.currency)
    if status_of(code) is Status.SUCCESS and operation.method == "refund":
        own = operation.amount - shares.total_of(operation.shares)
        if account.available < own:
            code = INSUFFICIENT_FUNDS
        else:
            account.available -= own
            shares.pay_out(state, operation)
    if status_of(code) is Status.SUCCESS and operation.method == "capture":
        operation.fee = state.fee_for(operation.pos_id, operation.amount, operation.currency)
        own = shares.pay_in(state, operation, operation.shares, operation.amount)
        state.take_in(operation, own)
    if status_of(code) is Status.SUCCESS and operation.method == "dispute":
        account.available -= operation.amount  # nobody asks whether there is as much
    operation.move(code, now)
    if code in SETTLES_BY_ITSELF:
        operation.settles_at = now + state.behaviour(operation.pos_id).settle_after
    state.announce(operation)


def settle(state: GatewayState, operation: Operation, code: str, now: datetime) -> None:
    """Decide a pending operation; any success code stands for the method's own. Raises NotPossibleError."""
    if operation.final:
        raise NotPossibleError("This operation is final", INVALID_OPERATION)
    finish(state, operation, _SUCCESS[operation.method] if status_of(code) is Status.SUCCESS else code, now)


def _carry_out(
    state: GatewayState, payment: Payment, method: OperationMethod, order: Order, now: datetime
) -> Operation:
    operation = Operation(
        operation_id=state.new_id(),
        payment_id=payment.payment_id,
        order_id=payment.order_id,
        pos_id=payment.pos_id,
        transaction_id=state.new_id(),
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
    state.add_operation(operation)
    finish(state, operation, _outcome(state, operation), now)
    return operation


def _outcome(state: GatewayState, operation: Operation) -> str:
    scripted = state.scripted(operation.method, operation.order_id)
    if scripted is not None and status_of(scripted) is not Status.SUCCESS:
        return scripted
    success = _SUCCESS[operation.method]
    # A void's amount is not the caller's choice, nor is that of a dispute, so its cents choose nothing.
    if scripted or operation.method in {"void", "dispute"} or not state.behaviour(operation.pos_id).amount_endings:
        return success
    return cards.SECONDARY_ENDINGS.get(cards.ending_of(operation.amount), success)


def _same_currency(payment: Payment, order: Order, *, split_refund: bool = False) -> None:
    if order.currency is not None and order.currency != payment.currency:
        name = "currency" if split_refund else "order_currency"
        raise InvalidFieldsError([(name, "is not the currency of the payment")])


def _must_be_a_free_hold(state: GatewayState, payment: Payment, now: datetime) -> None:
    if payment.method != "auth" or payment.status is not Status.SUCCESS:
        raise NotPossibleError("Only a successful reservation allows this", INVALID_OPERATION)
    if not state.is_free_hold(payment):
        raise NotPossibleError("This reservation was captured or voided before", INVALID_OPERATION)
    lapses_after = state.behaviour(payment.pos_id).hold_lapses_after
    if lapses_after is not None and payment.processed_at is not None and payment.processed_at + lapses_after <= now:
        raise NotPossibleError("This reservation has lapsed", INVALID_OPERATION)
