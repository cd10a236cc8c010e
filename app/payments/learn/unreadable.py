"""What the gateway shows of an order and nobody can read: staff are told, for as long as it is so."""

from datetime import datetime

from app.ledger.sheets import Sheet
from app.payments.outcome.apply import raise_problem
from app.payments.outcome.problems import UNREADABLE, clear
from app.payments.outcome.seen import Shown
from app.payments.said import Said

_WORDS = Said(
    "The gateway shows operations of this payment that the app cannot read, so money may have moved that it does not "
    "know of. Compare this payment with the merchant portal."
)


def mind_unreadable(sheet: Sheet, shown: Shown, now: datetime) -> None:
    """Raise a problem while a look-up shows records that cannot be read, and clear it when all of them can be."""
    if not shown.unreadable:
        clear(sheet.payment, UNREADABLE)
    else:
        raise_problem(sheet, _WORDS, now, cause=UNREADABLE)
