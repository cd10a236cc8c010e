"""Whose turn it is while a payment is pending: the shopper's (3-D Secure, a code) or the bank's. Pure."""

from app.db.tables import Kind, Operation, Payment, State
from app.payments.core.mapper import Observation


def follow_the_shopper(payment: Payment, operation: Operation, seen: Observation) -> None:
    """While a payment is pending, its turn passes between shopper and bank, which is no step forward or back.

    Where the shopper must go is told by answers and look-ups only, and they are fresh. Without it, it may be a late
    notification: that can end the shopper's turn, but not begin it again.
    """
    if seen.kind is not Kind.CREATE or (operation.state, seen.state) != (State.PENDING, State.PENDING):
        return
    turn = seen.action_url is not None or (operation.waits_for_shopper and seen.waits_for_shopper)
    payment.redirect_url = seen.action_url or payment.redirect_url
    if turn != operation.waits_for_shopper:
        operation.waits_for_shopper = turn
        operation.status_code, operation.message = seen.status_code, seen.message
        operation.shopper_message = seen.shopper_message
