"""Delivers the outbox: retries each event until Saleor has it or refuses it for good (laws of money, 5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from pydantic import ValidationError

from app.core.payment import Payment, PaymentAggregate, SaleorEvent, row_id_of
from app.core.vocabulary import EventState
from app.db.aggregates import ByEvent, ById
from app.i18n.messages import Money
from app.payments.core.details import payment_method_from_row
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
from app.payments.core.problems import add_problem, cause_of_refused_event
from app.payments.services import Services
from app.payments.sync.placed_order import schedule_comparison
from app.saleor.errors import SaleorError, SaleorNotAuthorisedError, SaleorRefusedError, SaleorUnreachableError
from app.saleor.graphql import SaleorClient
from app.saleor.reports import EventReport, ReportOutcome
from app.saleor.responses import AvailableAction, EventType
from app.worker.already_reported import was_already_reported
from app.worker.confirm_answers import AwaitedAnswer, awaited_answer, confirm_answer, mark_delivered, postpone
from app.worker.presence import get_current_installation, record_presence

log = structlog.get_logger(__name__)

# The first pause and the longest. An app that was uninstalled or switched off may be let in again.
_RETRY_PAUSES = (timedelta(seconds=1), timedelta(minutes=5))
_UNAUTHORISED_RETRY_PAUSES = (timedelta(minutes=1), timedelta(hours=1))


async def deliver(
    services: Services, saleor: SaleorClient, event_id: int, written: PaymentAggregate | None = None
) -> bool:
    """Report one claimed event to its Saleor and commit the outcome; return False if Saleor did not respond.

    ``written``: the event was claimed just now by who wrote its payment like this, so it need not be read again.

    Concurrent deliveries are batched: their reads and writes by the repository, their requests by Saleor's client.
    """
    due = None if written is None else _find_ready_event(written, event_id)
    if due is None:
        due = await services.payments.update(
            ByEvent(event_id), lambda payment: _prepare_due_event(payment, event_id, services.now())
        )
    payment_key = ById(row_id_of(due.aggregate.payment))
    if due.awaited is not None:
        await confirm_answer(services, saleor, due.awaited)
        # The event may have another reference now, or be due later.
        due = await services.payments.update(
            payment_key, lambda payment: _prepare_due_event(payment, event_id, services.now(), confirmed=True)
        )
    aggregate, responded = due.aggregate, True
    if due.event is not None:
        payment = aggregate.payment
        outcome = await _report_event(services, saleor, aggregate, due.event)
        if outcome is None:
            return True
        await record_presence(services, payment.installation_id, outcome if isinstance(outcome, SaleorError) else None)
        await services.payments.update(
            payment_key, lambda payment: _record_outcome(payment, event_id, outcome, services)
        )
        responded = not isinstance(outcome, SaleorUnreachableError)
        if isinstance(outcome, ReportOutcome):
            log.info("event told", saleor_event=event_id, event_type=due.event.type, payment=payment.order_id)
    return responded


@dataclass(frozen=True, slots=True)
class _DueEvent:
    """An event to report; None: not now. ``awaited``: first, whether Saleor has read this answer must be found out."""

    aggregate: PaymentAggregate
    event: SaleorEvent | None = None
    awaited: AwaitedAnswer | None = None


def _find_ready_event(aggregate: PaymentAggregate, event_id: int) -> _DueEvent | None:
    """Return the event to report if nothing must be recorded before; None: it must be prepared under the lock."""
    event = aggregate.event_by_id(event_id)
    ready = not _is_obsolete(event, aggregate.events) and awaited_answer(aggregate, event) is None
    return _DueEvent(aggregate, event) if ready else None


def _prepare_due_event(
    aggregate: PaymentAggregate, event_id: int, now: datetime, *, confirmed: bool = False
) -> _DueEvent:
    """Return the event if it is still to be reported; supersede an event that must not be reported any more.

    ``confirmed``: whether Saleor has read its operation's answer was asked just now.
    """
    event = aggregate.event_by_id(event_id)
    if event.state is not EventState.WAITING:
        return _DueEvent(aggregate)
    if _is_obsolete(event, aggregate.events):
        supersede(aggregate.payment, event, now)
        return _DueEvent(aggregate)
    awaited = awaited_answer(aggregate, event)
    if awaited is None:
        return _DueEvent(aggregate, event)
    until = aggregate.operation_by_id(awaited.operation_id).answer_awaited_until
    if confirmed:
        return _DueEvent(aggregate)
    if until is not None and now < until:
        postpone(event, until)
        return _DueEvent(aggregate)
    return _DueEvent(aggregate, None, awaited)


def _is_obsolete(event: SaleorEvent, events: Sequence[SaleorEvent]) -> bool:
    """Return True for an event that must not be reported any more, because a newer one is reported instead."""
    if is_note(event):
        return any(has_available_actions(each) for each in events if row_id_of(each) > row_id_of(event))
    return is_failure(event) and is_outdated_failure(event, events)


async def _report_event(
    services: Services, saleor: SaleorClient, aggregate: PaymentAggregate, event: SaleorEvent
) -> ReportOutcome | SaleorError | None:
    """Report an event; return None when Saleor has it already, which is then recorded."""
    payment = aggregate.payment
    installation = await get_current_installation(services, payment.installation_id)
    page = services.addresses.payment_page(installation.saleor_api_url, payment.order_id)
    if installation.is_shut_out:  # ends with the next successful presence check, or with a new installation
        return SaleorNotAuthorisedError("the app was removed there, or switched off")
    try:
        if await was_already_reported(services, saleor, aggregate, row_id_of(event)):
            return None
        return await saleor.report(installation, _build_report(payment, event, page))
    except SaleorNotAuthorisedError as error:
        services.installations.invalidate()
        current = await services.installations.get(payment.installation_id)
        # Another process may have received a new installation just now: retry with the token that is valid now.
        should_retry = current.verified and current.token != installation.token
        return await _report_event(services, saleor, aggregate, event) if should_retry else error
    except SaleorError as error:
        return error
    except ValidationError as error:  # Saleor would refuse it as well, however often it is retried
        fields = ", ".join(str(each["loc"][0]) for each in error.errors(include_input=False) if each["loc"])
        return SaleorRefusedError("INVALID", fields or None, "it cannot be expressed in the form that Saleor accepts")


def _build_report(payment: Payment, event: SaleorEvent, page: str | None) -> EventReport:
    actions = event.available_actions
    return EventReport(
        transaction_id=payment.transaction_id,
        type=EventType(event.type),
        psp_reference=event.psp_reference,
        amount=event.amount,
        message=event.message,
        available_actions=None if actions is None else tuple(AvailableAction(each) for each in actions),
        external_url=page,
        payment_method_details=payment_method_from_row(event.card),
    )


def _record_outcome(
    aggregate: PaymentAggregate, event_id: int, outcome: ReportOutcome | SaleorError, services: Services
) -> None:
    event, payment = aggregate.event_by_id(event_id), aggregate.payment
    if event.state is not EventState.WAITING:
        return  # the report took so long that another worker has delivered the event
    if isinstance(outcome, ReportOutcome):
        mark_delivered(event, payment, services.now(), outcome)
        if outcome.source is not None:
            arrives = EventType(event.type) in MONEY_ARRIVES
            compare_with_source(aggregate, outcome.source, services.now(), money_arrives=arrives)
            schedule_comparison(payment, services.now())
    else:
        _record_failure(event, aggregate, outcome, services)


def _record_failure(event: SaleorEvent, aggregate: PaymentAggregate, error: SaleorError, services: Services) -> None:
    payment = aggregate.payment
    event.last_error = str(error)
    if isinstance(error, SaleorRefusedError):
        log.error("event refused by Saleor", event_type=event.type, payment=payment.order_id, code=error.code)
        event.state = EventState.REFUSED
        event.next_attempt_at = None
        amount = Money(event.amount, payment.currency)
        issue = Issue(IssueCode.EVENT_REFUSED, type=event.type, sum=amount, code=error.code)
        add_problem(payment, cause_of_refused_event(event), issue, services.now())
        if has_matching_success(event, aggregate.events):
            supersede(payment, event, services.now())
        return
    first, longest = _UNAUTHORISED_RETRY_PAUSES if isinstance(error, SaleorNotAuthorisedError) else _RETRY_PAUSES
    log.warning("event not delivered yet", event_type=event.type, payment=payment.order_id, error=str(error))
    event.next_attempt_at = services.now() + services.schedule.pause(first, event.attempts, longest)
