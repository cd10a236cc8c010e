"""What the gateway shows of an order and nobody can read: staff are told, for as long as it is so."""

from datetime import datetime

from app.db.aggregates import PaymentAggregate
from app.payments.core.apply import raise_problem
from app.payments.core.messages import LazyMessage
from app.payments.core.observation import Shown
from app.payments.core.problems import UNREADABLE, clear

_WORDS = LazyMessage(
    "The gateway shows operations of this payment that the app cannot read, so money may have moved that it does not "
    "know of. Compare this payment with the merchant portal."
)


def mind_unreadable(aggregate: PaymentAggregate, shown: Shown, now: datetime) -> None:
    """Raise a problem while a look-up shows records that cannot be read, and clear it when all of them can be."""
    if not shown.unreadable:
        clear(aggregate.payment, UNREADABLE)
    else:
        raise_problem(aggregate, _WORDS, now, cause=UNREADABLE)
