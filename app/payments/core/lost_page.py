"""A payment page whose address got lost with the gateway's answer: nobody has the link, so nobody can pay.

The payment has failed as far as its shopper is concerned, who is told at once to try again; that is our own conclusion,
and the gateway's word that somebody has paid all the same still counts (laws of money, 2). The page is closed behind
the scenes.
"""

from app.db.aggregates import PaymentAggregate
from app.db.tables import Mode, State
from app.payments.core.apply import Posting, conclude
from app.payments.core.messages import gettext_noop
from app.payments.core.page_cancellation import LINK_IS_LOST, LOST_PAGE, cancellation, link_is_missing
from app.payments.core.problems import disagrees
from app.payments.core.shopper_words import TRY_AGAIN, shopper_words

_GOT_LOST = gettext_noop(
    "The address of the payment page got lost with the gateway's answer. The shopper is asked to try again, and the "
    "page is closed"
)


def may_be_given_up(aggregate: PaymentAggregate) -> bool:
    """Return True for a hosted payment that can still become a page, of which nobody has the link.

    Not if the gateway has said of it what does not agree: then a person must look first.
    """
    waiting = aggregate.create.state in {State.INTENT, State.UNKNOWN, State.INIT}
    hosted = aggregate.payment.mode is Mode.HOSTED
    return hosted and waiting and link_is_missing(aggregate.payment) and not disagrees(aggregate.payment)


def give_up(aggregate: PaymentAggregate, posting: Posting) -> None:
    """Conclude that a payment has failed whose page nobody can open, and have that page closed by the worker.

    To be called when no answer with the link can come any more. Does nothing when the gateway has told more meanwhile.
    """
    if not may_be_given_up(aggregate):
        return
    conclude(
        aggregate,
        aggregate.create,
        State.FAILURE,
        posting,
        message=_GOT_LOST,
        shopper_message=shopper_words(TRY_AGAIN, aggregate.payment.language),
        status_code=TRY_AGAIN,
        inferred=True,
    )
    if aggregate.by_key(LOST_PAGE) is None:
        soon = posting.now + posting.schedule.first_settle  # a slow gateway may only just be opening it
        closing = cancellation(
            aggregate.payment,
            key=LOST_PAGE,
            why=LINK_IS_LOST,
            state=State.WAITING,
            next_poll_at=soon,
            now=posting.now,
        )
        aggregate.operations.append(closing)
