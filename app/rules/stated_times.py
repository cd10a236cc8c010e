"""Which times that others state can be right: a clock that was reset says 1970, another zone names the future. Pure.

What is said to have happened lies between the creation of the payment and the arrival of the message (laws of money,
15). What is said to come lies after the arrival.
"""

from datetime import datetime, timedelta

from app.core.payment import Payment

_CLOCKS_DIFFER = timedelta(minutes=5)  # at most, between the gateway and us
_LONGEST_LIMIT = timedelta(days=366)  # of payments with one card, which are counted by the day, the month or the year


def can_have_happened(stated: datetime, payment: Payment, arrived_at: datetime) -> bool:
    """Return whether something about ``payment`` can have happened when a message that arrived then says."""
    return payment.created_at - _CLOCKS_DIFFER <= stated <= arrived_at + _CLOCKS_DIFFER


def can_end_limit(stated: datetime, arrived_at: datetime) -> bool:
    """Return whether a limit that has declined a payment can end when a message that arrived then says."""
    return arrived_at < stated <= arrived_at + _LONGEST_LIMIT
