"""Finds the outcome of an operation that is not concluded, by looking its order up (laws of money, 2).

Used by the worker for everything that is due, and by ``process`` for a payment to which a shopper has returned.
"""

from dataclasses import dataclass
from datetime import datetime

import structlog

from app.core.payment import Operation, PaymentAggregate, row_id_of
from app.core.vocabulary import CloseReason, Kind, State
from app.db.aggregates import ById, ByOperation, account_of
from app.db.tables import MerchantAccount
from app.gateway.errors import GatewayError, KeysNotOpenedError
from app.i18n.messages import Money, gettext_noop
from app.outbound import Deadline
from app.payments.core.apply import apply, conclude
from app.payments.core.balance import balance
from app.payments.core.call_errors import report_to_staff
from app.payments.core.issues import Issue, IssueCode
from app.payments.core.observation import Observations
from app.payments.core.page_cancellation import (
    advance_closing,
    create_cancellation,
    is_being_closed,
    is_link_missing,
    is_retried_until_confirmed,
    needs_look_up_first,
)
from app.payments.core.posting import Posting, raise_problem
from app.payments.core.problems import (
    cause_of_overdue_operation,
    clear_problem,
    has_mismatch,
)
from app.payments.core.refusal import RefusalError
from app.payments.operations.execute import send
from app.payments.operations.look_up import clear_account_problems, gateway_client, look_up_order
from app.payments.operations.transition import abandon_page
from app.payments.services import Services
from app.payments.split.planning import recompute_shares, requested_shares
from app.payments.sync.notifications import flag_unclear

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
        return account_of(self.aggregate.payment)


async def resolve_operation(
    services: Services, operation_row_id: int, deadline: Deadline, *, answering: bool = False, scheduled: bool = False
) -> GatewayError | None:
    """Look an operation up and post the result; or send it, if it was waiting for its turn.

    Returns the gateway's error if the look-up failed.

    ``answering``: a webhook will be answered with the result (see ``Posting``). ``scheduled``: the worker polls because
    the operation was due. Each such poll lengthens the pause before the next; look-ups for shoppers do not.
    """
    due = await _load_due(services, operation_row_id)
    if due is None:
        return None
    if due.operation.state is State.WAITING and not needs_look_up_first(due.operation):
        await _send_waiting(services, due, deadline)
        return None
    records = await look_up_order(services, due.account, due.aggregate.payment, deadline)
    posting = services.posting(answered_operation_id=operation_row_id if answering else None)
    unpaid = await services.payments.update(
        due.payment, lambda locked: _post_look_up(locked, due, records, posting, scheduled=scheduled)
    )
    if not isinstance(records, GatewayError):
        await clear_account_problems(services, due.aggregate)
    if unpaid is not None:
        aggregate, closing = unpaid
        await send(services, aggregate, closing, deadline, answering=False)
    return records if isinstance(records, GatewayError) else None


async def _load_due(services: Services, operation_row_id: int) -> _Due | None:
    aggregate = await services.payments.find(ByOperation(operation_row_id))
    if aggregate is None:
        raise LookupError(f"no operation {operation_row_id}")
    operation = aggregate.operation_by_id(operation_row_id)
    if operation.state.final and operation.next_poll_at is None:
        return None
    return _Due(operation_row_id, aggregate, operation)


async def _send_waiting(services: Services, due: _Due, deadline: Deadline) -> None:
    """Turn a waiting operation into an intent and send it, unless another operation is in flight."""
    posting = services.posting()
    aggregate = await services.payments.update(
        due.payment, lambda locked: _promote_to_intent(services, due, locked, posting)
    )
    if aggregate is not None:
        await send(services, aggregate, aggregate.operation_by_id(due.row_id), deadline, answering=False)


