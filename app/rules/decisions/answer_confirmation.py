"""Whether Saleor has read the answer to its request, and what follows for the events of that operation. Pure.

They are reported only once Saleor has read it (laws of money, 5 and 9; Saleor contract, A.10).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.core.fact import Fact
from app.core.ids import EventRowId, OperationRowId, PspReference
from app.core.payment import Operation, Payment, PaymentAggregate, SaleorEvent, row_id_of
from app.core.vocabulary import EventState
from app.rules.answer_status import AnswerStatus, answer_status_of, has_conflicting_failure
from app.rules.decision_context import DecisionContext
from app.rules.decisions.answer_window import change_reference, events_of
from app.rules.decisions.placed_order import schedule_order_look_up
from app.rules.problems import cause_of_refused_event, clear_problem
from saleor_app_sdk.errors import SaleorError, SaleorNotAuthorisedError, SaleorUnreachableError
from saleor_app_sdk.history import REFUND_IS_PENDING, HistoryEntry
from saleor_app_sdk.reports import ReportOutcome
from saleor_app_sdk.responses import EventType

_FIRST_PAUSE, _LONGEST_PAUSE = timedelta(seconds=1), timedelta(minutes=1)
_LONGEST_UNAUTHORISED = timedelta(hours=1)
_MAX_REPEAT_REQUESTS = 3


@dataclass(frozen=True, slots=True)
class AwaitedAnswer:
    """An operation whose answer Saleor may not have read yet, as it was when Saleor's history was requested."""

    payment: Payment
    event_id: EventRowId
    operation_id: OperationRowId
    reference: PspReference | None
    requests: int

    def operation_in(self, aggregate: PaymentAggregate) -> Operation | None:
        """Return the operation; None when Saleor has repeated its request since, or the outcome was found already."""
        operation = aggregate.operation_by_id(self.operation_id)
        same = (operation.psp_reference, len(operation.saleor_requests)) == (self.reference, self.requests)
        return operation if same and operation.answer_awaited_until is not None else None


def awaited_answer(aggregate: PaymentAggregate, event: SaleorEvent) -> AwaitedAnswer | None:
    """Return the answer that Saleor must have read before an event is reported; None when there is none."""
    operation = None if event.operation_id is None else aggregate.operation_by_id(event.operation_id)
    if operation is None or operation.answer_awaited_until is None:
        return None
    return AwaitedAnswer(
        aggregate.payment,
        row_id_of(event),
        row_id_of(operation),
        operation.psp_reference,
        len(operation.saleor_requests),
    )


def mark_delivered(event: SaleorEvent, payment: Payment, now: datetime, report: ReportOutcome | None = None) -> None:
    """Record that Saleor has an event, from a ``report`` or from an answer that it has read."""
    event.state = EventState.DELIVERED
    event.delivered_at = now
    event.next_attempt_at = None
    event.last_error = None
    clear_problem(payment, cause_of_refused_event(event), now)
    schedule_order_look_up(payment, EventType(event.type), now, report)


