"""Messages that explain why a staff request cannot be fulfilled, with amounts and what to do instead. Pure."""

from decimal import Decimal

from app.core.vocabulary import Kind, State
from app.i18n.messages import Joined, LazyMessage
from app.rules.balance import Balance, RecurringCharge
from saleor_app_sdk.responses import AvailableAction

_UNPAID_REASONS = {
    State.WAITING: LazyMessage("The payment has not started"),
    State.INTENT: LazyMessage("The payment page is being opened right now"),
    State.UNKNOWN: LazyMessage("It is not yet known whether the payment page was opened, and the app is checking"),
    State.INIT: LazyMessage("The shopper has not paid yet"),
    State.PENDING: LazyMessage("The bank is still processing the payment"),
    State.SUCCESS: LazyMessage("Nothing was paid"),
    State.FAILURE: LazyMessage("The payment did not go through, and nothing was charged"),
}
_IN_DOUBT = LazyMessage(
    "The gateway's records contradict each other, so it is not known whether this was paid: check the payment's "
    "problem first."
)
_NOTHING_TO_CHARGE = LazyMessage("nothing can be charged")
_NOTHING_TO_CANCEL = LazyMessage("there is nothing to cancel")


def rejection_message(action: AvailableAction, amount: Decimal, current: Balance) -> LazyMessage:
    """Return why ``amount`` cannot be charged, refunded or cancelled as the payment stands.

    Rules: gateway interface, States and transitions; a reservation is taken once (gateway facts, 6).
    """
    if current.in_doubt:
        return _IN_DOUBT
    match action:
        case AvailableAction.CHARGE if current.voiding:
            return _released_message(current, _NOTHING_TO_CHARGE)
        case AvailableAction.CANCEL if current.voiding:
            return _released_message(current, _NOTHING_TO_CANCEL)
        case AvailableAction.CHARGE:
            return _charge_rejection(amount, current)
        case AvailableAction.REFUND:
            return _refund_rejection(amount, current)
        case _:
            return _cancellation_rejection(current)


def wrong_cancellation_message(kind: Kind | None, current: Balance) -> LazyMessage:
    """Return why a payment cannot be cancelled by this ``kind``, a void or a cancel, although it can by the other."""
    if kind is Kind.VOID:
        return LazyMessage("The shopper has not paid yet, and nothing is authorized: cancel the payment instead.")
    reserved = current.sum(current.capturable)
    return LazyMessage(
        "The shopper has paid in the meantime: %(reserved)s is authorized. Cancel the authorization instead.",
        reserved=reserved,
    )


def charge_refund_rejection_message(amount: Decimal, charge: RecurringCharge, current: Balance) -> LazyMessage:
    """Return why ``amount`` of a later charge of a subscription cannot be refunded."""
    if not charge.refundable:
        return LazyMessage(
            "%(charged)s was charged for the subscription, and has been or is being returned: nothing is left to "
            "refund.",
            charged=current.sum(charge.charged),
        )
    return LazyMessage(
        "%(sum)s of this charge cannot be refunded. Refund at most %(left)s.",
        sum=current.sum(amount),
        left=current.sum(charge.refundable),
    )


def _charge_rejection(amount: Decimal, current: Balance) -> LazyMessage:
    if current.capturable:
        return LazyMessage(
            "%(sum)s cannot be charged: %(reserved)s is authorized. Charge at most %(reserved)s.",
            sum=current.sum(amount),
            reserved=current.sum(current.capturable),
        )
    if current.capturing:
        return LazyMessage(
            "%(sum)s of this authorization is being charged right now, and the gateway can charge an "
            "authorization only once.",
            sum=current.sum(current.capturing),
        )
    if current.charged and current.authorized:
        return LazyMessage(
            "%(sum)s of this authorization has already been charged, and the gateway can charge an authorization "
            "only once: ask the shopper for a new payment.",
            sum=current.sum(current.charged),
        )
    if current.charged:
        sum_ = current.sum(current.charged)
        return LazyMessage("%(sum)s was charged immediately: there is no authorization to charge.", sum=sum_)
    if current.authorized:
        return _released_message(current, _NOTHING_TO_CHARGE)
    return _unpaid_message(current, LazyMessage("there is no authorization to charge."))


