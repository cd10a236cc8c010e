"""A payment page whose address got lost with the gateway's answer: nobody has the link, so nobody can pay.

The payment has failed as far as its shopper is concerned, who is told at once to try again; that is our own conclusion,
and the gateway's word that somebody has paid all the same still counts (laws of money, 2). The page is closed behind
the scenes.
"""

from app.ledger.sheets import Sheet
from app.ledger.tables import Mode, State
from app.payments.outcome.apply import Posting, conclude
from app.payments.outcome.closing import LINK_IS_LOST, LOST_PAGE, cancellation, link_is_missing
from app.payments.outcome.problems import disagrees
from app.payments.outcome.shopper_words import TRY_AGAIN, shopper_words
from app.payments.said import marked

_GOT_LOST = marked(
    "The address of the payment page got lost with the gateway's answer. The shopper is asked to try again, and the "
    "page is closed"
)


def may_be_given_up(sheet: Sheet) -> bool:
    """Return True for a hosted payment that can still become a page, of which nobody has the link.

    Not if the gateway has said of it what does not agree: then a person must look first.
    """
    waiting = sheet.create.state in {State.INTENT, State.UNKNOWN, State.INIT}
    hosted = sheet.payment.mode is Mode.HOSTED
    return hosted and waiting and link_is_missing(sheet.payment) and not disagrees(sheet.payment)


def give_up(sheet: Sheet, posting: Posting) -> None:
    """Conclude that a payment has failed whose page nobody can open, and have that page closed by the worker.

    To be called when no answer with the link can come any more. Does nothing when the gateway has told more meanwhile.
    """
    if not may_be_given_up(sheet):
        return
    conclude(
        sheet,
        sheet.create,
        State.FAILURE,
        posting,
        message=_GOT_LOST,
        shopper_message=shopper_words(TRY_AGAIN, sheet.payment.language),
        status_code=TRY_AGAIN,
        inferred=True,
    )
    if sheet.by_key(LOST_PAGE) is None:
        soon = posting.now + posting.schedule.first_settle  # a slow gateway may only just be opening it
        closing = cancellation(
            sheet.payment,
            key=LOST_PAGE,
            why=LINK_IS_LOST,
            state=State.WAITING,
            next_look_at=soon,
            now=posting.now,
        )
        sheet.operations.append(closing)
