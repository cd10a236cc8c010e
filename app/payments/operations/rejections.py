"""Why something that staff ask cannot be done, with the amounts, and what can be done instead. Pure words."""

from decimal import Decimal

from app.db.tables import Kind, State
from app.i18n.messages import Joined, LazyMessage
from app.payments.core.balance import Balance, RecurringCharge
from app.saleor.answers import AvailableAction

_UNPAID = {
    State.WAITING: LazyMessage("The payment has not begun"),
    State.INTENT: LazyMessage("The payment page is being opened at this moment"),
    State.UNKNOWN: LazyMessage("It is not known yet whether the payment page was opened, and the app is finding out"),
    State.INIT: LazyMessage("The shopper has not paid yet"),
    State.PENDING: LazyMessage("The payment is still at the bank"),
    State.SUCCESS: LazyMessage("Nothing was paid"),
    State.FAILURE: LazyMessage("The payment did not go through, and nothing was taken"),
}


def why_not(action: AvailableAction, amount: Decimal, now: Balance) -> LazyMessage:
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


def why_not_strictly(kind: Kind | None, now: Balance) -> LazyMessage:
    """Return why a payment cannot be cancelled in this way, though it can in the other: by a void, or by a cancel."""
    if kind is Kind.VOID:
        return LazyMessage("The shopper has not paid yet, and nothing is reserved: cancel the payment instead.")
    reserved = now.sum(now.capturable)
    return LazyMessage(
        "The shopper has paid meanwhile: %(reserved)s is reserved. Release it instead.", reserved=reserved
    )


def why_charge_not_refunded(amount: Decimal, charge: RecurringCharge, now: Balance) -> LazyMessage:
    """Return why so much of a later charge of a subscription cannot be given back."""
    if not charge.refundable:
        return LazyMessage(
            "%(charged)s was charged for the subscription, and goes or went back: nothing is left to refund.",
            charged=now.sum(charge.charged),
        )
    return LazyMessage(
        "%(sum)s cannot be refunded of this charge. Refund at most %(left)s.",
        sum=now.sum(amount),
        left=now.sum(charge.refundable),
    )


def _why_not_charged(amount: Decimal, now: Balance) -> LazyMessage:
    if now.capturable:
        return LazyMessage(
            "%(sum)s cannot be charged: %(reserved)s is reserved. Charge at most %(reserved)s.",
            sum=now.sum(amount),
            reserved=now.sum(now.capturable),
        )
    if now.capturing:
        return LazyMessage(
            "%(sum)s of this reservation is being charged at this moment, and the gateway takes a reservation once.",
            sum=now.sum(now.capturing),
        )
    if now.charged and now.authorized:
        return LazyMessage(
            "%(sum)s of this reservation has been taken already, and the gateway takes a reservation once: ask the "
            "shopper for a new payment.",
            sum=now.sum(now.charged),
        )
    if now.charged:
        sum_ = now.sum(now.charged)
        return LazyMessage("%(sum)s was taken at once: nothing is reserved that could be charged.", sum=sum_)
    if now.authorized:
        return _released(now, LazyMessage("nothing can be charged"))
    return _unpaid(now, LazyMessage("nothing is reserved that could be charged."))


def _why_not_refunded(amount: Decimal, now: Balance) -> LazyMessage:
    if now.charged:
        return _too_much(amount, now)
    if now.capturing:
        return _being_charged(now)
    if now.capturable:
        reserved = now.sum(now.capturable)
        return LazyMessage(
            "%(sum)s is reserved, and nothing is taken yet: cancel the reservation instead.", sum=reserved
        )
    if now.authorized:
        return _released(now, LazyMessage("nothing was taken, and nothing can be refunded"))
    advice = LazyMessage("cancel the payment instead.") if now.unpaid else LazyMessage("nothing can be refunded.")
    return _unpaid(now, advice)


def _too_much(amount: Decimal, now: Balance) -> LazyMessage:
    gone = [LazyMessage("%(sum)s was taken", sum=now.sum(now.charged))]
    if now.refunded:
        gone.append(LazyMessage("%(sum)s is refunded already", sum=now.sum(now.refunded)))
    if now.refunding:
        gone.append(LazyMessage("%(sum)s is being refunded", sum=now.sum(now.refunding)))
    if now.disputed:
        gone.append(LazyMessage("%(sum)s is disputed by the payer, or was charged back", sum=now.sum(now.disputed)))
    of_what = Joined(tuple(gone))
    if any(each.refundable for each in now.recurring):
        return LazyMessage(
            "%(sum)s cannot be refunded: %(why)s. Of the first payment %(left)s is left; give a later charge of the "
            "subscription back on the payment's page in the app.",
            sum=now.sum(amount),
            why=of_what,
            left=now.sum(now.refundable),
        )
    if not now.refundable:
        return LazyMessage("%(why)s: nothing is left to refund.", why=of_what)
    return LazyMessage(
        "%(sum)s cannot be refunded: %(why)s. Refund at most %(left)s.",
        sum=now.sum(amount),
        why=of_what,
        left=now.sum(now.refundable),
    )


def _why_not_cancelled(now: Balance) -> LazyMessage:
    if now.charged:
        taken = now.sum(now.charged)
        instead = LazyMessage("%(sum)s has been taken already: refund it instead.", sum=taken)
        goes_back = LazyMessage("%(sum)s was taken and goes back already: there is nothing to cancel.", sum=taken)
        return instead if now.refundable else goes_back
    if now.capturing:
        return _being_charged(now)
    if now.authorized:
        return _released(now, LazyMessage("there is nothing to cancel"))
    if now.standing is State.INIT:
        return LazyMessage("The payment page is being closed already.")
    undecided = LazyMessage("there is nothing to cancel before it has decided.")
    return _unpaid(now, undecided if now.standing is State.PENDING else LazyMessage("there is nothing to cancel."))


def _being_charged(now: Balance) -> LazyMessage:
    sum_ = now.sum(now.capturing)
    return LazyMessage("%(sum)s is being charged at this moment: refund it when that is done.", sum=sum_)


def _unpaid(now: Balance, therefore: LazyMessage) -> LazyMessage:
    return LazyMessage("%(why)s: %(therefore)s", why=_UNPAID[now.standing], therefore=therefore)


def _released(now: Balance, therefore: LazyMessage) -> LazyMessage:
    reserved = now.sum(now.authorized)
    if now.voiding:
        return LazyMessage(
            "The reservation of %(sum)s is being released at this moment: %(therefore)s.",
            sum=reserved,
            therefore=therefore,
        )
    return LazyMessage("The reservation of %(sum)s was released: %(therefore)s.", sum=reserved, therefore=therefore)
