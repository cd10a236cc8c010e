"""Why something that staff ask cannot be done, with the amounts, and what can be done instead. Pure words."""

from decimal import Decimal

from app.ledger.tables import Kind, State
from app.payments.balance import Balance
from app.saleor.answers import AvailableAction

_UNPAID = {
    State.WAITING: "The payment has not begun",
    State.INTENT: "The payment page is being opened at this moment",
    State.UNKNOWN: "It is not known yet whether the payment page was opened, and the app is finding out",
    State.INIT: "The shopper has not paid yet",
    State.PENDING: "The payment is still at the bank",
    State.SUCCESS: "Nothing was paid",
    State.FAILURE: "The payment did not go through, and nothing was taken",
}


def why_not(action: AvailableAction, amount: Decimal, now: Balance) -> str:
    """Return why ``amount`` cannot be charged, refunded or cancelled as the payment stands.

    Rules: gateway interface, States and transitions; a reservation is taken once (gateway facts, 6).
    """
    match action:
        case AvailableAction.CHARGE:
            return _why_not_charged(amount, now)
        case AvailableAction.REFUND:
            return _why_not_refunded(amount, now)
        case _:
            return _why_not_cancelled(now)


def why_not_strictly(kind: Kind | None, now: Balance) -> str:
    """Return why a payment cannot be cancelled in this way, though it can in the other: by a void, or by a cancel."""
    if kind is Kind.VOID:
        return "The shopper has not paid yet, and nothing is reserved: cancel the payment instead."
    return f"The shopper has paid meanwhile: {now.words(now.capturable)} is reserved. Release it instead."


def _why_not_charged(amount: Decimal, now: Balance) -> str:
    if now.capturable:
        reserved = now.words(now.capturable)
        return f"{now.words(amount)} cannot be charged: {reserved} is reserved. Charge at most {reserved}."
    if now.capturing:
        return (
            f"{now.words(now.capturing)} of this reservation is being charged at this moment, and the gateway takes a "
            "reservation once."
        )
    if now.charged and now.authorized:
        return (
            f"{now.words(now.charged)} of this reservation has been taken already, and the gateway takes a reservation "
            "once: ask the shopper for a new payment."
        )
    if now.charged:
        return f"{now.words(now.charged)} was taken at once: nothing is reserved that could be charged."
    if now.authorized:
        return _released(now, "nothing can be charged")
    return f"{_UNPAID[now.standing]}: nothing is reserved that could be charged."


def _why_not_refunded(amount: Decimal, now: Balance) -> str:
    if now.charged:
        return _too_much(amount, now)
    if now.capturing:
        return f"{now.words(now.capturing)} is being charged at this moment: refund it when that is done."
    if now.capturable:
        return f"{now.words(now.capturable)} is reserved, and nothing is taken yet: cancel the reservation instead."
    if now.authorized:
        return _released(now, "nothing was taken, and nothing can be refunded")
    advice = "cancel the payment instead." if now.unpaid else "nothing can be refunded."
    return f"{_UNPAID[now.standing]}: {advice}"


def _too_much(amount: Decimal, now: Balance) -> str:
    gone = []
    if now.refunded:
        gone.append(f"{now.words(now.refunded)} is refunded already")
    if now.refunding:
        gone.append(f"{now.words(now.refunding)} is being refunded")
    of_what = ", ".join([f"{now.words(now.charged)} was taken", *gone])
    if not now.refundable:
        return f"{of_what}: nothing is left to refund."
    left = now.words(now.refundable)
    return f"{now.words(amount)} cannot be refunded: {of_what}. Refund at most {left}."


def _why_not_cancelled(now: Balance) -> str:
    if now.charged:
        taken = now.words(now.charged)
        goes_back = f"{taken} was taken and goes back already: there is nothing to cancel."
        return f"{taken} has been taken already: refund it instead." if now.refundable else goes_back
    if now.capturing:
        return f"{now.words(now.capturing)} is being charged at this moment: refund it when that is done."
    if now.authorized:
        return _released(now, "there is nothing to cancel")
    if now.standing is State.INIT:
        return "The payment page is being closed already."
    if now.standing is State.PENDING:
        return f"{_UNPAID[now.standing]}: there is nothing to cancel before it has decided."
    return f"{_UNPAID[now.standing]}: there is nothing to cancel."


def _released(now: Balance, therefore: str) -> str:
    reserved = now.words(now.authorized)
    if now.voiding:
        return f"The reservation of {reserved} is being released at this moment: {therefore}."
    return f"The reservation of {reserved} was released: {therefore}."
