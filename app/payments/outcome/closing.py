"""An unpaid payment page is closed by ourselves, because nobody can, or nobody should, pay on it any more.

The cancellation is an operation like any other: journaled, sent one at a time, and judged by what becomes of the
payment. Saleor hears of the payment only, with the reason that is written here.
"""

from datetime import datetime

from app.ledger.sheets import Sheet, row_id_of
from app.ledger.tables import Kind, Mode, Operation, Payment, State
from app.payments.outcome.balance import ZERO
from app.payments.outcome.mapper import Seen
from app.payments.outcome.problems import disagrees
from app.payments.said import marked
from app.payments.schedule import Schedule

CANCELLED = "6007"  # gateway interface, 7: what the gateway says of a payment that was cancelled before it was paid

TIME_IS_OVER = marked("Nobody paid in time, and the payment page was closed")
PAGE_CLOSED = marked("The payment page was closed; nothing was paid")
BY_STAFF = marked("Staff cancelled the payment in the app, and the payment page was closed")
LINK_IS_LOST = marked(
    "The address of the payment page got lost with the gateway's answer, so the page was closed unused"
)
BEGIN_ANEW = "begin-anew-"  # the key of a closing after which the webhook that asks for it opens another page

REPLACED = marked("A newer attempt to pay has taken its place, and the payment page was closed")


def cancellation(
    payment: Payment, *, key: str, why: str, state: State, next_look_at: datetime, now: datetime
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
        next_look_at=next_look_at,
        created_at=now,
        updated_at=now,
    )


def link_is_missing(payment: Payment) -> bool:
    """Return True when nobody was ever told where to pay."""
    return payment.checkout_url is None and payment.qr_url is None


def page_is_unknown(sheet: Sheet) -> bool:
    """Return True while nobody knows where a hosted payment could be paid, nor what has become of it.

    Either the gateway is just being asked for its page, or the answer got lost; then another page may be opened.
    """
    waiting = sheet.create.state in {State.INTENT, State.UNKNOWN, State.INIT}
    hosted = sheet.payment.mode is Mode.HOSTED
    return hosted and waiting and link_is_missing(sheet.payment) and not disagrees(sheet.payment)


def being_begun_anew(sheet: Sheet, schedule: Schedule, now: datetime) -> bool:
    """Return True while a webhook is closing the page in order to open another one.

    What the gateway says of the payment meanwhile is not its end, and has to wait until that webhook has got an answer,
    or is over.
    """
    return any(
        each.kind is Kind.CANCEL
        and each.idempotency_key.startswith(BEGIN_ANEW)
        and each.state is State.INTENT
        and now < schedule.after_intent(each.created_at)
        for each in sheet.operations
    )


def being_closed(sheet: Sheet) -> bool:
    """Return True while somebody's cancellation of the page is open."""
    return any(each.kind is Kind.CANCEL and not each.state.final for each in sheet.operations)


def reason_of_closing(sheet: Sheet, seen: Seen) -> str | None:
    """Return why the page was closed, if ``seen`` says that it was and it was us who asked for it."""
    if seen.kind is not Kind.CREATE or seen.state is not State.FAILURE or seen.status_code != CANCELLED:
        return None
    ours = (
        each
        for each in sheet.operations
        if each.kind is Kind.CANCEL and not each.asked_by_saleor and not each.state.final
    )
    closing = next(ours, None)
    return None if closing is None else f"{closing.request['why']} [{CANCELLED}]"
