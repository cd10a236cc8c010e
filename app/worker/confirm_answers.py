"""Confirms that Saleor has read the answer to a charge, refund or cancelation before its events are reported.

The worker reads Saleor's history once for each, so that no webhook response waits for Saleor (laws of money, 5 and 9;
Saleor contract, A.10).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from sqlmodel.ext.asyncio.session import AsyncSession

from app.db.aggregates import PaymentAggregate, load_by_operation
from app.db.outbox import lock_event_with_payment
from app.db.tables import EventState, Kind, Operation, Payment, SaleorEvent
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
class _AwaitedAnswer:
    """An operation whose answer Saleor may not have read yet, as it was when Saleor's history was requested."""

    payment: Payment
    operation_id: int
    reference: str | None
    requests: int

    def matches(self, operation: Operation) -> bool:
        """Return False when Saleor has repeated its request since, or another worker has found the outcome."""
        same = (operation.psp_reference, len(operation.saleor_requests)) == (self.reference, self.requests)
        return same and operation.answer_awaited_until is not None


def mark_delivered(event: SaleorEvent, payment: Payment, now: datetime, report: ReportOutcome | None = None) -> None:
    """Record that Saleor has an event, from a ``report`` or from an answer that it has read."""
    event.state = EventState.DELIVERED
    event.delivered_at = now
    event.next_attempt_at = None
    event.last_error = None
    clear_problem(payment, cause_of_refused_event(event), now)
    schedule_order_look_up(payment, EventType(event.type), now, report)


async def can_be_reported(services: Services, saleor: SaleorClient, event_id: int) -> bool:
    """Return True when a claimed event can be reported now; otherwise it is concluded, or its retry is scheduled."""
    async with services.database.transaction() as session:
        event, payment = await lock_event_with_payment(session, event_id)
        operation = await _operation_of(session, event)
        if operation is None or operation.answer_awaited_until is None:
            return True
        if services.now() < operation.answer_awaited_until:
            event.next_attempt_at = operation.answer_awaited_until
            event.attempts -= 1
            return False
        awaited = _AwaitedAnswer(payment, operation.id or 0, operation.psp_reference, len(operation.saleor_requests))
    installation = await services.installations.get(payment.installation_id)
    try:
        history = await fetch_history(saleor, installation, payment.transaction_id)
    except SaleorRefusedError:
        history = None  # it will refuse the report as well, which becomes a problem for staff
    except SaleorError as error:
        await _retry_later(services, awaited, event_id, error)
        return False
    granted = await _apply_history(services, awaited, event_id, history)
    if granted is not None:
        await _repeat_request(services, saleor, awaited, event_id, granted)
    async with services.database.transaction() as session:
        event, _ = await lock_event_with_payment(session, event_id)
        operation = await _operation_of(session, event)
        return event.state is EventState.WAITING and operation is not None and operation.answer_awaited_until is None


async def _operation_of(session: AsyncSession, event: SaleorEvent) -> Operation | None:
    return None if event.operation_id is None else await session.get(Operation, event.operation_id)


async def _apply_history(
    services: Services, awaited: _AwaitedAnswer, event_id: int, history: tuple[HistoryEntry, ...] | None
) -> str | None:
    """Record what Saleor's history shows; return the id of a granted refund that Saleor must request again."""
    async with services.database.transaction() as session:
        aggregate = await load_by_operation(session, awaited.operation_id)
        operation = aggregate.operation_by_id(awaited.operation_id)
        event = next(each for each in aggregate.events if each.id == event_id)
        if not awaited.matches(operation):
            _postpone(services, aggregate, event)
            return None
        taken = {each.psp_reference for each in aggregate.operations if each is not operation and each.psp_reference}
        reading: AnswerStatus | str = AnswerStatus.READ
        if history is not None:
            reading = answer_status_of(operation, history, taken, services.now(), services.schedule)
        match reading:
            case AnswerStatus.AWAITED:
                _postpone(services, aggregate, event)
                return None
            case AnswerStatus.ABANDONED if _needs_repeat_request(operation):
                _postpone(services, aggregate, event)
                return operation.granted_refund_id
            case str():
                log.warning("Saleor has not read an answer", payment=aggregate.payment.order_id, reference=reading)
                change_reference(aggregate, operation, reading)
            case _:
                pass
        operation.answer_awaited_until = None
        for each in events_of(aggregate, operation):
            if each.state is EventState.WAITING and has_conflicting_failure(each, history or ()):
                mark_delivered(each, aggregate.payment, services.now())
    return None