def _promote_to_intent(
    services: Services, due: _Due, aggregate: PaymentAggregate, posting: Posting
) -> PaymentAggregate | None:
    """Turn a waiting operation into an intent; return the payment, or None if it is no intent now."""
    operation = aggregate.operation_by_id(due.row_id)
    if operation.state is not State.WAITING or balance(aggregate.payment.flow, aggregate.operations).in_flight:
        return None
    try:
        gateway_client(services, due.account)
    except KeysNotOpenedError:  # an alert notifies staff, and the operation waits for them
        operation.next_poll_at = posting.now + posting.schedule.longest_pause
        return None
    try:
        recompute_shares(aggregate, operation)
    except RefusalError as refusal:
        conclude(aggregate, operation, State.FAILURE, posting, message=refusal.message)
        return None
    operation.shares = requested_shares(operation)
    operation.state = State.INTENT
    operation.updated_at = posting.now
    operation.next_poll_at = posting.schedule.intent_deadline(posting.now)
    return aggregate


def _post_look_up(
    aggregate: PaymentAggregate, due: _Due, records: Observations | GatewayError, posting: Posting, *, scheduled: bool
) -> tuple[PaymentAggregate, Operation] | None:
    """Post a look-up. Return the cancellation to send if an unpaid payment page must be closed.

    A page whose link no one has is abandoned once no answer with the link can arrive any more, whatever the look-up
    shows.
    """
    closing = None
    operation = aggregate.operation_by_id(due.row_id)
    operation.polls += scheduled
    operation.polled_at = posting.now
    if isinstance(records, GatewayError):
        report_to_staff(aggregate, records, posting.now)
    else:
        apply(aggregate, due.account.pos_id, records, posting)
        flag_unclear(aggregate, records, posting.now)
    if operation.kind is Kind.CREATE and posting.now >= posting.schedule.intent_deadline(operation.created_at):
        abandon_page(aggregate, posting)
    if is_retried_until_confirmed(operation):
        shown = None if isinstance(records, GatewayError) else records
        closing = operation if advance_closing(aggregate, operation, shown, posting.schedule, posting.now) else None
    elif not isinstance(records, GatewayError):
        _conclude_from_silence(aggregate, operation, records, posting)
        closing = _close_expired_page(aggregate, operation, posting)
        _cancel_needless_polls(aggregate, due)
    if operation.state.final and not (isinstance(records, GatewayError) and _should_look_up_again(operation, posting)):
        operation.next_poll_at = None
    elif scheduled and operation.next_poll_at is not None and not is_retried_until_confirmed(operation):
        operation.next_poll_at = _next_poll(aggregate, operation, posting)
    _flag_overdue(aggregate, operation, posting)
    return None if closing is None else (aggregate, closing)


def _conclude_from_silence(
    aggregate: PaymentAggregate, operation: Operation, records: Observations, posting: Posting
) -> None:
    """Conclude that an operation of which the gateway has shown nothing for long enough did not happen."""
    now, schedule, payment = posting.now, posting.schedule, aggregate.payment
    if operation.operation_id is not None or (operation.kind is Kind.CREATE and has_mismatch(payment)):
        return  # the gateway has reported it: silence does not undo that, and a mismatch is for a person
    if operation.state in {State.INTENT, State.UNKNOWN}:
        waited_long = schedule.is_settled_by_silence(operation.updated_at, now) and schedule.has_enough_look_ups(
            operation.polls
        )
        if waited_long and _is_silent(aggregate, operation, records):
            message = gettext_noop("The gateway has no record of it: nothing was charged or changed")
            conclude(aggregate, operation, State.FAILURE, posting, message=message, inferred=True)
        elif operation.state is State.INTENT:
            message = gettext_noop("The outcome is not yet known: the payment is being looked up")
            conclude(aggregate, operation, State.UNKNOWN, posting, message=message)
    elif operation.state is State.INIT and operation.kind is Kind.CREATE:
        ends = payment.expires_at
        not_closed = any(
            each.kind is Kind.CANCEL and each.state is State.FAILURE and ends is not None and each.updated_at >= ends
            for each in aggregate.operations
        )
        over = ends is not None and schedule.is_settled_by_silence(ends, now)
        if over and (not_closed or _is_silent(aggregate, operation, records)):
            message = gettext_noop("The time to pay has run out, and the gateway has no record of a payment")
            conclude(aggregate, operation, State.FAILURE, posting, message=message, inferred=True)


