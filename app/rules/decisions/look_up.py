"""Posts what a look-up has shown of an order, and sends what has waited for its turn (laws of money, 2 and 3). Pure."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal

from app.core.fact import Fact
from app.core.ids import OperationRowId
from app.core.payment import Operation, PaymentAggregate
from app.core.vocabulary import CloseReason, Flow, Kind, State
from app.i18n.messages import Money, gettext_noop
from app.rules.apply import apply, conclude
from app.rules.balance import balance
from app.rules.call_errors import confirm_address, report_to_staff
from app.rules.decision_context import DecisionContext, raise_problem
from app.rules.decisions.action import step_for
from app.rules.decisions.gateway_call import abandon_page
from app.rules.details import Details
from app.rules.issues import Issue, IssueCode
from app.rules.labels import what_of
from app.rules.observation import Observations
from app.rules.page_cancellation import (
    advance_closing,
    create_cancellation,
    is_being_closed,
    is_retried_until_confirmed,
)
from app.rules.problems import ADDRESS, KEYS, cause_of_overdue_operation, clear_problem, has_mismatch, has_problem
from app.rules.refusal import RefusalError
from app.rules.requests.operation import is_full_refund
from app.rules.schedule import end_look_ups, make_due, plan_another_look_up, postpone_look_up, start_call
from app.rules.split.planning import recompute_shares, requested_shares
from app.rules.whole_order import apply_whole_order
from gateway_client.errors import GatewayError, RateLimitedError
from saleor_app_sdk.responses import AvailableAction

_ACTIONS = {
    Kind.CAPTURE: AvailableAction.CHARGE,
    Kind.REFUND: AvailableAction.REFUND,
    Kind.VOID: AvailableAction.CANCEL,
}


@dataclass(frozen=True, slots=True)
class OrderLookedUp(Fact["tuple[PaymentAggregate, Operation] | None"]):
    """A look-up of an order for the operation with that row id. ``records`` is the whole order, or why it is not known.

    ``ended_before``: row ids of the operations that had ended when it was begun. ``scheduled``: the worker looked it up
    because the operation was due. Each such look-up lengthens the pause before the next.

    Returns the payment and the cancellation to send if an unpaid payment page must be closed.
    """

    operation_id: OperationRowId
    ended_before: frozenset[int | None]
    records: Observations | GatewayError
    context: DecisionContext
    scheduled: bool = False

    def decide(self, aggregate: PaymentAggregate) -> tuple[PaymentAggregate, Operation] | None:
        """Post what was shown, and conclude what follows from its silence.

        A page whose link no one has is abandoned once no answer with the link can arrive any more, whatever the look-up
        shows.
        """
        closing, records, context = None, self.records, self.context
        operation = aggregate.operation_by_id(self.operation_id)
        is_known = has_problem(aggregate.payment, ADDRESS)
        operation.polls += self.scheduled
        operation.polled_at = context.now
        # By a clock that was ahead: what follows from the passing of time would wait until that moment comes again.
        operation.updated_at = min(operation.updated_at, context.now)
        if isinstance(records, GatewayError):
            report_to_staff(aggregate, records, context.now)
        elif not _is_behind(aggregate, records):
            apply_whole_order(aggregate, records, context)
        if operation.kind is Kind.CREATE and context.now >= context.schedule.intent_deadline(operation.created_at):
            abandon_page(aggregate, context)
        if is_retried_until_confirmed(operation):
            shown = None if isinstance(records, GatewayError) else records
            closing = operation if advance_closing(aggregate, operation, shown, context.schedule, context.now) else None
        elif not isinstance(records, GatewayError):
            _conclude_from_silence(aggregate, operation, records, context)
            closing = _close_expired_page(aggregate, operation, context)
            if not _is_behind(aggregate, records):
                self._cancel_needless_polls(aggregate)
        self._schedule_next(aggregate, operation)
        if not is_known:  # else the look-up that was to confirm it would be repeated for ever
            confirm_address(aggregate, context)
        _flag_overdue(aggregate, operation, context)
        return None if closing is None else (aggregate, closing)

    def _cancel_needless_polls(self, aggregate: PaymentAggregate) -> None:
        """Cancel the polls of operations that had ended before this look-up, because it has shown the whole order."""
        for operation in aggregate.operations:
            if operation.id in self.ended_before and operation.newer_try is None:
                end_look_ups(operation)

    def _schedule_next(self, aggregate: PaymentAggregate, operation: Operation) -> None:
        failed = isinstance(self.records, GatewayError) or _is_behind(aggregate, self.records)
        has_ended = operation.state.final and operation.newer_try is None
        if has_ended and not (failed and _should_look_up_again(operation, self.context)):
            end_look_ups(operation)
        elif self.scheduled and operation.next_poll_at is not None and not is_retried_until_confirmed(operation):
            plan_another_look_up(aggregate.payment, operation, self.context.schedule, self.context.now)
        must_close = is_retried_until_confirmed(operation)  # a page that may be paid is more than the gateway's wish
        if isinstance(self.records, RateLimitedError) and self.records.pause is not None and not must_close:
            postpone_look_up(operation, self.context.now + timedelta(seconds=self.records.pause))


@dataclass(frozen=True, slots=True)
class OrderShown(Fact[None]):
    """What the gateway shows of an order, for no operation in particular.

    ``is_whole``: all that it has of the order; else some records of it.
    """

    records: Observations
    context: DecisionContext
    is_whole: bool = True

    def decide(self, aggregate: PaymentAggregate) -> None:
        """Post the records; others may have acted on the payment (laws of money, 10)."""
        if self.is_whole:
            apply_whole_order(aggregate, self.records, self.context)
        else:
            apply(aggregate, self.records, self.context)


@dataclass(frozen=True, slots=True)
class TurnCame(Fact["PaymentAggregate | None"]):
    """The turn of a waiting operation may have come. Returns the payment, or None if nothing is to be sent now.

    ``can_be_sent``: the keys of the account open. Otherwise an alert notifies staff, and the operation waits for them.
    """

    operation_id: OperationRowId
    context: DecisionContext
    can_be_sent: bool

    def decide(self, aggregate: PaymentAggregate) -> PaymentAggregate | None:
        """Turn the operation into an intent, unless another one is in flight (laws of money, 3)."""
        operation, context = aggregate.operation_by_id(self.operation_id), self.context
        current = balance(aggregate.payment.flow, aggregate.operations)
        if operation.state is not State.WAITING or current.in_flight:
            return None
        if not self.can_be_sent:
            make_due(operation, context.now + context.schedule.longest_pause)
            return None
        turned_away_at = Details.from_row(operation.details).turned_away_at
        operation.details = Details(turned_away_at=turned_away_at).to_row()
        try:
            _check_left(aggregate, operation)
            recompute_shares(aggregate, operation)
        except RefusalError as refusal:
            conclude(aggregate, operation, State.FAILURE, context, message=refusal.message)
            return None
        operation.shares = requested_shares(operation)
        _update_whole(aggregate, operation, current.reserved)
        start_call(operation, context.schedule, context.now)
        return aggregate


@dataclass(frozen=True, slots=True)
class ExpectationChanged(Fact[None]):
    """The account expects something else of the gateway's records than before: a payer's fee on top of the amount."""

    now: datetime

    def decide(self, aggregate: PaymentAggregate) -> None:
        """Have a payment under review looked up again; what still does not match stays for staff."""
        create = aggregate.create
        if has_mismatch(aggregate.payment) and not create.state.final and create.next_poll_at is None:
            make_due(create, self.now)


def _check_left(aggregate: PaymentAggregate, operation: Operation) -> None:
    """Raise RefusalError for more than is left to charge, refund or release: others may have acted while it waited."""
    before = [known for known in aggregate.operations if known.state is not State.WAITING]
    current, action = balance(aggregate.payment.flow, before), _ACTIONS.get(operation.kind)
    if action is not None and not current.in_doubt:
        step_for(action, operation.amount, current, required_kind=operation.kind, charge_id=operation.charge_id)


def _update_whole(aggregate: PaymentAggregate, operation: Operation, reserved: Decimal) -> None:
    """Update what takes all that is left, whatever it was requested for: others may have acted while it waited.

    A void releases more if what it waited for has failed. A refund stays over the sum that was requested, and names it
    where that is not all any more.
    """
    details, others = operation.requested, [known for known in aggregate.operations if known is not operation]
    if operation.kind is Kind.VOID and reserved:
        operation.amount = reserved
        details = replace(details, amount=reserved)
    elif details.is_full and not is_full_refund(aggregate.payment, operation.amount, others):
        details = replace(details, is_full=False)
    else:
        return
    operation.request = details.write(aggregate.payment.order_id, operation.currency)


def _conclude_from_silence(
    aggregate: PaymentAggregate, operation: Operation, records: Observations, context: DecisionContext
) -> None:
    """Conclude that an operation of which the gateway has shown nothing for long enough did not happen."""
    now, schedule, payment = context.now, context.schedule, aggregate.payment
    if operation.operation_id is not None or (operation.kind is Kind.CREATE and has_mismatch(payment)):
        return  # the gateway has reported it: silence does not undo that, and a mismatch is for a person
    if operation.state in {State.INTENT, State.UNKNOWN}:
        waited_long = schedule.is_settled_by_silence(operation.updated_at, now) and schedule.has_enough_look_ups(
            operation.polls
        )
        if waited_long and _is_silent(aggregate, operation, records):
            message = gettext_noop("The gateway has no record of it: nothing was charged or changed")
            conclude(aggregate, operation, State.FAILURE, context, message=message, inferred=True)
        elif operation.state is State.INTENT:
            message = gettext_noop("The outcome is not yet known: it is being looked up")
            conclude(aggregate, operation, State.UNKNOWN, context, message=message)
    elif operation.state is State.INIT:  # a page: whatever else is in this state the gateway has reported
        ends = payment.expires_at
        not_closed = any(
            closing.kind is Kind.CANCEL
            and closing.state is State.FAILURE
            and ends is not None
            and closing.updated_at >= ends
            for closing in aggregate.operations
        )
        over = ends is not None and schedule.is_settled_by_silence(ends, now)
        # An unreadable record may be the payment, and the reason why the page was not closed.
        was_refused = not_closed and not records.unreadable
        if over and (was_refused or _is_silent(aggregate, operation, records)):
            message = gettext_noop("The time to pay has run out, and the gateway has no record of a payment")
            conclude(aggregate, operation, State.FAILURE, context, message=message, inferred=True)


def _is_behind(aggregate: PaymentAggregate, records: Observations) -> bool:
    """Return True when the gateway shows nothing of an order of which it has reported something."""
    is_empty = not (records or records.unreadable or records.unexplained)
    return is_empty and any(operation.operation_id is not None for operation in aggregate.operations)


def _is_silent(aggregate: PaymentAggregate, operation: Operation, records: Observations) -> bool:
    """Return whether a successful look-up shows that ``operation`` did not happen.

    A payment did not happen if the gateway reports, in its own format, that it has no such order. An operation on a
    payment did not happen if the gateway shows the payment, in a state that allows the operation, and nothing else. A
    payment in an earlier state may lag behind, and an unreadable record may be the operation. Nor does silence undo
    what the gateway has reported under the id of another operation.
    """
    if records.unreadable or operation.contradicted:
        return False
    if operation.kind is Kind.CREATE:
        return not records
    order_id, cancels = aggregate.payment.order_id, operation.kind is Kind.CANCEL
    return any(
        record.kind is Kind.CREATE and record.order_id == order_id and (cancels or record.state is State.SUCCESS)
        for record in records
    )


def _close_expired_page(
    aggregate: PaymentAggregate, operation: Operation, context: DecisionContext
) -> Operation | None:
    """Add and return the intent to cancel a payment whose time to pay is over; None if its page stays open."""
    payment, now = aggregate.payment, context.now
    if operation.kind is not Kind.CREATE or operation.state is not State.INIT or has_mismatch(payment):
        return None
    over = payment.expires_at is not None and now >= payment.expires_at + context.schedule.expiry_grace
    if is_being_closed(aggregate) or not over:
        return None
    closing = create_cancellation(
        payment,
        key=f"close-page-{len(aggregate.operations)}",
        reason=CloseReason.NOT_PAID_IN_TIME,
        state=State.INTENT,
        next_poll_at=context.schedule.intent_deadline(now),
        now=now,
    )
    aggregate.operations.append(closing)
    return closing


def _should_look_up_again(operation: Operation, context: DecisionContext) -> bool:
    """Return whether the failed look-up after an operation that has ended is retried; after a day it is abandoned."""
    return not context.schedule.is_overdue(operation.updated_at, context.now)


def _flag_overdue(aggregate: PaymentAggregate, operation: Operation, context: DecisionContext) -> None:
    """Raise a problem for staff if an outcome is open for too long, so that nothing waits for ever unnoticed."""
    if is_retried_until_confirmed(operation):
        if operation.state.final:
            clear_problem(aggregate.payment, cause_of_overdue_operation(operation), context.now)
        if not operation.state.final and context.schedule.is_settled_by_silence(operation.created_at, context.now):
            issue = Issue(IssueCode.PAGE_NOT_CLOSED, since=operation.created_at)
            raise_problem(aggregate, issue, context.now, cause=cause_of_overdue_operation(operation))
        return
    since = operation.updated_at
    if operation.state is State.INIT and aggregate.payment.expires_at is not None:
        since = max(since, aggregate.payment.expires_at)  # until then the shopper may still pay
    awaited = not operation.state.final and operation.kind is not Kind.DISPUTE  # disputes take weeks, and staff know
    if not awaited or not context.schedule.is_overdue(since, context.now):
        return
    amount = Money(operation.amount, operation.currency)
    issue = Issue(
        IssueCode.OUTCOME_UNKNOWN, since=since, what=what_of(aggregate.payment.flow, operation.kind), sum=amount
    )
    raise_problem(aggregate, issue, context.now, cause=cause_of_overdue_operation(operation))


@dataclass(frozen=True, slots=True)
class ShopperReturned(Fact["OperationRowId | None"]):
    """The shopper of a payment has returned. Returns the row id of the operation to look up now; None: there is none.

    ``interval``: less than this after a look-up, none is made.
    """

    now: datetime
    interval: timedelta

    def decide(self, aggregate: PaymentAggregate) -> OperationRowId | None:
        """Claim the payment's creation, so that no other process looks it up now."""
        create = aggregate.create
        if aggregate.payment.flow is Flow.PAYOUT or create.state not in {State.INIT, State.PENDING}:
            return None
        # A time far in the future is from before the clock was put back.
        if create.polled_at is not None and abs(self.now - create.polled_at) < self.interval:
            return None
        create.polled_at = self.now
        return create.id


@dataclass(frozen=True, slots=True)
class GatewayAnswered(Fact[None]):
    """The gateway has answered a call that was made with the account's keys, at its address."""

    now: datetime

    def decide(self, aggregate: PaymentAggregate) -> None:
        """Clear the problems of the account's keys and address."""
        for cause in (KEYS, ADDRESS):
            clear_problem(aggregate.payment, cause, self.now)
