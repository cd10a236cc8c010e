"""What becomes of a payment once somebody tries to pay it, and what else may end it.

Source: gateway interface, States and transitions. A payment only moves forward: init, pending, success or failure.
"""

from datetime import datetime
from decimal import Decimal

from app.sandbox.core import cards, shares
from app.sandbox.core.codes import (
    CANCELLED,
    CHALLENGE_FAILED,
    INSUFFICIENT_FUNDS,
    INVALID_OPERATION,
    OK,
    PROCESSING,
    SESSION_EXPIRED,
    SETTLES_BY_ITSELF,
    Status,
    status_of,
)
from app.sandbox.core.gateway_state import GatewayState
from app.sandbox.core.records import CardOnFile, Payment
from app.sandbox.core.refusals import NotPossibleError
from app.sandbox.core.subscriptions import activate


def outcome(state: GatewayState, payment: Payment, card_code: str) -> str:
    """The code an attempt ends with: what was scripted, else the card's, else the amount's ending."""
    scripted = state.scripted(payment.method, payment.order_id)
    if scripted is not None:
        return scripted
    if card_code != OK or not state.behaviour(payment.pos_id).amount_endings:
        return card_code
    return cards.AMOUNT_ENDINGS.get(cards.ending_of(payment.amount), OK)


def attempt(
    state: GatewayState, payment: Payment, card: CardOnFile, now: datetime, *, processed_amount: Decimal | None = None
) -> None:
    """Pay an `init` payment with a card. The merchant hears of `pending` first, then of what it came to.

    `processed_amount` stands for an alternative method where the payer changed the amount.
    Raises NotPossibleError when the payment is no longer `init`.
    """
    if payment.status is not Status.INIT:
        raise NotPossibleError("This payment was attempted before", INVALID_OPERATION)
    payment.card = card
    payment.payway = "cc"
    if processed_amount is not None:
        payment.payway = "bank_pay"
        payment.processed_amount = processed_amount
    code = outcome(state, payment, card.code)
    if state.behaviour(payment.pos_id).pending_webhook and status_of(code) is not Status.PENDING:
        payment.move(PROCESSING, now)
        state.announce(payment)
    finish(state, payment, code, now)


def finish(state: GatewayState, payment: Payment, code: str, now: datetime) -> None:
    """Give a payment that is not final the status of a code, with everything that goes with it."""
    behaviour = state.behaviour(payment.pos_id)
    if status_of(code) is Status.SUCCESS:
        code = _succeed(state, payment, now)
    payment.move(code, now)
    if code in SETTLES_BY_ITSELF:
        payment.settles_at = now + behaviour.settle_after
    if payment.status is Status.FAILURE:
        payment.fee = None
    state.announce(payment)


def _succeed(state: GatewayState, payment: Payment, now: datetime) -> str:
    account = state.account(payment.pos_id, payment.currency)
    if payment.method == "credit":
        if account.available < payment.amount:
            return INSUFFICIENT_FUNDS
        account.available -= payment.amount
    payment.transaction_id = payment.transaction_id or state.new_id()
    payment.gateway_order_id = payment.gateway_order_id or f"GW{state.new_id().hex[:12].upper()}"
    payment.billing_order_id = payment.billing_order_id or f"BL{state.new_id().hex[:12].upper()}"
    payment.eci = "05"
    payment.fee = state.fee_for(payment.pos_id, payment.paid_amount, payment.currency)
    if payment.method == "purchase":
        own = shares.pay_in(state, payment, shares.as_paid(payment), payment.paid_amount)
        state.take_in(payment, own)
    if payment.plan is not None:
        activate(state, payment, now)
    return state.behaviour(payment.pos_id).auth_success_code if payment.method == "auth" else OK


def answer_challenge(state: GatewayState, payment: Payment, now: datetime, *, passed: bool) -> None:
    """The payer passed or failed 3-D Secure. Raises NotPossibleError when nobody waits for that."""
    if not payment.waits_for_payer:
        raise NotPossibleError("This payment waits for no confirmation", INVALID_OPERATION)
    if not passed:
        finish(state, payment, CHALLENGE_FAILED, now)
        return
    if state.behaviour(payment.pos_id).pending_webhook:
        payment.move(PROCESSING, now)
        state.announce(payment)
    finish(state, payment, OK, now)


def settle(state: GatewayState, payment: Payment, code: str, now: datetime) -> None:
    """Give a payment that is not final the outcome of a code, whatever it waited for. Raises NotPossibleError."""
    if payment.final:
        raise NotPossibleError("This payment is final", INVALID_OPERATION)
    finish(state, payment, code, now)


def expire(state: GatewayState, payment: Payment, now: datetime) -> None:
    """The lifetime is over: 4149 for an unpaid page, 4147 for a challenge nobody answered. Raises NotPossibleError."""
    if payment.status is Status.INIT:
        finish(state, payment, SESSION_EXPIRED, now)
    elif payment.waits_for_payer:
        finish(state, payment, CHALLENGE_FAILED, now)
    else:
        raise NotPossibleError("Only an unpaid payment expires", INVALID_OPERATION)


def cancel(state: GatewayState, payment: Payment, now: datetime) -> None:
    """Cancel an unpaid hosted payment (gateway interface, 7). Raises NotPossibleError for every other."""
    fits = payment.mode == "hosted" and payment.method in {"purchase", "auth"}
    if not fits or payment.status is not Status.INIT:
        raise NotPossibleError("Only an unpaid hosted payment can be cancelled", INVALID_OPERATION)
    finish(state, payment, CANCELLED, now)