def postpone(event: SaleorEvent, until: datetime) -> None:
    """Postpone a claimed event. Nothing was reported, so it counts as no attempt."""
    event.next_attempt_at = until
    event.attempts -= 1


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What was found out about an answer. ``granted``: the granted refund that Saleor must request again.

    ``reference``: the one that Saleor's request has instead of the operation's, because the answer was not read.
    """

    granted: str | None = None
    reference: PspReference | None = None


@dataclass(frozen=True, slots=True)
class HistoryRead(Fact[Confirmation]):
    """What Saleor's history shows about an awaited answer; None: Saleor has refused to show it."""

    awaited: AwaitedAnswer
    history: Sequence[HistoryEntry] | None
    context: DecisionContext

    def decide(self, aggregate: PaymentAggregate) -> Confirmation:
        """Let the events of the operation be reported once Saleor has read its answer, or never will."""
        now, history = self.context.now, self.history
        event, operation = aggregate.event_by_id(self.awaited.event_id), self.awaited.operation_in(aggregate)
        if operation is None:
            _check_again_later(aggregate, event, now)
            return Confirmation()
        taken = {known.psp_reference for known in aggregate.operations}
        reading: AnswerStatus | PspReference = AnswerStatus.READ
        if history is not None:
            reading = answer_status_of(operation, history, taken, now, self.context.schedule)
        match reading:
            case AnswerStatus.AWAITED:
                _check_again_later(aggregate, event, now)
                return Confirmation()
            case AnswerStatus.ABANDONED if _needs_repeat_request(operation):
                _check_again_later(aggregate, event, now)
                return Confirmation(granted=operation.granted_refund_id)
            case str():
                change_reference(aggregate, operation, reading)
            case _:
                pass
        operation.answer_awaited_until = None
        for reported in events_of(aggregate, operation):
            if reported.state is EventState.WAITING and has_conflicting_failure(reported, history or ()):
                mark_delivered(reported, aggregate.payment, now)
        return Confirmation(reference=reading if isinstance(reading, str) else None)


def _needs_repeat_request(operation: Operation) -> bool:
    """Return True for a granted refund that was made, or is pending, while Saleor takes it for failed.

    Reported under a reference that none of Saleor's requests has, it would be booked, but the grant would stay failed
    for ever. After some attempts that is still better than not reporting it.
    """
    made = operation.granted_refund_id is not None and not operation.has_surely_failed
    return made and operation.asked_anew < _MAX_REPEAT_REQUESTS


@dataclass(frozen=True, slots=True)
class RefundRerequested(Fact[None]):
    """Saleor was asked to request a granted refund again. ``refused_with``: the code with which it refused; or None."""

    awaited: AwaitedAnswer
    context: DecisionContext
    refused_with: str | None = None

    def decide(self, aggregate: PaymentAggregate) -> None:
        """Wait for Saleor's webhook; where Saleor refused, let the events be reported."""
        aggregate.operation_by_id(self.awaited.operation_id).asked_anew += 1
        operation = self.awaited.operation_in(aggregate)
        if operation is None:
            return  # its webhook was faster
        if self.refused_with not in {None, REFUND_IS_PENDING}:
            operation.answer_awaited_until = None
            return
        until = self.context.now + self.context.schedule.answer_window
        if self.refused_with is None:
            operation.answer_awaited_until = until
        # With REFUND_IS_PENDING the webhook of an earlier request may be on its way.
        aggregate.event_by_id(self.awaited.event_id).next_attempt_at = until


@dataclass(frozen=True, slots=True)
class HistoryNotRead(Fact[None]):
    """Saleor could not be queried about the answer on which an event depends."""

    event_id: EventRowId
    error: SaleorError
    now: datetime

    def decide(self, aggregate: PaymentAggregate) -> None:
        """Postpone the event."""
        longest = _LONGEST_UNAUTHORISED if isinstance(self.error, SaleorNotAuthorisedError) else 5 * _LONGEST_PAUSE
        event = aggregate.event_by_id(self.event_id)
        event.last_error = str(self.error)
        pause = max(self.now - event.created_at, _FIRST_PAUSE, stated_pause(self.error))
        postpone(event, self.now + min(pause, longest))


def stated_pause(error: SaleorError) -> timedelta:
    """Return for how long Saleor says that it wants no requests; zero if it does not."""
    return timedelta(seconds=(isinstance(error, SaleorUnreachableError) and error.pause) or 0)


def _check_again_later(aggregate: PaymentAggregate, event: SaleorEvent, now: datetime) -> None:
    """Check again later, after as long as it has taken so far."""
    operation = aggregate.operation_by_id(event.operation_id)
    since = operation.answer_awaited_until or now
    pause = min(max(now - since, _FIRST_PAUSE), _LONGEST_PAUSE)
    postpone(event, max(now + pause, since))
