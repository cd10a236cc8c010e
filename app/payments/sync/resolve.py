"""Finds out what became of an operation that is not concluded, by looking its order up (laws of money, 2).

Used by the worker for everything that is due, and by ``process`` for the payment that a shopper has come back to.
"""

from dataclasses import dataclass
from datetime import datetime

import structlog

from app.db.aggregates import ATTEMPTS, POLLS, ById, ByOperation, PaymentAggregate, row_id_of
from app.db.outbox import EVENTS
from app.db.tables import Kind, MerchantAccount, Operation, State
from app.gateway.errors import GatewayError, KeysNotOpenedError
from app.i18n.messages import LazyMessage, Money, gettext_noop
from app.outbound import Deadline
from app.payments.core.apply import Posting, apply, conclude, raise_problem
from app.payments.core.balance import balance
from app.payments.core.call_errors import tell_staff
from app.payments.core.labels import NAMES
from app.payments.core.observation import Shown
from app.payments.core.page_cancellation import (
    TIME_IS_OVER,
    being_closed,
    cancellation,
    is_looked_up_first,
    is_pursued,
    link_is_missing,
    pursue,
)
from app.payments.core.problems import (
    clear,
    disagrees,
    of_waiting,
)
from app.payments.core.refusal import RefusalError
from app.payments.operations.execute import send
from app.payments.operations.look_up import keys_accepted, opened, shown_at_gateway
from app.payments.operations.transition import give_up
from app.payments.services import Services
from app.payments.split.planning import renew, shares_said
from app.payments.sync.notifications import mind_unreadable

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Due:
    row_id: int
    aggregate: PaymentAggregate
    operation: Operation

    @property
    def payment(self) -> ById:
        return ById(row_id_of(self.aggregate.payment))

    @property
    def account(self) -> MerchantAccount:
        return self.aggregate.payment.account


async def look(
    services: Services, operation_row_id: int, deadline: Deadline, *, answering: bool = False, scheduled: bool = False
) -> GatewayError | None:
    """Look one operation up and post what is found; send it, if it had to wait for its turn until now.

    Return why nothing could be found, if so.

    ``answering``: a webhook will answer with what is found (see ``Posting``). ``scheduled``: the worker looks because
    it was time to, and each such look makes it more patient; looks of shoppers, however many, do not.
    """
    due = await _due(services, operation_row_id)
    if due is None:
        return None
    if due.operation.state is State.WAITING and not is_looked_up_first(due.operation):
        await _take_its_turn(services, due, deadline)
        return None
    records = await shown_at_gateway(services, due.account, due.aggregate.payment, deadline)
    posting = services.posting(answering=operation_row_id if answering else None)
    unpaid = await services.payments.update(
        due.payment, lambda locked: _post(locked, due, records, posting, scheduled=scheduled)
    )
    if not isinstance(records, GatewayError):
        await keys_accepted(services, due.aggregate)
    if unpaid is not None:
        aggregate, closing = unpaid
        await send(services, aggregate, closing, deadline, answering=False)
    services.wake(POLLS, EVENTS, ATTEMPTS)
    return records if isinstance(records, GatewayError) else None


async def _due(services: Services, operation_row_id: int) -> _Due | None:
    aggregate = await services.payments.find(ByOperation(operation_row_id))
    if aggregate is None:
        raise LookupError(f"no operation {operation_row_id}")
    operation = aggregate.by_id(operation_row_id)
    if operation.state.final and operation.next_poll_at is None:
        return None
    return _Due(operation_row_id, aggregate, operation)


async def _take_its_turn(services: Services, due: _Due, deadline: Deadline) -> None:
    """Turn a waiting operation into an intent, unless another one got in before it, and send it."""
    posting = services.posting()
    aggregate = await services.payments.update(
        due.payment, lambda locked: _begin_its_turn(services, due, locked, posting)
    )
    if aggregate is not None:
        await send(services, aggregate, aggregate.by_id(due.row_id), deadline, answering=False)


