"""What a timeline calls operations and events: their names, what was requested, by whom and why. Pure."""

from collections.abc import Mapping

from app.core.payment import Operation, Payment, PaymentAggregate
from app.core.vocabulary import Flow, Kind, Origin, State
from app.i18n.messages import Joined, LazyMessage, Money, Verbatim, gettext_noop
from app.rules.details import wallet_name
from app.rules.labels import NAMES, PAYOUT, RESERVATION, STATES
from app.rules.split.standing import is_split

DONE_BY_OTHERS = {Kind.DISPUTE, Kind.RECURRING}
_REQUESTS = {
    Kind.CREATE: gettext_noop("for a payment page"),
    Kind.CAPTURE: gettext_noop("to charge %(sum)s of the authorization"),
    Kind.VOID: gettext_noop("to release the authorization of %(sum)s"),
    Kind.REFUND: gettext_noop("to refund %(sum)s"),
    Kind.CANCEL: gettext_noop("to close the payment page"),
}
_CREATIONS = {Flow.AUTHORIZATION: RESERVATION, Flow.PAYOUT: PAYOUT}
_EVENT_SUBJECTS = {
    "AUTHORIZATION": RESERVATION,
    "CHARGE": NAMES[Kind.CAPTURE],
    "REFUND": NAMES[Kind.REFUND],
    "CANCEL": NAMES[Kind.CANCEL],
}
_EVENT_STATES = {
    "REQUEST": STATES[State.PENDING],
    "ACTION_REQUIRED": STATES[State.INIT],
    "SUCCESS": STATES[State.SUCCESS],
    "FAILURE": STATES[State.FAILURE],
}
_OTHER_EVENTS = {
    "AUTHORIZATION_ADJUSTMENT": LazyMessage("the authorized amount has changed"),
    "INFO": LazyMessage("where the payment stands, and what can be done with it"),
    "CHARGE_BACK": LazyMessage("the payer’s bank took money back"),
    "REFUND_REVERSE": LazyMessage("refunded money came back"),
}


def operation_name(kind: Kind, flow: Flow) -> LazyMessage:
    """Return the display name of an operation of a payment that was created for ``flow``."""
    return _CREATIONS.get(flow, NAMES[kind]) if kind is Kind.CREATE else NAMES[kind]


def event_name(event_type: str) -> LazyMessage:
    """Return the display name of an event for Saleor: its type is for programs."""
    subject, _, state = event_type.partition("_")
    if subject in _EVENT_SUBJECTS and state in _EVENT_STATES:
        return LazyMessage("%(what)s %(state)s", what=_EVENT_SUBJECTS[subject], state=_EVENT_STATES[state])
    return _OTHER_EVENTS.get(event_type, LazyMessage(event_type))


def with_shares(
    message: LazyMessage, aggregate: PaymentAggregate, operation: Operation, names: Mapping[str, str]
) -> LazyMessage:
    """Return the text with the sub-merchants whose money an operation of a split payment moves."""
    shares = operation.shares
    if shares:
        parts = (
            LazyMessage("%(amount)s of %(who)s", amount=amount, who=names.get(who, who))
            for who, amount in shares.items()
        )
        return LazyMessage("%(what)s (%(shares)s)", what=message, shares=Joined(tuple(parts)))
    others = operation.requester is Origin.GATEWAY
    if others and is_split(aggregate) and operation.kind in {Kind.CAPTURE, Kind.REFUND}:
        return LazyMessage(
            "%(what)s; it is not known whose money it was, so it is assumed to be everybody's, in proportion",
            what=message,
        )
    return message


def describe_request(payment: Payment, operation: Operation) -> LazyMessage:
    """Return what the gateway was asked: "to refund 20.50 UAH"."""
    if operation.kind is Kind.CREATE and payment.flow is Flow.PAYOUT:
        return LazyMessage("to pay %(sum)s out to a card", sum=Money(operation.amount, operation.currency))
    if operation.kind is Kind.CREATE and payment.saved_card_mask is not None:
        return LazyMessage("for a payment with a saved card (%(card)s)", card=f"****{payment.saved_card_mask[-4:]}")
    if operation.kind is Kind.CREATE and (wallet := wallet_name(payment.wallet)) is not None:
        return LazyMessage("for a payment with %(wallet)s", wallet=wallet)
    return LazyMessage(_REQUESTS[operation.kind], sum=Money(operation.amount, operation.currency))


def describe_external(operation: Operation, name: LazyMessage) -> LazyMessage:
    """Return what the gateway shows although nobody requested it here."""
    sum_ = Money(operation.amount, operation.currency)
    match operation.kind:
        case Kind.DISPUTE:
            return LazyMessage("shows that the payer disputes %(sum)s", sum=sum_)
        case Kind.RECURRING:
            return LazyMessage("charges %(sum)s for the subscription", sum=sum_)
        case _:
            return LazyMessage("shows a %(what)s of %(sum)s that was not requested here", what=name, sum=sum_)


def describe_operation(operation: Operation, name: LazyMessage) -> LazyMessage:
    """Return the operation with its amount, who requested it and why: the outcome alone tells all of it."""
    what = with_sum(operation, name)
    request = None if operation.kind is Kind.CREATE else _describe_requester(operation)
    return what if request is None else LazyMessage("%(what)s (%(why)s)", what=what, why=request)


def with_sum(operation: Operation, name: LazyMessage) -> LazyMessage:
    """Return the operation with its amount, by which several of a kind are told apart."""
    if operation.kind in {Kind.CREATE, Kind.CANCEL}:
        return name
    return LazyMessage("%(what)s of %(sum)s", what=name, sum=Money(operation.amount, operation.currency))


def _describe_requester(operation: Operation) -> LazyMessage | None:
    if operation.kind in DONE_BY_OTHERS:
        return None
    if operation.requester is Origin.GATEWAY:
        return LazyMessage("not requested here")
    if operation.asked_by is not None:
        return with_reason(operation, LazyMessage("requested in the app by %(by)s", by=operation.asked_by))
    if operation.requester is Origin.SALEOR:
        return with_reason(operation, LazyMessage("requested in Saleor"))
    return None


def with_reason(operation: Operation, message: LazyMessage) -> LazyMessage:
    """Return the text with the reason that was given, if there is one."""
    reason = operation.requested.comment
    return LazyMessage("%(what)s: “%(reason)s”", what=message, reason=Verbatim(reason)) if reason else message