def _needs_repeat_request(operation: Operation) -> bool:
    """Return True for a granted refund that was made, or is pending, while Saleor takes it for failed.

    Reported under a reference that none of Saleor's requests has, it would be booked, but the grant would stay failed
    for ever. After some attempts that is still better than not reporting it.
    """
    made = operation.kind is Kind.REFUND and not operation.has_surely_failed
    return made and operation.granted_refund_id is not None and operation.asked_anew < _MAX_REPEAT_REQUESTS


async def _repeat_request(
    services: Services, saleor: SaleorClient, awaited: _AwaitedAnswer, event_id: int, granted: str
) -> None:
    """Make Saleor request a granted refund again. Its webhook is answered from the record, and no money moves."""
    installation = await services.installations.get(awaited.payment.installation_id)
    try:
        await request_granted_refund(saleor, installation, awaited.payment.transaction_id, granted)
    except SaleorRefusedError as refusal:
        await _record_repeat_request(services, awaited, event_id, refused_with=refusal.code)
    except SaleorError as error:
        await _retry_later(services, awaited, event_id, error)
    else:
        await _record_repeat_request(services, awaited, event_id)


async def _record_repeat_request(
    services: Services, awaited: _AwaitedAnswer, event_id: int, *, refused_with: str | None = None
) -> None:
    """Record the repeat request and wait for Saleor's webhook; where Saleor refused, let the events be reported."""
    async with services.database.transaction() as session:
        aggregate = await load_by_operation(session, awaited.operation_id)
        operation = aggregate.operation_by_id(awaited.operation_id)
        operation.asked_anew += 1
        if not awaited.matches(operation):
            return  # its webhook was faster
        if refused_with not in {None, REFUND_IS_PENDING}:
            operation.answer_awaited_until = None
            return
        until = services.now() + services.schedule.answer_window
        if refused_with is None:
            operation.answer_awaited_until = until
        event = next(each for each in aggregate.events if each.id == event_id)
        event.next_attempt_at = until  # with REFUND_IS_PENDING the webhook of an earlier request may be on its way


async def _retry_later(services: Services, awaited: _AwaitedAnswer, event_id: int, error: SaleorError) -> None:
    """Schedule a retry, because Saleor cannot be queried at the moment."""
    await record_presence(services, awaited.payment.installation_id, error)
    async with services.database.transaction() as session:
        event, _ = await lock_event_with_payment(session, event_id)
        event.last_error = str(error)
        longest = _LONGEST_UNAUTHORISED if isinstance(error, SaleorNotAuthorisedError) else 5 * _LONGEST_PAUSE
        event.next_attempt_at = services.now() + min(max(services.now() - event.created_at, _FIRST_PAUSE), longest)
        event.attempts -= 1


def _postpone(services: Services, aggregate: PaymentAggregate, event: SaleorEvent) -> None:
    """Check again later, after as long as it has taken so far. Nothing was reported, so it counts as no attempt."""
    operation = aggregate.operation_by_id(event.operation_id)
    since = operation.answer_awaited_until or services.now()
    pause = min(max(services.now() - since, _FIRST_PAUSE), _LONGEST_PAUSE)
    event.next_attempt_at = max(services.now() + pause, since)
    event.attempts -= 1