def _begin_its_turn(
    services: Services, due: _Due, aggregate: PaymentAggregate, posting: Posting
) -> PaymentAggregate | None:
    """Return the payment if the operation is an intent now."""
    operation = aggregate.by_id(due.row_id)
    if operation.state is not State.WAITING or balance(aggregate.payment.flow, aggregate.operations).in_flight:
        return None
    try:
        opened(services, due.account)
    except KeysNotOpenedError:  # staff are told (alerts), and it waits for them
        operation.next_poll_at = posting.now + posting.schedule.longest
        return None
    try:
        renew(aggregate, operation)
    except RefusalError as refusal:
        conclude(aggregate, operation, State.FAILURE, posting, message=refusal.message)
        return None
    aggregate.assign(operation, shares_said(operation))
    operation.state = State.INTENT
    operation.updated_at = posting.now
    operation.next_poll_at = posting.schedule.after_intent(posting.now)
    return aggregate


def _post(
    aggregate: PaymentAggregate, due: _Due, records: Shown | GatewayError, posting: Posting, *, scheduled: bool
) -> tuple[PaymentAggregate, Operation] | None:
    """Post a look-up. Return a cancellation to be sent, when an unpaid payment page must be closed.

    Once no answer with its link can come any more, a page of which nobody has the link is given up, whatever a look-up
    shows or does not show.
    """
    closing = None
    operation = aggregate.by_id(due.row_id)
    operation.polls += scheduled
    operation.polled_at = posting.now
    if isinstance(records, GatewayError):
        tell_staff(aggregate, records, posting.now)
    else:
        apply(aggregate, due.account.pos_id, records, posting)
        mind_unreadable(aggregate, records, posting.now)
    if operation.kind is Kind.CREATE and posting.now >= posting.schedule.after_intent(operation.created_at):
        give_up(aggregate, posting)
    if is_pursued(operation):
        shown = None if isinstance(records, GatewayError) else records
        closing = operation if pursue(aggregate, operation, shown, posting.schedule, posting.now) else None
    elif not isinstance(records, GatewayError):
        _conclude_from_silence(aggregate, operation, records, posting)
        closing = _close_the_page(aggregate, operation, posting)
        _is_seen(aggregate, due)
    if operation.state.final and not (isinstance(records, GatewayError) and _is_worth_another_look(operation, posting)):
        operation.next_poll_at = None
    elif scheduled and operation.next_poll_at is not None and not is_pursued(operation):
        operation.next_poll_at = _next_poll(aggregate, operation, posting)
    _mind_what_is_overdue(aggregate, operation, posting)
    return None if closing is None else (aggregate, closing)


def _conclude_from_silence(aggregate: PaymentAggregate, operation: Operation, records: Shown, posting: Posting) -> None:
    """An operation of which the gateway shows nothing, for long enough, did not happen."""
    now, schedule, payment = posting.now, posting.schedule, aggregate.payment
    if operation.operation_id is not None or (operation.kind is Kind.CREATE and disagrees(payment)):
        return  # the gateway has spoken of it: silence does not undo that, and what does not agree is for a person
    if operation.state in {State.INTENT, State.UNKNOWN}:
        long = schedule.settled_by_silence(operation.updated_at, now) and schedule.looked_for_long(operation.polls)
        if long and _is_silent(aggregate, operation, records):
            words = gettext_noop("The gateway has no trace of it: nothing was charged or changed")
            conclude(aggregate, operation, State.FAILURE, posting, message=words, inferred=True)
        elif operation.state is State.INTENT:
            words = gettext_noop("The outcome is not known yet: we are looking the payment up")
            conclude(aggregate, operation, State.UNKNOWN, posting, message=words)
    elif operation.state is State.INIT and operation.kind is Kind.CREATE:
        ends = payment.expires_at
        not_closed = any(
            each.kind is Kind.CANCEL and each.state is State.FAILURE and ends is not None and each.updated_at >= ends
            for each in aggregate.operations
        )
        over = ends is not None and schedule.settled_by_silence(ends, now)
        if over and (not_closed or _is_silent(aggregate, operation, records)):
            words = gettext_noop("The time to pay is over and the gateway knows of no payment")
            conclude(aggregate, operation, State.FAILURE, posting, message=words, inferred=True)


