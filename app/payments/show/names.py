"""What people call operations, and how far they are. Each is a sentence of its own, for translators."""

from app.ledger.tables import Kind, State
from app.payments.said import Said

NAMES = {
    Kind.CREATE: Said("payment"),
    Kind.CAPTURE: Said("charge"),
    Kind.VOID: Said("release"),
    Kind.REFUND: Said("refund"),
    Kind.CANCEL: Said("cancellation"),
    Kind.DISPUTE: Said("dispute"),
}
RESERVATION = Said("reservation")
STATES = {
    State.WAITING: Said("waits for its turn"),
    State.INTENT: Said("is being asked"),
    State.UNKNOWN: Said("has an unknown outcome"),
    State.INIT: Said("waits for the shopper"),
    State.PENDING: Said("is pending"),
    State.SUCCESS: Said("succeeded"),
    State.FAILURE: Said("failed"),
}
ENDS = {State.SUCCESS: Said("success"), State.FAILURE: Said("failure")}
