"""An unpaid payment page is closed by ourselves, because nobody can, or nobody should, pay on it any more.

The cancellation is an operation like any other: journaled, sent one at a time, and judged by what becomes of the
payment. Saleor hears of the payment only, with the reason that is written here. It moves no money, so it may be sent
again once a look-up has shown that the page is still open; a page that must not be paid is closed by nothing less than
the gateway's word.
"""

from datetime import datetime, timedelta

from app.db.aggregates import PaymentAggregate, row_id_of
from app.db.tables import Kind, Operation, Payment, State
from app.i18n.messages import gettext_noop
from app.payments.core.balance import ZERO, in_flight
from app.payments.core.mapper import Observation
from app.payments.core.observation import Shown
from app.payments.core.schedule import Schedule

CANCELLED = "6007"  # gateway interface, 7: what the gateway says of a payment that was cancelled before it was paid

TIME_IS_OVER = gettext_noop("Nobody paid in time, and the payment page was closed")
PAGE_CLOSED = gettext_noop("The payment page was closed; nothing was paid")
BY_STAFF = gettext_noop("Staff cancelled the payment in the app, and the payment page was closed")
LINK_IS_LOST = gettext_noop(
    "The address of the payment page got lost with the gateway's answer, so the page was closed unused"
)
COVERED = gettext_noop("The same is paid or at the bank by another payment, and the payment page was closed")
REPLACED = gettext_noop("A newer attempt to pay has taken its place, and the payment page was closed")

_NO_SUCH_PAGE = gettext_noop("The gateway knows of no such payment: there was no page to close")
_STILL_OPEN = gettext_noop("The gateway did not close the page before its time was over")
_NOT_YET = gettext_noop("The gateway has not closed the page yet: it is asked again")

LOST_PAGE = "close-lost-page"
REPLACED_BY = "replaced-by-"
_UNTIL_CONFIRMED = (LOST_PAGE, REPLACED_BY)
_LONGEST_PAUSE = timedelta(minutes=5)


def cancellation(
    payment: Payment, *, key: str, why: str, state: State, next_poll_at: datetime, now: datetime
) -> Operation:
    """Return the operation that closes the page of ``payment``: an intent, or one that waits for the worker to send it.

    ``why`` is told to staff and to Saleor if the page is closed by it.
    """
    return Operation(
        payment_id=row_id_of(payment),
        kind=Kind.CANCEL,
        idempotency_key=key,
        state=state,
        amount=ZERO,
        currency=payment.currency,
        request={"order_id": payment.order_id, "why": why},
        asked_by_saleor=False,
        message=why,
        next_poll_at=next_poll_at,
        created_at=now,
        updated_at=now,
    )


def link_is_missing(payment: Payment) -> bool:
    """Return True when nobody was ever told where to pay."""
    return payment.checkout_url is None and payment.qr_url is None


def being_closed(aggregate: PaymentAggregate) -> bool:
    """Return True while somebody's cancellation of the page is open."""
    return any(each.kind is Kind.CANCEL and not each.state.final for each in aggregate.operations)


def is_pursued(operation: Operation) -> bool:
    """Return True for the closing of a page that must not be paid: it is tried until the gateway confirms it."""
    return operation.kind is Kind.CANCEL and operation.idempotency_key.startswith(_UNTIL_CONFIRMED)


def is_looked_up_first(closing: Operation) -> bool:
    """Return True when a closing is sent only if a look-up shows the page: it was tried before, or the link is lost."""
    return is_pursued(closing) and (closing.polls > 0 or closing.idempotency_key == LOST_PAGE)


def try_again_later(closing: Operation, why: str | None, schedule: Schedule, now: datetime) -> None:
    """Put a closing off that the gateway has not carried out, or of which nobody knows whether it has.

    ``why`` is for staff. The pauses grow with ``Operation.polls``.
    """
    closing.state, closing.updated_at = State.WAITING, now
    closing.message = why or _NOT_YET
    closing.polls = max(closing.polls, 1)
    closing.next_poll_at = now + schedule.pause(schedule.first_settle, closing.polls + 1, _LONGEST_PAUSE)


def pursue(
    aggregate: PaymentAggregate, closing: Operation, shown: Shown | None, schedule: Schedule, now: datetime
) -> bool:
    """Decide what comes next of a closing that is due; return True when it is an intent now, to be sent.

    ``shown`` is what the gateway shows of the order, which is posted already; None when the look-up failed. Its end is
    the end of the payment (``apply``), or that there is no such payment once it must have appeared, or that the time to
    pay is over and the gateway would not close it.
    """
    if closing.state is State.INTENT and now < schedule.after_intent(closing.updated_at):
        return False  # it is being sent
    if closing.state.final:
        return False
    ends, created = aggregate.payment.expires_at, aggregate.create.created_at
    open_now = shown is not None and any(each.kind is Kind.CREATE and each.state is State.INIT for each in shown)
    nothing = shown is not None and not shown and not shown.unreadable
    if nothing and aggregate.create.state is State.FAILURE and schedule.settled_by_silence(created, now):
        _end(closing, State.SUCCESS, _NO_SUCH_PAGE, now)
    elif shown is not None and ends is not None and closing.polls > 1 and schedule.settled_by_silence(ends, now):
        _end(closing, State.FAILURE, _STILL_OPEN, now)
    elif open_now and not any(in_flight(each) for each in aggregate.operations if each is not closing):
        closing.state, closing.updated_at = State.INTENT, now
        closing.next_poll_at = schedule.after_intent(now)
        return True
    else:
        try_again_later(closing, closing.message, schedule, now)
    return False


def reason_of_closing(aggregate: PaymentAggregate, seen: Observation) -> str | None:
    """Return why the page was closed, if ``seen`` says that it was and it was us who asked for it."""
    if seen.kind is not Kind.CREATE or seen.state is not State.FAILURE or seen.status_code != CANCELLED:
        return None
    ours = (
        each
        for each in aggregate.operations
        if each.kind is Kind.CANCEL and not each.asked_by_saleor and not each.state.final
    )
    closing = next(ours, None)
    return None if closing is None else f"{closing.request['why']} [{CANCELLED}]"


def _end(closing: Operation, state: State, message: str, now: datetime) -> None:
    closing.state, closing.message = state, message
    closing.next_poll_at, closing.updated_at = None, now
