"""Confirms that Saleor has read the answer to a charge, refund or cancelation before its events are reported.

The worker reads Saleor's history once for each, so that no webhook response waits for Saleor (laws of money, 5 and 9;
Saleor contract, A.10).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from app.core.payment import Operation, Payment, PaymentAggregate, SaleorEvent, row_id_of
from app.core.vocabulary import EventState, Kind
from app.db.aggregates import ByEvent
from app.payments.core.answer_status import AnswerStatus, answer_status_of, has_conflicting_failure
from app.payments.core.problems import cause_of_refused_event, clear_problem
from app.payments.operations.answer_window import change_reference, events_of
from app.payments.services import Services
from app.payments.sync.placed_order import schedule_order_look_up
from app.saleor.errors import SaleorError, SaleorNotAuthorisedError, SaleorRefusedError
from app.saleor.graphql import SaleorClient
from app.saleor.history import REFUND_IS_PENDING, HistoryEntry, fetch_history, request_granted_refund
from app.saleor.reports import ReportOutcome
from app.saleor.responses import EventType
from app.worker.presence import record_presence

log = structlog.get_logger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = timedelta(seconds=1), timedelta(minutes=1)
_LONGEST_UNAUTHORISED = timedelta(hours=1)
_MAX_REPEAT_REQUESTS = 3


@dataclass(frozen=True, slots=True)
class AwaitedAnswer:
    """An operation whose answer Saleor may not have read yet, as it was when Saleor's history was requested."""

    payment: Payment
    event_id: int
    operation_id: int
    reference: str | None
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


async def confirm_answer(services: Services, saleor: SaleorClient, awaited: AwaitedAnswer) -> None:
    """Find out whether Saleor has read an answer; release the operation's events, or postpone the claimed one."""
    installation = await services.installations.get(awaited.payment.installation_id)
    try:
        history = await fetch_history(saleor, installation, awaited.payment.transaction_id)
    except SaleorRefusedError:
        history = None  # it will refuse the report as well, which becomes a problem for staff
    except SaleorError as error:
        await _retry_later(services, awaited, error)
        return
    granted = await services.payments.update(
        ByEvent(awaited.event_id), lambda aggregate: _apply_history(services, aggregate, awaited, history)
    )
    if granted is not None:
        await _repeat_request(services, saleor, awaited, granted)


def _apply_history(
    services: Services,
    aggregate: PaymentAggregate,
    awaited: AwaitedAnswer,
    history: tuple[HistoryEntry, ...] | None,
) -> str | None:
    """Record what Saleor's history shows; return the id of a granted refund that Saleor must request again."""
    event, operation = aggregate.event_by_id(awaited.event_id), awaited.operation_in(aggregate)
    if operation is None:
        _check_again_later(services, aggregate, event)
        return None
    taken = {other.psp_reference for other in aggregate.operations if other is not operation and other.psp_reference}
    reading: AnswerStatus | str = AnswerStatus.READ
    if history is not None:
        reading = answer_status_of(operation, history, taken, services.now(), services.schedule)
    match reading:
        case AnswerStatus.AWAITED:
            _check_again_later(services, aggregate, event)
            return None
        case AnswerStatus.ABANDONED if _needs_repeat_request(operation):
            _check_again_later(services, aggregate, event)
            return operation.granted_refund_id
        case str():
            log.warning("Saleor has not read an answer", payment=aggregate.payment.order_id, reference=reading)
            change_reference(aggregate, operation, reading)
        case _:
            pass
    operation.answer_awaited_until = None
    for reported in events_of(aggregate, operation):
        if reported.state is EventState.WAITING and has_conflicting_failure(reported, history or ()):
            mark_delivered(reported, aggregate.payment, services.now())
    return None


def _needs_repeat_request(operation: Operation) -> bool:
    """Return True for a granted refund that was made, or is pending, while Saleor takes it for failed.

    Reported under a reference that none of Saleor's requests has, it would be booked, but the grant would stay failed
    for ever. After some attempts that is still better than not reporting it.
    """
    made = operation.kind is Kind.REFUND and not operation.has_surely_failed
    return made and operation.granted_refund_id is not None and operation.asked_anew < _MAX_REPEAT_REQUESTS


async def _repeat_request(services: Services, saleor: SaleorClient, awaited: AwaitedAnswer, granted: str) -> None:
    """Make Saleor request a granted refund again. Its webhook is answered from the record, and no money moves."""
    installation = await services.installations.get(awaited.payment.installation_id)
    refused_with = None
    try:
        await request_granted_refund(saleor, installation, awaited.payment.transaction_id, granted)
    except SaleorRefusedError as refusal:
        refused_with = refusal.code
    except SaleorError as error:
        await _retry_later(services, awaited, error)
        return
    await services.payments.update(
        ByEvent(awaited.event_id),
        lambda aggregate: _record_repeat_request(services, aggregate, awaited, refused_with=refused_with),
    )


def _record_repeat_request(
    services: Services, aggregate: PaymentAggregate, awaited: AwaitedAnswer, *, refused_with: str | None
) -> None:
    """Record the repeat request and wait for Saleor's webhook; where Saleor refused, let the events be reported."""
    aggregate.operation_by_id(awaited.operation_id).asked_anew += 1
    operation = awaited.operation_in(aggregate)
    if operation is None:
        return  # its webhook was faster
    if refused_with not in {None, REFUND_IS_PENDING}:
        operation.answer_awaited_until = None
        return
    until = services.now() + services.schedule.answer_window
    if refused_with is None:
        operation.answer_awaited_until = until
    # With REFUND_IS_PENDING the webhook of an earlier request may be on its way.
    aggregate.event_by_id(awaited.event_id).next_attempt_at = until


async def _retry_later(services: Services, awaited: AwaitedAnswer, error: SaleorError) -> None:
    """Schedule a retry, because Saleor cannot be queried at the moment."""
    await record_presence(services, awaited.payment.installation_id, error)
    longest = _LONGEST_UNAUTHORISED if isinstance(error, SaleorNotAuthorisedError) else 5 * _LONGEST_PAUSE

    def step(aggregate: PaymentAggregate) -> None:
        event, now = aggregate.event_by_id(awaited.event_id), services.now()
        event.last_error = str(error)
        postpone(event, now + min(max(now - event.created_at, _FIRST_PAUSE), longest))

    await services.payments.update(ByEvent(awaited.event_id), step)


def _check_again_later(services: Services, aggregate: PaymentAggregate, event: SaleorEvent) -> None:
    """Check again later, after as long as it has taken so far."""
    operation = aggregate.operation_by_id(event.operation_id)
    since = operation.answer_awaited_until or services.now()
    pause = min(max(services.now() - since, _FIRST_PAUSE), _LONGEST_PAUSE)
    postpone(event, max(services.now() + pause, since))
