"""Which event of a payment is reported to Saleor next, and what follows from the answer (laws of money, 5). Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.core.fact import Fact
from app.core.ids import EventRowId, PspReference
from app.core.payment import Operation, PaymentAggregate, SaleorEvent, row_id_of
from app.core.vocabulary import EventState
from app.i18n.messages import Money
from app.rules.decision_context import DecisionContext
from app.rules.decisions.answer_confirmation import (
    AwaitedAnswer,
    awaited_answer,
    mark_delivered,
    postpone,
    stated_pause,
)
from app.rules.decisions.placed_order import schedule_comparison
from app.rules.event_queue import (
    has_available_actions,
    has_matching_success,
    is_failure,
    is_note,
    is_outdated_failure,
    supersede,
)
from app.rules.issues import Issue, IssueCode
from app.rules.observation import is_ours
from app.rules.order_standing import MONEY_ARRIVES, compare_uncounted_at, compare_with_source
from app.rules.problems import add_problem, cause_of_refused_event
from saleor_app_sdk.errors import SaleorError, SaleorNotAuthorisedError, SaleorRefusedError
from saleor_app_sdk.reports import ReportOutcome
from saleor_app_sdk.responses import EventType

_BOOKED_TYPES = frozenset({EventType.CHARGE_SUCCESS, EventType.CANCEL_SUCCESS, EventType.REFUND_SUCCESS})
# The first pause and the longest. An app that was uninstalled or switched off may be let in again.
_RETRY_PAUSES = (timedelta(seconds=1), timedelta(minutes=5))
_UNAUTHORISED_RETRY_PAUSES = (timedelta(minutes=1), timedelta(hours=1))


@dataclass(frozen=True, slots=True)
class DueEvent:
    """An event to report; None: not now. ``awaited``: first, whether Saleor has read this answer must be found out."""

    aggregate: PaymentAggregate
    event: SaleorEvent | None = None
    awaited: AwaitedAnswer | None = None


def find_ready_event(aggregate: PaymentAggregate, event_id: EventRowId) -> DueEvent | None:
    """Return the event to report if nothing must be recorded before; None: it must be prepared under the lock."""
    event = aggregate.event_by_id(event_id)
    ready = not _is_obsolete(event, aggregate.events) and awaited_answer(aggregate, event) is None
    return DueEvent(aggregate, event) if ready else None


@dataclass(frozen=True, slots=True)
class EventDue(Fact[DueEvent]):
    """An event is due. Returns it if it is still to be reported.

    ``answer_window``: how long Saleor may take to read an answer. ``confirmed``: whether it has read that of the
    event's operation was asked just now.
    """

    event_id: EventRowId
    now: datetime
    answer_window: timedelta
    confirmed: bool = False

    def decide(self, aggregate: PaymentAggregate) -> DueEvent:
        """Supersede an event that must not be reported any more; postpone one whose answer is being read."""
        event = aggregate.event_by_id(self.event_id)
        if event.state is not EventState.WAITING:
            return DueEvent(aggregate)
        if _is_obsolete(event, aggregate.events):
            supersede(aggregate.payment, event, self.now)
            return DueEvent(aggregate)
        awaited = awaited_answer(aggregate, event)
        if awaited is None:
            return DueEvent(aggregate, event)
        if self.confirmed:
            return DueEvent(aggregate)
        operation = aggregate.operation_by_id(awaited.operation_id)
        until = operation.answer_awaited_until
        if until is not None and until - self.now > 2 * self.answer_window:
            # By a clock that was ahead: the answer would be awaited until that moment comes again.
            operation.answer_awaited_until = until = self.now
        if until is not None and self.now < until:
            postpone(event, until)
            return DueEvent(aggregate)
        return DueEvent(aggregate, None, awaited)


def _is_obsolete(event: SaleorEvent, events: Sequence[SaleorEvent]) -> bool:
    """Return True for an event that must not be reported any more, because a newer one is reported instead."""
    if is_note(event):
        return any(has_available_actions(later) for later in events if row_id_of(later) > row_id_of(event))
    return is_failure(event) and is_outdated_failure(event, events)


@dataclass(frozen=True, slots=True)
class EventReported(Fact[None]):
    """An event was reported: what Saleor has answered, or why it has not."""

    event_id: EventRowId
    outcome: ReportOutcome | SaleorError
    context: DecisionContext

    def decide(self, aggregate: PaymentAggregate) -> None:
        """Record the delivery and compare the order that came with it; or decide when the report is tried again."""
        event, payment, now = aggregate.event_by_id(self.event_id), aggregate.payment, self.context.now
        if event.state is not EventState.WAITING:
            return  # the report took so long that another worker has delivered the event
        if not isinstance(self.outcome, ReportOutcome):
            _record_failure(event, aggregate, self.outcome, self.context)
            return
        mark_delivered(event, payment, now, self.outcome)
        source = self.outcome.source
        if source is not None and source.is_gone:
            # Saleor answers with the transaction as it read it first, and looks for its checkout afterwards: one that
            # has just become an order is shown as neither. So it is asked anew.
            compare_uncounted_at(payment, now)
        elif source is not None:
            arrives = EventType(event.type) in MONEY_ARRIVES
            compare_with_source(aggregate, source, now, money_arrives=arrives)
            schedule_comparison(payment, now)


def _record_failure(
    event: SaleorEvent, aggregate: PaymentAggregate, error: SaleorError, context: DecisionContext
) -> None:
    payment, now = aggregate.payment, context.now
    event.last_error = str(error)
    if isinstance(error, SaleorRefusedError):
        event.state = EventState.REFUSED
        event.next_attempt_at = None
        amount = Money(event.amount, payment.currency)
        issue = Issue(IssueCode.EVENT_REFUSED, type=event.type, sum=amount, code=error.code)
        add_problem(payment, cause_of_refused_event(event), issue, now)
        if has_matching_success(event, aggregate.events):
            supersede(payment, event, now)
        return
    first, longest = _UNAUTHORISED_RETRY_PAUSES if isinstance(error, SaleorNotAuthorisedError) else _RETRY_PAUSES
    pause = context.schedule.pause(first, event.attempts, longest)
    event.next_attempt_at = now + max(pause, min(stated_pause(error), longest))


@dataclass(frozen=True, slots=True)
class ResendRequested(Fact[bool]):
    """Staff request that an event is reported again. Returns False if it is not to be reported, or not any more."""

    event_id: EventRowId
    now: datetime

    def decide(self, aggregate: PaymentAggregate) -> bool:
        """Make the event due. A failure is never reported after the success of the same operation."""
        event = aggregate.event_by_id(self.event_id)
        if event.state not in {EventState.REFUSED, EventState.WAITING}:
            return False
        is_refused = event.state is EventState.REFUSED
        events = aggregate.events
        if is_outdated_failure(event, events) or (is_refused and has_matching_success(event, events)):
            supersede(aggregate.payment, event, self.now)
            return False
        later = events[events.index(event) + 1 :]
        if is_refused and any(map(has_available_actions, later)):
            event.available_actions = None  # later events report the current actions
        event.state = EventState.WAITING
        event.next_attempt_at = self.now
        return True


@dataclass(frozen=True, slots=True)
class FoundInHistory(Fact[bool]):
    """Saleor's history has an event under another ``reference``. Returns whether it is that of the operation.

    That can be of an external operation: its own reference was lost with a database.
    """

    event_id: EventRowId
    reference: PspReference
    now: datetime

    def decide(self, aggregate: PaymentAggregate) -> bool:
        """Adopt the reference, under which Saleor has booked the operation (laws of money, 9)."""
        event = aggregate.event_by_id(self.event_id)
        operation = external_operation(aggregate, event)
        if event.state is not EventState.WAITING or operation is None:
            return False
        if self.reference in known_references(aggregate):
            return False
        old, operation.psp_reference = event.psp_reference, self.reference
        for other in aggregate.events:
            if other.psp_reference.startswith(f"{old}-"):  # the reference of its release is derived from it
                other.psp_reference = PspReference(self.reference + other.psp_reference.removeprefix(old))
        event.psp_reference = self.reference
        mark_delivered(event, aggregate.payment, self.now)
        return True


def known_references(aggregate: PaymentAggregate) -> set[str | None]:
    """Return the references of all operations and events of a payment."""
    return {operation.psp_reference for operation in aggregate.operations} | {
        event.psp_reference for event in aggregate.events
    }


def external_operation(aggregate: PaymentAggregate, event: SaleorEvent) -> Operation | None:
    """Return the external operation that an event reports, if Saleor books it; None otherwise."""
    if event.type not in _BOOKED_TYPES:
        return None
    external = (operation for operation in aggregate.operations if not is_ours(operation))
    return next((operation for operation in external if operation.psp_reference == event.psp_reference), None)