def _is_silent(aggregate: PaymentAggregate, operation: Operation, records: Observations) -> bool:
    """Return whether a successful look-up shows that ``operation`` did not happen.

    A payment did not happen if the gateway reports, in its own format, that it has no such order. An operation on a
    payment did not happen if the gateway shows the payment, in a state that allows the operation, and nothing else. A
    payment in an earlier state may lag behind, and an unreadable record may be the operation.
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


def _close_expired_page(aggregate: PaymentAggregate, operation: Operation, posting: Posting) -> Operation | None:
    """Add and return the intent to cancel a payment whose time to pay is over; None if its page stays open."""
    payment, now = aggregate.payment, posting.now
    if operation.kind is not Kind.CREATE or operation.state is not State.INIT or has_mismatch(payment):
        return None
    over = payment.expires_at is not None and now >= payment.expires_at + posting.schedule.expiry_grace
    if is_being_closed(aggregate) or not over:
        return None
    closing = create_cancellation(
        payment,
        key=f"close-page-{len(aggregate.operations)}",
        reason=CloseReason.NOT_PAID_IN_TIME,
        state=State.INTENT,
        next_poll_at=posting.schedule.intent_deadline(now),
        now=now,
    )
    aggregate.operations.append(closing)
    return closing


def _cancel_needless_polls(aggregate: PaymentAggregate, due: _Due) -> None:
    """Cancel the polls of operations that had ended before this look-up, because it has shown the whole order."""
    ended = {each.id for each in due.aggregate.operations if each.state.final}
    for each in aggregate.operations:
        if each.id in ended:
            each.next_poll_at = None


def _should_look_up_again(operation: Operation, posting: Posting) -> bool:
    """Return whether the failed look-up after an operation that has ended is retried; after a day it is abandoned."""
    return not posting.schedule.is_overdue(operation.updated_at, posting.now)


def _flag_overdue(aggregate: PaymentAggregate, operation: Operation, posting: Posting) -> None:
    """Raise a problem for staff if an outcome is open for too long, so that nothing waits for ever unnoticed."""
    if is_retried_until_confirmed(operation):
        if operation.state.final:
            clear_problem(aggregate.payment, cause_of_overdue_operation(operation), posting.now)
        if not operation.state.final and posting.schedule.is_settled_by_silence(operation.created_at, posting.now):
            issue = Issue(IssueCode.PAGE_NOT_CLOSED, since=operation.created_at)
            raise_problem(aggregate, issue, posting.now, cause=cause_of_overdue_operation(operation))
        return
    since = operation.updated_at
    if operation.state is State.INIT and aggregate.payment.expires_at is not None:
        since = max(since, aggregate.payment.expires_at)  # until then the shopper may still pay
    awaited = not operation.state.final and operation.kind is not Kind.DISPUTE  # disputes take weeks, and staff know
    if not awaited or not posting.schedule.is_overdue(since, posting.now):
        return
    amount = Money(operation.amount, operation.currency)
    issue = Issue(IssueCode.OUTCOME_UNKNOWN, since=since, what=operation.kind, sum=amount)
    raise_problem(aggregate, issue, posting.now, cause=cause_of_overdue_operation(operation))


def _next_poll(aggregate: PaymentAggregate, operation: Operation, posting: Posting) -> datetime | None:
    payment, now = aggregate.payment, posting.now
    if operation.kind is Kind.DISPUTE and not operation.state.final:
        return posting.schedule.next_dispute_poll(now)
    # The answer with the link may still arrive: the gateway's notification can overtake it.
    link_due = posting.schedule.intent_deadline(payment.created_at)
    if operation.state is State.INIT and is_link_missing(payment) and now < link_due:
        return link_due
    # A final operation is looked up once more (see ``apply``); until that works, as often as one that is at the bank.
    state = State.PENDING if operation.state.final else operation.state
    return posting.schedule.next_poll(
        state, operation.polls, now, since=operation.updated_at, expires_at=payment.expires_at
    )
