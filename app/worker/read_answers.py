"""Finds out whether Saleor has read the answer to a charge, refund or cancelation, before anything of it is told.

One look for each, in the worker: no answer waits for Saleor (laws of money, 5 and 9; Saleor contract, A.10).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from sqlmodel.ext.asyncio.session import AsyncSession

from app.db.aggregates import PaymentAggregate, load_by_operation
from app.db.outbox import event_with_payment
from app.db.tables import EventState, Kind, Operation, Payment, SaleorEvent, State
from app.payments.core.problems import clear, of_event
from app.payments.core.reading import Reading, has_other_failure, reading_of
from app.payments.operations.answer_window import events_of, rename
from app.payments.services import Services
from app.payments.sync.placed_order import look_for_order
from app.saleor.answers import EventType
from app.saleor.errors import SaleorError, SaleorNotAuthorisedError, SaleorRefusedError
from app.saleor.graphql import SaleorClient
from app.saleor.history import IS_PENDING, HistoryEntry, request_granted_refund, transaction_history
from app.saleor.reports import ReportOutcome
from app.worker.presence import note_presence

log = structlog.get_logger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = timedelta(seconds=1), timedelta(minutes=1)
_LONGEST_UNAUTHORISED = timedelta(hours=1)
_MOST_ASKED_ANEW = 3


@dataclass(frozen=True, slots=True)
class _Awaited:
    """An operation of whose answer nobody knows yet whether Saleor has read it; as it was when Saleor was asked."""

    payment: Payment
    operation_id: int
    reference: str | None
    requests: int

    def is_still(self, operation: Operation) -> bool:
        """Return False when Saleor has asked again meanwhile, or another worker has found out."""
        same = (operation.psp_reference, len(operation.saleor_requests)) == (self.reference, self.requests)
        return same and operation.answer_awaited_until is not None


def note_delivered(event: SaleorEvent, payment: Payment, now: datetime, report: ReportOutcome | None = None) -> None:
    """Note that Saleor has an event, by a ``report`` or by an answer that it has read."""
    event.state = EventState.DELIVERED
    event.delivered_at = now
    event.next_attempt_at = None
    event.last_error = None
    clear(payment, of_event(event), now)
    look_for_order(payment, EventType(event.type), now, report)


async def may_be_told(services: Services, saleor: SaleorClient, event_id: int) -> bool:
    """Return True when an event that was claimed can be told now; else it is done with, or it has to wait."""
    async with services.database.transaction() as session:
        event, payment = await event_with_payment(session, event_id)
        operation = await _operation_of(session, event)
        if operation is None or operation.answer_awaited_until is None:
            return True
        if services.now() < operation.answer_awaited_until:
            event.next_attempt_at = operation.answer_awaited_until
            event.attempts -= 1
            return False
        awaited = _Awaited(payment, operation.id or 0, operation.psp_reference, len(operation.saleor_requests))
    installation = await services.installations.get(payment.installation_id)
    try:
        history = await transaction_history(saleor, installation, payment.transaction_id)
    except SaleorRefusedError:
        history = None  # it will say so of the report as well, which becomes a problem for staff
    except SaleorError as error:
        await _wait(services, awaited, event_id, error)
        return False
    granted = await _post(services, awaited, event_id, history)
    if granted is not None:
        await _ask_anew(services, saleor, awaited, event_id, granted)
    async with services.database.transaction() as session:
        event, _ = await event_with_payment(session, event_id)
        operation = await _operation_of(session, event)
        return event.state is EventState.WAITING and operation is not None and operation.answer_awaited_until is None


async def _operation_of(session: AsyncSession, event: SaleorEvent) -> Operation | None:
    return None if event.operation_id is None else await session.get(Operation, event.operation_id)


async def _post(
    services: Services, awaited: _Awaited, event_id: int, history: tuple[HistoryEntry, ...] | None
) -> str | None:
    """Post what Saleor's history says. Return the granted refund for which Saleor has to ask once more, if so."""
    async with services.database.transaction() as session:
        aggregate = await load_by_operation(session, awaited.operation_id)
        operation = aggregate.by_id(awaited.operation_id)
        event = next(each for each in aggregate.events if each.id == event_id)
        if not awaited.is_still(operation):
            _postpone(services, aggregate, event)
            return None
        taken = {each.psp_reference for each in aggregate.operations if each is not operation and each.psp_reference}
        found: Reading | str = Reading.READ
        if history is not None:
            found = reading_of(operation, history, taken, services.now(), services.schedule)
        match found:
            case Reading.AWAITED:
                _postpone(services, aggregate, event)
                return None
            case Reading.GIVEN_UP if _must_be_asked_anew(operation):
                _postpone(services, aggregate, event)
                return operation.granted_refund_id
            case str():
                log.warning("Saleor has not read an answer", payment=aggregate.payment.order_id, reference=found)
                rename(aggregate, operation, found)
            case _:
                pass
        operation.answer_awaited_until = None
        for each in events_of(aggregate, operation):
            if each.state is EventState.WAITING and has_other_failure(each, history or ()):
                note_delivered(each, aggregate.payment, services.now())
    return None