def _is_silent(aggregate: PaymentAggregate, operation: Operation, records: Shown) -> bool:
    """Return whether a look-up that worked tells that ``operation`` did not happen.

    Of a payment: the gateway says, in its own shape, that it knows no such order. Of what is done to a payment: it
    shows the payment, as far as it must have come for that, and nothing else. One that shows less may lag behind, and
    what cannot be read may be it.
    """
    if records.unreadable:
        return False
    if operation.kind is Kind.CREATE:
        return not records
    order_id, cancels = aggregate.payment.order_id, operation.kind is Kind.CANCEL
    return any(
        each.kind is Kind.CREATE and each.order_id == order_id and (cancels or each.state is State.SUCCESS)
        for each in records
    )


def _close_the_page(aggregate: PaymentAggregate, operation: Operation, posting: Posting) -> Operation | None:
    """Return the intent to cancel a payment that nobody can make any more: its time is over."""
    payment, now = aggregate.payment, posting.now
    if operation.kind is not Kind.CREATE or operation.state is not State.INIT or disagrees(payment):
        return None
    over = payment.expires_at is not None and now >= payment.expires_at + posting.schedule.expiry_grace
    if being_closed(aggregate) or not over:
        return None
    closing = cancellation(
        payment,
        key=f"close-page-{len(aggregate.operations)}",
        why=TIME_IS_OVER,
        state=State.INTENT,
        next_poll_at=posting.schedule.after_intent(now),
        now=now,
    )
    aggregate.operations.append(closing)
    return closing


def _is_seen(aggregate: PaymentAggregate, due: _Due) -> None:
    """Whatever had ended before the gateway was asked needs no look of its own: this one has shown the whole order."""
    ended = {each.id for each in due.aggregate.operations if each.state.final}
    for each in aggregate.operations:
        if each.id in ended:
            each.next_poll_at = None


def _is_worth_another_look(operation: Operation, posting: Posting) -> bool:
    """Return whether the look after an operation that has ended is tried again; after a day it is given up."""
    return not posting.schedule.is_overdue(operation.updated_at, posting.now)


def _mind_what_is_overdue(aggregate: PaymentAggregate, operation: Operation, posting: Posting) -> None:
    """Make an outcome that is open for too long a problem for staff: nothing waits for ever in silence."""
    if is_pursued(operation):
        if operation.state.final:
            clear(aggregate.payment, of_waiting(operation), posting.now)
        if not operation.state.final and posting.schedule.settled_by_silence(operation.created_at, posting.now):
            words = LazyMessage(
                "The gateway has not closed the payment page since %(since)s, though nobody should pay on it any more. "
                "The app goes on asking the gateway; look in the merchant portal whether it can be paid.",
                since=operation.created_at,
            )
            raise_problem(aggregate, words, posting.now, cause=of_waiting(operation))
        return
    since = operation.updated_at
    if operation.state is State.INIT and aggregate.payment.expires_at is not None:
        since = max(since, aggregate.payment.expires_at)  # until then it is the shopper who is waited for
    awaited = not operation.state.final and operation.kind is not Kind.DISPUTE  # a bank takes weeks: staff are told
    if not awaited or not posting.schedule.is_overdue(since, posting.now):
        return
    words = LazyMessage(
        "Since %(since)s it is not known what became of the %(what)s of %(sum)s. The app goes on asking the gateway; "
        "compare this payment with the merchant portal.",
        since=since,
        what=NAMES[operation.kind],
        sum=Money(operation.amount, operation.currency),
    )
    raise_problem(aggregate, words, posting.now, cause=of_waiting(operation))


def _next_poll(aggregate: PaymentAggregate, operation: Operation, posting: Posting) -> datetime | None:
    payment, now = aggregate.payment, posting.now
    if operation.kind is Kind.DISPUTE and not operation.state.final:
        return posting.schedule.next_poll_at_dispute(now)
    # The answer with the link may still be on its way: the gateway's notification can overtake it.
    link_due = posting.schedule.after_intent(payment.created_at)
    if operation.state is State.INIT and link_is_missing(payment) and now < link_due:
        return link_due
    # One that is final is looked at once more (see ``apply``), as patiently as one at the bank until that is possible.
    state = State.PENDING if operation.state.final else operation.state
    return posting.schedule.next_poll(
        state, operation.polls, now, since=operation.updated_at, expires_at=payment.expires_at
    )
