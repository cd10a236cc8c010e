"""Which event of a payment is reported to Saleor next, and what follows from the answer (laws of money, 5). Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.core.payment import PaymentAggregate, SaleorEvent, row_id_of
from app.core.vocabulary import EventState
from app.i18n.messages import Money
from app.payments.core.event_queue import (
    has_available_actions,
    has_matching_success,
    is_failure,
    is_note,
    is_outdated_failure,
    supersede,
)
from app.payments.core.issues import Issue, IssueCode
from app.payments.core.order_standing import MONEY_ARRIVES, compare_with_source
from app.payments.core.posting import Posting
from app.payments.core.problems import add_problem, cause_of_refused_event
from app.payments.decisions.answer_confirmation import AwaitedAnswer, awaited_answer, mark_delivered, postpone
from app.payments.decisions.placed_order import schedule_comparison
from app.saleor.errors import SaleorError, SaleorNotAuthorisedError, SaleorRefusedError
from app.saleor.reports import ReportOutcome
from app.saleor.responses import EventType

# The first pause and the longest. An app that was uninstalled or switched off may be let in again.
_RETRY_PAUSES = (timedelta(seconds=1), timedelta(minutes=5))
_UNAUTHORISED_RETRY_PAUSES = (timedelta(minutes=1), timedelta(hours=1))


@dataclass(frozen=True, slots=True)
class DueEvent:
    """An event to report; None: not now. ``awaited``: first, whether Saleor has read this answer must be found out."""

    aggregate: PaymentAggregate
    event: SaleorEvent | None = None
    awaited: AwaitedAnswer | None = None


def find_ready_event(aggregate: PaymentAggregate, event_id: int) -> DueEvent | None:
    """Return the event to report if nothing must be recorded before; None: it must be prepared under the lock."""
    event = aggregate.event_by_id(event_id)
    ready = not _is_obsolete(event, aggregate.events) and awaited_answer(aggregate, event) is None
    return DueEvent(aggregate, event) if ready else None


def prepare_due_event(
    aggregate: PaymentAggregate, event_id: int, now: datetime, *, confirmed: bool = False
) -> DueEvent:
    """Return the event if it is still to be reported; supersede an event that must not be reported any more.

    ``confirmed``: whether Saleor has read its operation's answer was asked just now.
    """
    event = aggregate.event_by_id(event_id)
    if event.state is not EventState.WAITING:
        return DueEvent(aggregate)
    if _is_obsolete(event, aggregate.events):
        supersede(aggregate.payment, event, now)
        return DueEvent(aggregate)
    awaited = awaited_answer(aggregate, event)
    if awaited is None:
        return DueEvent(aggregate, event)
    until = aggregate.operation_by_id(awaited.operation_id).answer_awaited_until
    if confirmed:
        return DueEvent(aggregate)
    if until is not None and now < until:
        postpone(event, until)
        return DueEvent(aggregate)
    return DueEvent(aggregate, None, awaited)


def _is_obsolete(event: SaleorEvent, events: Sequence[SaleorEvent]) -> bool:
    """Return True for an event that must not be reported any more, because a newer one is reported instead."""
    if is_note(event):
        return any(has_available_actions(later) for later in events if row_id_of(later) > row_id_of(event))
    return is_failure(event) and is_outdated_failure(event, events)


def record_outcome(
    aggregate: PaymentAggregate, event_id: int, outcome: ReportOutcome | SaleorError, posting: Posting
) -> None:
    """Record what Saleor has answered to the report of an event; or that it has not, and when it is tried again."""
    event, payment = aggregate.event_by_id(event_id), aggregate.payment
    if event.state is not EventState.WAITING:
        return  # the report took so long that another worker has delivered the event
    if not isinstance(outcome, ReportOutcome):
        _record_failure(event, aggregate, outcome, posting)
        return
    mark_delivered(event, payment, posting.now, outcome)
    if outcome.source is not None:
        arrives = EventType(event.type) in MONEY_ARRIVES
        compare_with_source(aggregate, outcome.source, posting.now, money_arrives=arrives)
        schedule_comparison(payment, posting.now)


def _record_failure(event: SaleorEvent, aggregate: PaymentAggregate, error: SaleorError, posting: Posting) -> None:
    payment, now = aggregate.payment, posting.now
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
    event.next_attempt_at = now + posting.schedule.pause(first, event.attempts, longest)