def _must_be_asked_anew(operation: Operation) -> bool:
    """Return True for a granted refund that is made, or on its way, while Saleor takes it for failed.

    Told under a reference that no request of Saleor's has, it would be booked, and the grant would be a failure for
    ever. After some tries that is still better than not to tell it.
    """
    made = operation.kind is Kind.REFUND and operation.state is not State.FAILURE
    return made and operation.granted_refund_id is not None and operation.asked_anew < _MOST_ASKED_ANEW


async def _ask_anew(services: Services, saleor: SaleorClient, awaited: _Awaited, event_id: int, granted: str) -> None:
    """Let Saleor ask for a granted refund again. Its webhook is answered from the record, and no money moves."""
    installation = await services.installations.get(awaited.payment.installation_id)
    try:
        await request_granted_refund(saleor, installation, awaited.payment.transaction_id, granted)
    except SaleorRefusedError as refusal:
        await _asked(services, awaited, event_id, refused_with=refusal.code)
    except SaleorError as error:
        await _wait(services, awaited, event_id, error)
    else:
        await _asked(services, awaited, event_id)


async def _asked(services: Services, awaited: _Awaited, event_id: int, *, refused_with: str | None = None) -> None:
    """Note that Saleor was asked to ask again, and wait for its webhook; where it will not, what there is is told."""
    async with services.database.transaction() as session:
        aggregate = await load_by_operation(session, awaited.operation_id)
        operation = aggregate.by_id(awaited.operation_id)
        operation.asked_anew += 1
        if not awaited.is_still(operation):
            return  # its webhook was faster
        if refused_with not in {None, IS_PENDING}:
            operation.answer_awaited_until = None
            return
        until = services.now() + services.schedule.answer_window
        if refused_with is None:
            operation.answer_awaited_until = until
        event = next(each for each in aggregate.events if each.id == event_id)
        event.next_attempt_at = until  # with IS_PENDING the webhook of an earlier time may be on its way


async def _wait(services: Services, awaited: _Awaited, event_id: int, error: SaleorError) -> None:
    """Saleor cannot be asked at this moment: come back later."""
    await note_presence(services, awaited.payment.installation_id, error)
    async with services.database.transaction() as session:
        event, _ = await event_with_payment(session, event_id)
        event.last_error = str(error)
        longest = _LONGEST_UNAUTHORISED if isinstance(error, SaleorNotAuthorisedError) else 5 * _LONGEST_PAUSE
        event.next_attempt_at = services.now() + min(max(services.now() - event.created_at, _FIRST_PAUSE), longest)
        event.attempts -= 1


def _postpone(services: Services, aggregate: PaymentAggregate, event: SaleorEvent) -> None:
    """Come back later: each pause is as long as it has taken until now. Nothing was reported, so it is no attempt."""
    operation = aggregate.by_id(event.operation_id)
    since = operation.answer_awaited_until or services.now()
    pause = min(max(services.now() - since, _FIRST_PAUSE), _LONGEST_PAUSE)
    event.next_attempt_at = max(services.now() + pause, since)
    event.attempts -= 1
