"""The labels of operations and their states, for use in the middle of a sentence."""

from app.core.vocabulary import Flow, Kind, State
from app.i18n.messages import LazyMessage, Value

NAMES = {
    Kind.CREATE: LazyMessage("payment"),
    Kind.CAPTURE: LazyMessage("charge"),
    Kind.VOID: LazyMessage("release"),
    Kind.REFUND: LazyMessage("refund"),
    Kind.CANCEL: LazyMessage("cancellation"),
    Kind.DISPUTE: LazyMessage("dispute"),
    Kind.RECURRING: LazyMessage("subscription charge"),
}
RESERVATION = LazyMessage("authorization")
PAYOUT = LazyMessage("payout")
STATES = {
    State.WAITING: LazyMessage("is waiting for its turn"),
    State.INTENT: LazyMessage("is being requested"),
    State.UNKNOWN: LazyMessage("has an unknown outcome"),
    State.INIT: LazyMessage("is waiting for the shopper"),
    State.PENDING: LazyMessage("is pending"),
    State.SUCCESS: LazyMessage("succeeded"),
    State.FAILURE: LazyMessage("failed"),
}
ENDS = {State.SUCCESS: LazyMessage("success"), State.FAILURE: LazyMessage("failure")}


def what_of(flow: Flow, kind: Kind) -> LazyMessage | Kind:
    """Return what an issue is about: the kind of the operation, or that it is the payout itself."""
    return PAYOUT if flow is Flow.PAYOUT and kind is Kind.CREATE else kind


def in_words(fact: Value | Kind | State | None) -> Value:
    """Return a fact as it stands in a sentence: a kind or state by its name, what is absent as nothing."""
    match fact:
        case Kind():
            return NAMES[fact]
        case State():
            return STATES[fact]
        case None:
            return ""
        case _:
            return fact
