"""The order that a checkout has become: staff know a payment by its number, and Saleor tells nobody when it is placed.

The answer to each report names it, once there is one. Else it is asked for, from the moment at which Saleor has a
payment that covers the checkout. Orders are placed seconds later, or when staff or Saleor complete the checkout, or
never. Pure.
"""

from datetime import datetime, timedelta

from app.db.tables import Payment
from app.saleor.answers import EventType
from app.saleor.reports import PlacedOrder, ReportOutcome

_COVERING = {
    EventType.AUTHORIZATION_REQUEST,
    EventType.AUTHORIZATION_SUCCESS,
    EventType.CHARGE_REQUEST,
    EventType.CHARGE_SUCCESS,
}
_PAUSES = (
    timedelta(minutes=1),
    timedelta(minutes=10),
    timedelta(hours=1),
    timedelta(hours=6),
    timedelta(days=1),
)


def look_for_order(payment: Payment, told: EventType, now: datetime, report: ReportOutcome | None) -> None:
    """Have the order asked for, now that Saleor has been told of money for its checkout; begin anew if it was given up.

    ``report``: what came of telling it, which is the first look; None where Saleor has read it in an answer.
    A payment of an order has its number from the beginning.
    """
    if payment.order_number is not None:
        return
    if report is not None and report.order is not None:
        note_order(payment, report.order, now)
    elif told in _COVERING and payment.next_order_poll_at is None:
        payment.order_polls = 0 if report is None else 1
        payment.next_order_poll_at = now if report is None else now + _PAUSES[0]


def put_off(payment: Payment, now: datetime) -> None:
    """Note that nobody could be asked this time: it does not count."""
    payment.order_polls = max(payment.order_polls - 1, 0)
    payment.next_order_poll_at = now + _PAUSES[2]


def note_order(payment: Payment, placed: PlacedOrder | None, now: datetime) -> None:
    """Note which order it is; None: there is none yet, or Saleor does not say, and it is asked again later."""
    if placed is not None:
        payment.order_number, payment.source_id = placed.number, placed.id
        payment.next_order_poll_at, payment.updated_at = None, now
        return
    polls = payment.order_polls
    payment.next_order_poll_at = now + _PAUSES[polls - 1] if polls <= len(_PAUSES) else None
