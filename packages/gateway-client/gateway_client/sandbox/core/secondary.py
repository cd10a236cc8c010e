"""Capture, void, refund and dispute (gateway interface, 3 to 6, and States and transitions).

A hold is captured once, whole or in part (a partial capture releases the rest), or voided whole. Refunds never sum
to more than was taken. A pending operation counts as if it had succeeded.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from gateway_client.sandbox.core import cards, shares
from gateway_client.sandbox.core.codes import (
    BAD_AMOUNT,
    INSUFFICIENT_FUNDS,
    INVALID_OPERATION,
    OK,
    REFUNDED,
    SELF_SETTLING_CODES,
    VOIDED,
    Status,
    status_of,
)
from gateway_client.sandbox.core.gateway_state import GatewayState
from gateway_client.sandbox.core.records import Operation, OperationMethod, Payment, Share
from gateway_client.sandbox.core.refusals import InvalidFieldsError, NotPossibleError

_SUCCESS = {"capture": OK, "void": VOIDED, "refund": REFUNDED, "dispute": OK}


@dataclass(frozen=True)
class OperationRequest:
    """The request of an operation on a payment. `amount` None stands for the whole amount."""

    amount: Decimal | None = None
    currency: str | None = None
    split: list[Share] = field(default_factory=list)
    through_split: bool = False
    comment: str | None = None
    server_url: str | None = None
    products: list[dict[str, Any]] = field(default_factory=list)


def operate(
    state: GatewayState, payment: Payment, method: OperationMethod, request: OperationRequest, now: datetime
) -> Operation:
    """Perform an operation by its name. Raises what that operation raises."""
    operation = {"capture": capture, "void": void, "refund": refund, "dispute": dispute}[method]
    return operation(state, payment, request, now)


def capture(state: GatewayState, payment: Payment, request: OperationRequest, now: datetime) -> Operation:
    """Capture a hold. Raises NotPossibleError (not a hold, or captured or voided before) and InvalidFieldsError."""
    _require_same_currency(payment, request)
    _require_open_hold(state, payment, now)
    left = state.uncaptured_amount(payment)
    amount = left if request.amount is None else request.amount
    excess = state.behaviour(payment.pos_id).capture_excess_percent
    if amount > left * (1 + excess / 100):
        raise NotPossibleError("More than was reserved", BAD_AMOUNT)
    split = request.split
    if payment.shares and not split:
        if amount != payment.amount:
            raise InvalidFieldsError([("split", "a part of a split payment is captured with its split")])
        split = payment.shares
    if split:
        shares.check(state, payment.pos_id, split, amount)
    return _perform(state, payment, "capture", replace(request, amount=amount, split=split), now)


def void(state: GatewayState, payment: Payment, request: OperationRequest, now: datetime) -> Operation:
    """Void what is left of a hold. Raises NotPossibleError and InvalidFieldsError."""
    _require_same_currency(payment, request)
    _require_open_hold(state, payment, now)
    return _perform(state, payment, "void", replace(request, amount=state.uncaptured_amount(payment)), now)


def refund(state: GatewayState, payment: Payment, request: OperationRequest, now: datetime) -> Operation:
    """Refund a payment, whole or in part.

    Raises NotPossibleError (nothing taken, or too much requested) and InvalidFieldsError.
    """
    _require_same_currency(payment, request, split_refund=request.through_split)
    taken = taken_amount(state, payment)
    if taken == 0:
        raise NotPossibleError("Only a successful purchase or capture can be refunded", INVALID_OPERATION)
    amount = taken if request.amount is None else request.amount
    if amount > taken - refunded_amount(state, payment) - disputed_amount(state, payment):
        raise NotPossibleError("More than is left to refund", BAD_AMOUNT)
    is_split = bool(shares.received_shares(state, payment))
    if is_split != request.through_split:
        message = "A split payment is refunded by split refund" if is_split else "This payment is not split"
        raise NotPossibleError(message, INVALID_OPERATION)
    if is_split:
        shares.check(state, payment.pos_id, request.split, amount)
        shares.check_within_limits(request.split, shares.refundable_amounts(state, payment))
    return _perform(state, payment, "refund", replace(request, amount=amount), now)


def dispute(state: GatewayState, payment: Payment, request: OperationRequest, now: datetime) -> Operation:
    """Let the payer's bank take back what the store still has, or a part of it.

    Raises NotPossibleError (nothing is left, or less than the requested amount).

    The interface names disputes but does not show them; ours is an operation of its own, on the merchant's money.
    """
    _require_same_currency(payment, request)
    left = taken_amount(state, payment) - refunded_amount(state, payment) - disputed_amount(state, payment)
    if left <= 0:
        raise NotPossibleError("Only what was paid can be disputed", INVALID_OPERATION)
    amount = left if request.amount is None else request.amount
    if amount > left:
        raise NotPossibleError("More than was paid", BAD_AMOUNT)
    return _perform(state, payment, "dispute", replace(request, amount=amount), now)


def taken_amount(state: GatewayState, payment: Payment) -> Decimal:
    """Return the amount really taken: by the purchase, or by the capture of a hold."""
    if payment.status is not Status.SUCCESS:
        return Decimal(0)
    if payment.method == "purchase":
        return payment.paid_amount
    captures = (entry for entry in state.active_operations(payment, "capture") if entry.status is Status.SUCCESS)
    return sum((entry.amount for entry in captures), Decimal(0))


def refunded_amount(state: GatewayState, payment: Payment) -> Decimal:
    """Return the amount of all refunds, successful or pending."""
    return sum((entry.amount for entry in state.active_operations(payment, "refund")), Decimal(0))


def disputed_amount(state: GatewayState, payment: Payment) -> Decimal:
    """Return the amount of all disputes, successful or pending."""
    return sum((entry.amount for entry in state.active_operations(payment, "dispute")), Decimal(0))


def apply_status_code(state: GatewayState, operation: Operation, code: str, now: datetime) -> None:
    """Set the status of a code on an operation that is not final; money moves when it succeeds."""
    account = state.account(operation.pos_id, operation.currency)
    if status_of(code) is Status.SUCCESS and operation.method == "refund":
        own = operation.amount - shares.total_of(operation.shares)
        if account.available < own:
            code = INSUFFICIENT_FUNDS
        else:
            account.available -= own
            shares.debit_sub_merchants(state, operation)
    if status_of(code) is Status.SUCCESS and operation.method == "capture":
        operation.fee = state.fee_for(operation.pos_id, operation.amount, operation.currency)
        own = shares.credit_sub_merchants(state, operation, operation.shares, operation.amount)
        state.credit_merchant(operation, own)
    if status_of(code) is Status.SUCCESS and operation.method == "dispute":
        account.available -= operation.amount  # whether or not the balance covers it
    operation.set_status(code, now)
    if code in SELF_SETTLING_CODES:
        operation.settles_at = now + state.behaviour(operation.pos_id).settle_after
    state.record_change(operation)


def settle(state: GatewayState, operation: Operation, code: str, now: datetime) -> None:
    """Settle a pending operation; any success code stands for the method's own. Raises NotPossibleError.

    A dispute that has been decided can be decided anew, the other way.
    """
    turns = operation.method == "dispute" and operation.final and operation.status is not status_of(code)
    if operation.final and not turns:
        raise NotPossibleError("This operation is final", INVALID_OPERATION)
    if operation.method == "dispute" and operation.status is Status.SUCCESS:
        state.account(operation.pos_id, operation.currency).available += operation.amount
    apply_status_code(state, operation, _SUCCESS[operation.method] if status_of(code) is Status.SUCCESS else code, now)


def _perform(
    state: GatewayState, payment: Payment, method: OperationMethod, request: OperationRequest, now: datetime
) -> Operation:
    operation = Operation(
        operation_id=state.new_id(),
        payment_id=payment.payment_id,
        order_id=payment.order_id,
        pos_id=payment.pos_id,
        transaction_id=state.new_id(),
        method=method,
        amount=payment.amount if request.amount is None else request.amount,
        currency=payment.currency,
        created_at=now,
        server_url=request.server_url,
        comment=request.comment,
        products=request.products,
        shares=request.split,
        through_split=request.through_split,
        base_url=payment.base_url,
    )
    state.add_operation(operation)
    apply_status_code(state, operation, _outcome_code(state, operation), now)
    return operation


def _outcome_code(state: GatewayState, operation: Operation) -> str:
    scripted = state.take_scripted_code(operation.method, operation.order_id)
    if scripted is not None and status_of(scripted) is not Status.SUCCESS:
        return scripted
    success = _SUCCESS[operation.method]
    # The caller does not choose the amount of a void or a dispute, so its cents do not determine the outcome.
    if scripted or operation.method in {"void", "dispute"} or not state.behaviour(operation.pos_id).amount_endings:
        return success
    return cards.SECONDARY_ENDINGS.get(cards.ending_of(operation.amount), success)


def _require_same_currency(payment: Payment, request: OperationRequest, *, split_refund: bool = False) -> None:
    if request.currency is not None and request.currency != payment.currency:
        name = "currency" if split_refund else "order_currency"
        raise InvalidFieldsError([(name, "is not the currency of the payment")])


def _require_open_hold(state: GatewayState, payment: Payment, now: datetime) -> None:
    if payment.method != "auth" or payment.status is not Status.SUCCESS:
        raise NotPossibleError("Only a successful reservation allows this", INVALID_OPERATION)
    if not state.is_open_hold(payment):
        raise NotPossibleError("This reservation was captured or voided before", INVALID_OPERATION)
    lapses_after = state.behaviour(payment.pos_id).hold_lapses_after
    if lapses_after is not None and payment.processed_at is not None and payment.processed_at + lapses_after <= now:
        raise NotPossibleError("This reservation has lapsed", INVALID_OPERATION)
