"""Closes an unpaid payment page on which nobody can, or should, pay any more, by cancelling the payment.

The cancellation is an operation like any other: journaled, sent one at a time, and concluded from the outcome of the
payment. Saleor receives events of the payment only, with the reason that is written here. A cancellation moves no
money, so it may be sent again once a look-up has shown that the page is still open; a page that must not be paid
counts as closed only when the gateway confirms it. What Saleor or staff asked to cancel ends in the same way.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from app.core.payment import Operation, Payment, PaymentAggregate
from app.core.request import RequestDetails
from app.core.vocabulary import CloseReason, Flow, Kind, Origin, State
from app.i18n.messages import gettext_noop
from app.rules.balance import ZERO, is_in_flight
from app.rules.decision_context import DecisionContext, report_operation
from app.rules.mapper import Observation, event_type_of
from app.rules.observation import Observations
from app.rules.problems import has_mismatch
from app.rules.schedule import Schedule, end_look_ups, make_due, start_call

CANCELLED = "6007"  # gateway interface, 7: the status code of a payment that was cancelled before it was paid

PAGE_CLOSED = gettext_noop("The payment page was closed; nothing was paid")


def close_reason_of(closing: Operation) -> CloseReason | None:
    """Return the reason of a closing; versions before the codes stored a sentence. None: it has none that is known."""
    stored = closing.requested.closing_sentence
    return (
        closing.close_reason
        or _BY_SENTENCE.get(stored or "")
        or next((code for code in CloseReason if code == stored), None)
    )


def sentence_for_earlier_version(reason: CloseReason) -> str:
    """Return what the version before stores for a reason, and compares with: it may run beside this one."""
    return next((sentence for sentence, code in _BY_SENTENCE.items() if code is reason), _TEXTS[reason])


_TEXTS: Mapping[CloseReason, str] = {
    CloseReason.NOT_PAID_IN_TIME: gettext_noop("Nobody paid in time, and the payment page was closed"),
    CloseReason.BY_STAFF: gettext_noop("Staff cancelled the payment in the app, and the payment page was closed"),
    CloseReason.LINK_LOST: gettext_noop(
        "The address of the payment page was lost with the gateway's response, so the page was closed unused"
    ),
    CloseReason.COVERED: gettext_noop(
        "Another payment for the same checkout or order is paid or at the bank, so the payment page was closed"
    ),
    CloseReason.TOO_HIGH: gettext_noop("Less is left to pay than this page was for, so the payment page was closed"),
    CloseReason.ORDER_CANCELED: gettext_noop("The order was cancelled, so the payment page was closed"),
    CloseReason.ORDER_EXPIRED: gettext_noop("The order has expired, so the payment page was closed"),
    CloseReason.ORDER_RETURNED: gettext_noop("The order was returned, so the payment page was closed"),
    CloseReason.CHECKOUT_GONE: gettext_noop("The checkout no longer exists in Saleor, so the payment page was closed"),
    CloseReason.REPLACED: gettext_noop(
        "A newer payment attempt has replaced this one, and the payment page was closed"
    ),
    CloseReason.LEFT_TEST_PROJECT: gettext_noop(
        "The channel takes real money now, so the test payment page was closed"
    ),
    CloseReason.APP_REMOVED: gettext_noop("The app was removed from Saleor, so the payment page was closed"),
}
# What versions before the codes have stored. These sentences are data: they never change with the texts above.
_BY_SENTENCE: Mapping[str, CloseReason] = {
    # 0.2
    "Nobody paid in time, and the payment page was closed": CloseReason.NOT_PAID_IN_TIME,
    "Staff cancelled the payment in the app, and the payment page was closed": CloseReason.BY_STAFF,
    "The address of the payment page got lost with the gateway's answer, so the page was closed unused": (
        CloseReason.LINK_LOST
    ),
    "The same is paid or at the bank by another payment, and the payment page was closed": CloseReason.COVERED,
    "A newer attempt to pay has taken its place, and the payment page was closed": CloseReason.REPLACED,
    # between 0.2 and this one
    "The address of the payment page was lost with the gateway's response, so the page was closed unused": (
        CloseReason.LINK_LOST
    ),
    "Another payment for the same checkout or order is paid or at the bank, so the payment page was closed": (
        CloseReason.COVERED
    ),
    "Less is left to pay than this page was for, so the payment page was closed": CloseReason.TOO_HIGH,
    "The order was cancelled, so the payment page was closed": CloseReason.ORDER_CANCELED,
    "The order has expired, so the payment page was closed": CloseReason.ORDER_EXPIRED,
    "The order was returned, so the payment page was closed": CloseReason.ORDER_RETURNED,
    "The checkout no longer exists in Saleor, so the payment page was closed": CloseReason.CHECKOUT_GONE,
    "A newer payment attempt has replaced this one, and the payment page was closed": CloseReason.REPLACED,
}

_NO_SUCH_PAGE = gettext_noop("The gateway has no such payment: there was no page to close")
_STILL_OPEN = gettext_noop("The gateway did not close the page before it expired")
_NOT_YET = gettext_noop("The gateway has not closed the page yet: the app will ask again")

_UNCLEAR = gettext_noop(
    "The gateway reports something that was not requested for this payment: check the payment's problem first"
)
_TOO_LATE = gettext_noop("The shopper paid before the payment could be cancelled: refund it instead")
_RESERVED_FIRST = gettext_noop(
    "The shopper paid before the payment could be cancelled: cancel the authorization instead"
)

LOST_PAGE = "close-lost-page"
REPLACED_BY = "replaced-by-"
NOT_OWED_PAGE = "close-page-not-owed"
_MUST_NOT_BE_PAID = frozenset(CloseReason) - {CloseReason.NOT_PAID_IN_TIME, CloseReason.BY_STAFF}
_LONGEST_PAUSE = timedelta(minutes=5)


def create_cancellation(
    payment: Payment, *, key: str, reason: CloseReason, state: State, next_poll_at: datetime, now: datetime
) -> Operation:
    """Return a new operation that closes the page of ``payment``: an intent, or one that the worker will send.

    The text of ``reason`` is shown to staff, and reported to Saleor if the operation closes the page.
    """
    return Operation(
        kind=Kind.CANCEL,
        idempotency_key=key,
        state=state,
        amount=ZERO,
        currency=payment.currency,
        request=RequestDetails(closing_sentence=sentence_for_earlier_version(reason)).write(
            payment.order_id, payment.currency
        ),
        origin=Origin.APP,
        close_reason=reason,
        asked_by_saleor=False,
        message=_TEXTS[reason],
        next_poll_at=next_poll_at,
        created_at=now,
        updated_at=now,
    )


def have_page_closed(
    aggregate: PaymentAggregate, *, key: str, reason: CloseReason, due: datetime, now: datetime
) -> bool:
    """Have the worker close the page of a payment at ``due``; return False if that was done under this ``key`` before.

    If the shopper is paying at that moment, the cancellation finds out the outcome.
    """
    if aggregate.operation_by_key(key) is not None:
        return False
    closing = create_cancellation(
        aggregate.payment, key=key, reason=reason, state=State.WAITING, next_poll_at=due, now=now
    )
    aggregate.operations.append(closing)
    return True


def is_being_closed(aggregate: PaymentAggregate) -> bool:
    """Return True while any cancellation of the payment is open."""
    return any(operation.kind is Kind.CANCEL and not operation.state.final for operation in aggregate.operations)


def is_closing_for(aggregate: PaymentAggregate, *reasons: CloseReason) -> bool:
    """Return True while the page is being closed for one of these reasons."""
    open_operations = (operation for operation in aggregate.operations if not operation.state.final)
    return any(close_reason_of(operation) in reasons for operation in open_operations)


def was_closed_for(aggregate: PaymentAggregate, reason: CloseReason) -> bool:
    """Return True when the page was, or is being, closed for that reason, whatever came of it."""
    closings = (operation for operation in aggregate.operations if operation.kind is Kind.CANCEL)
    return any(close_reason_of(closing) is reason for closing in closings)


def is_retried_until_confirmed(operation: Operation) -> bool:
    """Return True for the closing of a page that must not be paid: it is retried until the gateway confirms it."""
    return operation.kind is Kind.CANCEL and close_reason_of(operation) in _MUST_NOT_BE_PAID


def needs_look_up_first(closing: Operation) -> bool:
    """Return True when a closing is sent only if a look-up shows the page: it was sent before, or the link is lost."""
    return is_retried_until_confirmed(closing) and (
        closing.polls > 0 or close_reason_of(closing) is CloseReason.LINK_LOST
    )


def postpone_closing(closing: Operation, reason: str | None, schedule: Schedule, now: datetime) -> None:
    """Postpone a closing that the gateway has not carried out, or whose outcome is unknown.

    ``reason`` is for staff. The pauses grow with ``Operation.polls``.
    """
    closing.state, closing.updated_at = State.WAITING, now
    closing.message = reason or _NOT_YET
    closing.polls = max(closing.polls, 1)
    make_due(closing, now + schedule.pause(schedule.first_settle, closing.polls + 1, _LONGEST_PAUSE))


def advance_closing(
    aggregate: PaymentAggregate, closing: Operation, shown: Observations | None, schedule: Schedule, now: datetime
) -> bool:
    """Take the next step of a closing that is due; return True when it has become an intent, to be sent now.

    ``shown`` are the gateway's records of the order, which are posted already; None when the look-up failed. A closing
    ends when the payment ends (``apply``), when a payment that must have appeared by now does not exist, or when the
    time to pay is over and the gateway has not closed the page.
    """
    if closing.state is State.INTENT and now < schedule.intent_deadline(closing.updated_at):
        return False  # it is being sent
    if closing.state.final:
        return False
    expires_at, created_at = aggregate.payment.expires_at, aggregate.create.created_at
    is_open = shown is not None and any(
        observation.kind is Kind.CREATE and observation.state is State.INIT for observation in shown
    )
    not_found = shown is not None and not shown and not shown.unreadable
    if not_found and aggregate.create.state is State.FAILURE and schedule.is_settled_by_silence(created_at, now):
        _end_closing(closing, State.SUCCESS, _NO_SUCH_PAGE, now)
    elif (
        shown is not None
        and expires_at is not None
        and closing.polls > 1
        and schedule.is_settled_by_silence(expires_at, now)
    ):
        _end_closing(closing, State.FAILURE, _STILL_OPEN, now)
    elif is_open and not any(is_in_flight(operation) for operation in aggregate.operations if operation is not closing):
        start_call(closing, schedule, now)
        return True
    else:
        postpone_closing(closing, closing.message, schedule, now)
    return False


def reason_of_closing(aggregate: PaymentAggregate, seen: Observation) -> str | None:
    """Return the reason why the page was closed, if ``seen`` shows that it was and this app requested it; else None."""
    if seen.kind is not Kind.CREATE or seen.state is not State.FAILURE or seen.status_code != CANCELLED:
        return None
    ours = (
        closing
        for closing in aggregate.operations
        if closing.kind is Kind.CANCEL and closing.requester is not Origin.SALEOR and not closing.state.final
    )
    closing = next(ours, None)
    if closing is None:
        return None
    reason = close_reason_of(closing)
    return f"{PAGE_CLOSED if reason is None else _TEXTS[reason]} [{CANCELLED}]"


def _end_closing(closing: Operation, state: State, message: str, now: datetime) -> None:
    closing.state, closing.message, closing.updated_at = state, message, now
    end_look_ups(closing)


def conclude_cancellations(aggregate: PaymentAggregate, context: DecisionContext) -> None:
    """Conclude cancellations from the payment's state: the gateway has no record of a cancellation itself."""
    create, unclear = aggregate.create, has_mismatch(aggregate.payment)
    if (not create.state.final and not unclear) or create.inferred:
        return
    for operation in aggregate.operations:
        if operation.kind is not Kind.CANCEL or operation.state.final:
            continue
        if create.state is State.FAILURE:
            operation.state = State.SUCCESS
            operation.message = PAGE_CLOSED
        elif not create.state.final:
            operation.state = State.FAILURE
            operation.message = _UNCLEAR
        else:
            operation.state = State.FAILURE
            operation.message = _TOO_LATE if aggregate.payment.flow is Flow.CHARGE else _RESERVED_FIRST
        operation.updated_at = context.now
        end_look_ups(operation)
        event = event_type_of(Kind.CANCEL, aggregate.payment.flow, operation.state)
        if event is not None:
            report_operation(aggregate, operation, event, context, amount=operation.amount, message=operation.message)
