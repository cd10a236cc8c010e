"""The attempt to pay a payment and its outcome, and the other ways in which a payment ends.

Source: gateway interface, States and transitions. A payment only moves forward: init, pending, success or failure;
unless its page takes another card after a decline (``Behaviour.cards_per_page``).
"""

from datetime import datetime
from decimal import Decimal

from gateway_client.sandbox.core import cards, shares
from gateway_client.sandbox.core.codes import (
    CANCELLED,
    CHALLENGE_FAILED,
    INSUFFICIENT_FUNDS,
    INVALID_OPERATION,
    OK,
    PROCESSING,
    SELF_SETTLING_CODES,
    SESSION_EXPIRED,
    Status,
    status_of,
)
from gateway_client.sandbox.core.gateway_state import GatewayState
from gateway_client.sandbox.core.records import CardOnFile, Payment
from gateway_client.sandbox.core.refusals import NotPossibleError
from gateway_client.sandbox.core.subscriptions import activate


def outcome_code(state: GatewayState, payment: Payment, card_code: str) -> str:
    """Return the status code of an attempt: the scripted one, else the card's, else that of the amount's ending."""
    scripted = state.take_scripted_code(payment.method, payment.order_id)
    if scripted is not None:
        return scripted
    if card_code != OK or not state.behaviour(payment.pos_id).amount_endings:
        return card_code
    return cards.AMOUNT_ENDINGS.get(cards.ending_of(payment.amount), OK)


def takes_card(state: GatewayState, payment: Payment, now: datetime) -> bool:
    """Return True for an `init` payment, and for a declined one whose page takes another card until it expires."""
    if payment.status is Status.INIT:
        return True
    declined = payment.mode == "hosted" and payment.status is Status.FAILURE and payment.cards_tried > 0
    return (
        declined and payment.cards_tried < state.behaviour(payment.pos_id).cards_per_page and now < payment.expires_at
    )


def attempt(
    state: GatewayState, payment: Payment, card: CardOnFile, now: datetime, *, processed_amount: Decimal | None = None
) -> None:
    """Pay a payment that takes a card. The merchant is notified of `pending` first, then of the outcome.

    `processed_amount` simulates an alternative method with which the payer changed the amount.
    Raises NotPossibleError when the payment takes no card any more.
    """
    if not takes_card(state, payment, now):
        raise NotPossibleError("This payment was attempted before", INVALID_OPERATION)
    payment.cards_tried += 1
    payment.card = card
    payment.payway = "cc"
    if processed_amount is not None:
        payment.payway = "bank_pay"
        payment.processed_amount = processed_amount
    code = outcome_code(state, payment, card.code)
    if state.behaviour(payment.pos_id).pending_webhook and status_of(code) is not Status.PENDING:
        payment.set_status(PROCESSING, now)
        state.record_change(payment)
    apply_status_code(state, payment, code, now)


def apply_status_code(state: GatewayState, payment: Payment, code: str, now: datetime) -> None:
    """Set the status of a code on a payment that is not final, with all its consequences."""
    behaviour = state.behaviour(payment.pos_id)
    if status_of(code) is Status.SUCCESS:
        code = _succeed(state, payment, now)
    payment.set_status(code, now)
    if code in SELF_SETTLING_CODES:
        payment.settles_at = now + behaviour.settle_after
    if payment.status is Status.FAILURE:
        payment.fee = None
    state.record_change(payment)


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
        own = shares.credit_sub_merchants(state, payment, shares.paid_shares(payment), payment.paid_amount)
        state.credit_merchant(payment, own)
    if payment.plan is not None:
        activate(state, payment, now)
    return state.behaviour(payment.pos_id).auth_success_code if payment.method == "auth" else OK


def answer_challenge(state: GatewayState, payment: Payment, now: datetime, *, passed: bool) -> None:
    """Apply the payer's pass or failure of 3-D Secure. Raises NotPossibleError if the payment does not wait for it."""
    if not payment.waits_for_payer:
        raise NotPossibleError("This payment waits for no confirmation", INVALID_OPERATION)
    if not passed:
        apply_status_code(state, payment, CHALLENGE_FAILED, now)
        return
    if state.behaviour(payment.pos_id).pending_webhook:
        payment.set_status(PROCESSING, now)
        state.record_change(payment)
    apply_status_code(state, payment, OK, now)


def settle(state: GatewayState, payment: Payment, code: str, now: datetime) -> None:
    """Settle a payment that is not final with a code, whatever it waits for. Raises NotPossibleError if it is final."""
    if payment.final:
        raise NotPossibleError("This payment is final", INVALID_OPERATION)
    apply_status_code(state, payment, code, now)


def expire(state: GatewayState, payment: Payment, now: datetime) -> None:
    """End the lifetime: 4149 for an unpaid page, 4147 for an unanswered challenge. Else raises NotPossibleError."""
    if payment.status is Status.INIT:
        apply_status_code(state, payment, SESSION_EXPIRED, now)
    elif payment.waits_for_payer:
        apply_status_code(state, payment, CHALLENGE_FAILED, now)
    else:
        raise NotPossibleError("Only an unpaid payment expires", INVALID_OPERATION)


def cancel(state: GatewayState, payment: Payment, now: datetime) -> None:
    """Cancel an unpaid hosted payment (gateway interface, 7). Raises NotPossibleError for any other payment."""
    cancellable = payment.mode == "hosted" and payment.method in {"purchase", "auth"}
    if not cancellable or payment.status is not Status.INIT:
        raise NotPossibleError("Only an unpaid hosted payment can be cancelled", INVALID_OPERATION)
    apply_status_code(state, payment, CANCELLED, now)