def _refund_rejection(amount: Decimal, current: Balance) -> LazyMessage:
    if current.charged:
        return _refund_too_large(amount, current)
    if current.capturing:
        return _capture_in_progress(current)
    if current.capturable:
        reserved = current.sum(current.capturable)
        return LazyMessage(
            "%(sum)s is authorized, and nothing has been charged yet: cancel the authorization instead.", sum=reserved
        )
    if current.authorized:
        return _released_message(current, LazyMessage("nothing was charged, and nothing can be refunded"))
    advice = LazyMessage("cancel the payment instead.") if current.unpaid else LazyMessage("nothing can be refunded.")
    return _unpaid_message(current, advice)


def _refund_too_large(amount: Decimal, current: Balance) -> LazyMessage:
    parts = [LazyMessage("%(sum)s was charged", sum=current.sum(current.charged))]
    if current.refunded:
        parts.append(LazyMessage("%(sum)s has already been refunded", sum=current.sum(current.refunded)))
    if current.refunding:
        parts.append(LazyMessage("%(sum)s is being refunded", sum=current.sum(current.refunding)))
    if current.disputed:
        parts.append(
            LazyMessage("%(sum)s is disputed by the payer or was charged back", sum=current.sum(current.disputed))
        )
    reasons = Joined(tuple(parts))
    if any(charge.refundable for charge in current.recurring):
        return LazyMessage(
            "%(sum)s cannot be refunded: %(why)s. %(left)s of the first payment is left; refund a later charge "
            "of the subscription on the payment's page in the app.",
            sum=current.sum(amount),
            why=reasons,
            left=current.sum(current.refundable),
        )
    if not current.refundable:
        return LazyMessage("%(why)s: nothing is left to refund.", why=reasons)
    return LazyMessage(
        "%(sum)s cannot be refunded: %(why)s. Refund at most %(left)s.",
        sum=current.sum(amount),
        why=reasons,
        left=current.sum(current.refundable),
    )


def _cancellation_rejection(current: Balance) -> LazyMessage:
    if current.charged:
        taken = current.sum(current.charged)
        instead = LazyMessage("%(sum)s has already been charged: refund it instead.", sum=taken)
        goes_back = LazyMessage(
            "%(sum)s was charged and has been or is being returned: there is nothing to cancel.", sum=taken
        )
        return instead if current.refundable else goes_back
    if current.capturing:
        return _capture_in_progress(current)
    if current.authorized:
        return _released_message(current, _NOTHING_TO_CANCEL)
    if current.standing is State.INIT:
        return LazyMessage("The payment page is already being closed.")
    undecided = LazyMessage("nothing can be cancelled until it has decided.")
    return _unpaid_message(
        current, undecided if current.standing is State.PENDING else LazyMessage("there is nothing to cancel.")
    )


def _capture_in_progress(current: Balance) -> LazyMessage:
    sum_ = current.sum(current.capturing)
    return LazyMessage("%(sum)s is being charged right now: refund it when that is done.", sum=sum_)


def _unpaid_message(current: Balance, therefore: LazyMessage) -> LazyMessage:
    return LazyMessage("%(why)s: %(therefore)s", why=_UNPAID_REASONS[current.standing], therefore=therefore)


def _released_message(current: Balance, therefore: LazyMessage) -> LazyMessage:
    if current.voiding:
        return LazyMessage(
            "The authorization of %(sum)s is being released right now: %(therefore)s.",
            sum=current.sum(current.reserved),
            therefore=therefore,
        )
    reserved = current.sum(current.authorized)
    return LazyMessage("The authorization of %(sum)s was released: %(therefore)s.", sum=reserved, therefore=therefore)
