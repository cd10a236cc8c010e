"""A page that has just opened is compared with the other attempts to pay the same, before anybody gets its link."""

from collections.abc import Sequence

from app.ledger.sheets import Sheet
from app.ledger.tables import State
from app.payments.begin.attempts import compare, covering, is_closed_for_others
from app.payments.outcome.apply import Posting, conclude
from app.payments.outcome.shopper_words import shopper_words
from app.payments.said import marked

_WITHHELD = marked(
    "The same is paid or at the bank by another payment: nobody got the link of this page, and it is closed"
)


def among_others(sheet: Sheet, attempts: Sequence[Sheet], posting: Posting, *, replacing: bool) -> None:
    """Have the pages closed that this one replaces; or this one, if the same has been covered while it was opened."""
    payment = sheet.payment
    if len(attempts) > 1:
        for each in attempts:  # of two that began in the same moment neither has seen the other
            each.payment.has_rivals = True
    compare(attempts, payment, posting, replacing=replacing)
    if not is_closed_for_others(sheet):
        return
    code = covering(attempts, payment).value
    payment.checkout_url = payment.qr_url = None
    conclude(
        sheet,
        sheet.create,
        State.FAILURE,
        posting,
        message=_WITHHELD,
        shopper_message=shopper_words(code, payment.language),
        status_code=code,
        inferred=True,
    )
