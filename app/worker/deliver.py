"""Delivers the outbox: retries each event until Saleor has it or refuses it for good (laws of money, 5)."""

import structlog
from pydantic import ValidationError

from app.core.ids import EventRowId, PspReference
from app.core.payment import Payment, PaymentAggregate, SaleorEvent, row_id_of
from app.rules.decisions.delivery import (
    EventDue,
    EventReported,
    FoundInHistory,
    external_operation,
    find_ready_event,
    known_references,
)
from app.rules.details import payment_method_from_row
from app.services import Services
from app.store.aggregates import ByEvent, ById
from app.store.installations import OpenInstallation
from app.worker.confirm_answers import confirm_answer
from app.worker.presence import SHUT_OUT, get_current_installation, record_presence
from saleor_app_sdk.errors import SaleorError, SaleorNotAuthorisedError, SaleorRefusedError, SaleorUnreachableError
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.history import fetch_history
from saleor_app_sdk.reports import EventReport, ReportOutcome
from saleor_app_sdk.responses import AvailableAction, EventType

log = structlog.get_logger(__name__)


async def deliver(
    services: Services, saleor: SaleorClient, event_id: EventRowId, written: PaymentAggregate | None = None
) -> bool:
    """Report one claimed event to its Saleor and commit the outcome; return False if Saleor did not respond.

    ``written``: the event was claimed just now by who wrote its payment like this, so it need not be read again.

    Concurrent deliveries are batched: their reads and writes by the repository, their requests by Saleor's client.
    """
    window = services.schedule.answer_window
    due = None if written is None else find_ready_event(written, event_id)
    if due is None:
        due = await services.payments.record(ByEvent(event_id), EventDue(event_id, services.now(), window))
    payment_key = ById(row_id_of(due.aggregate.payment))
    if due.awaited is not None:
        await confirm_answer(services, saleor, due.awaited)
        # The event may have another reference now, or be due later.
        due = await services.payments.record(payment_key, EventDue(event_id, services.now(), window, confirmed=True))
    aggregate, responded = due.aggregate, True
    if due.event is not None:
        payment = aggregate.payment
        installation = await get_current_installation(services, payment.installation_id)
        outcome = await _report_event(services, saleor, installation, aggregate, due.event)
        if outcome is None:
            return True
        await record_presence(services, installation, outcome if isinstance(outcome, SaleorError) else None)
        await services.payments.record(payment_key, EventReported(event_id, outcome, services.decision_context()))
        responded = not isinstance(outcome, SaleorUnreachableError)
        _log_outcome(payment, due.event, outcome)
    return responded


def _log_outcome(payment: Payment, event: SaleorEvent, outcome: ReportOutcome | SaleorError) -> None:
    match outcome:
        case ReportOutcome():
            log.info("event.reported", saleor_event=event.id, event_type=event.type, payment=payment.order_id)
        case SaleorRefusedError():
            log.error("event.refused", event_type=event.type, payment=payment.order_id, code=outcome.code)
        case _:
            log.warning("event.not_reported", event_type=event.type, payment=payment.order_id, error=str(outcome))


async def _report_event(
    services: Services,
    saleor: SaleorClient,
    installation: OpenInstallation,
    aggregate: PaymentAggregate,
    event: SaleorEvent,
) -> ReportOutcome | SaleorError | None:
    """Report an event; return None when Saleor has it already, which is then recorded."""
    payment = aggregate.payment
    page = services.addresses.payment_page(installation.saleor_api_url, payment.order_id)
    if installation.is_shut_out:  # ends with the next successful presence check, or with a new installation
        return SaleorNotAuthorisedError(SHUT_OUT)
    try:
        if await _was_already_reported(services, saleor, aggregate, row_id_of(event)):
            return None
        return await saleor.report(installation, _build_report(payment, event, page))
    except SaleorNotAuthorisedError as error:
        services.installations.invalidate()
        current = await services.installations.get(payment.installation_id)
        # Another process may have received a new installation just now: retry with the token that is valid now.
        should_retry = current.verified and current.token != installation.token
        return await _report_event(services, saleor, current, aggregate, event) if should_retry else error
    except SaleorError as error:
        return error
    except ValidationError as error:  # Saleor would refuse it as well, however often it is retried
        fields = ", ".join(str(detail["loc"][0]) for detail in error.errors(include_input=False) if detail["loc"])
        return SaleorRefusedError("INVALID", fields, "it cannot be expressed in the form that Saleor accepts")


def _build_report(payment: Payment, event: SaleorEvent, page: str | None) -> EventReport:
    actions = event.available_actions
    return EventReport(
        transaction_id=payment.transaction_id,
        type=EventType(event.type),
        psp_reference=event.psp_reference,
        amount=event.amount,
        message=event.message,
        available_actions=None if actions is None else tuple(AvailableAction(action) for action in actions),
        external_url=page,
        payment_method_details=payment_method_from_row(event.card),
    )


async def _was_already_reported(
    services: Services, saleor: SaleorClient, aggregate: PaymentAggregate, event_id: EventRowId
) -> bool:
    """Return True when Saleor already has the event of an external operation: the event is then marked delivered.

    What was done after a backup that was put back is found at the gateway, as if it were made outside the app. It may
    have been reported under a reference that is lost. Then Saleor's history has a success of the same kind and amount
    under a reference that nothing of the payment has: it is the operation's (laws of money, 9), and it is not booked a
    second time.

    Queries Saleor only for external operations, which are rare. Raises SaleorError when Saleor cannot be queried.
    """
    event = aggregate.event_by_id(event_id)
    if external_operation(aggregate, event) is None:
        return False
    payment = aggregate.payment
    installation = await services.installations.get(payment.installation_id)
    try:
        history = await fetch_history(saleor, installation, payment.transaction_id)
    except SaleorRefusedError:
        history = None  # it will refuse the report as well, which becomes a problem for staff
    known = known_references(aggregate)
    matching = [
        entry.psp_reference for entry in history or () if (entry.type, entry.money) == (event.type, event.amount)
    ]
    unknown = [reference for reference in matching if reference and reference not in known]
    if not unknown or event.psp_reference in matching:
        return False
    found = FoundInHistory(event_id, PspReference(unknown[-1]), services.now())
    is_known = await services.payments.record(ByEvent(event_id), found)
    if is_known:
        detail = "Saleor has it from before the backup was restored"
        log.warning("event.found_in_history", payment=payment.order_id, kind=event.type, detail=detail)
    return is_known
