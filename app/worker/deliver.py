"""Delivers the outbox: each event until Saleor has it, or refuses it for good (laws of money, 5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from pydantic import ValidationError

from app.db.aggregates import ByEvent, ById, PaymentAggregate, row_id_of
from app.db.outbox import EVENTS
from app.db.tables import EventState, Payment, SaleorEvent
from app.i18n.messages import LazyMessage, Money
from app.payments.core.details import from_kept
from app.payments.core.event_queue import (
    has_succeeded,
    is_failure,
    is_note,
    is_overtaken,
    says_what_is_possible,
    supersede,
)
from app.payments.core.problems import of_event, raise_on
from app.payments.services import Services
from app.saleor.answers import AvailableAction, EventType
from app.saleor.errors import SaleorError, SaleorNotAuthorisedError, SaleorRefusedError, SaleorUnreachableError
from app.saleor.graphql import SaleorClient
from app.saleor.reports import EventReport, ReportOutcome
from app.worker.presence import installation_to_tell, note_presence
from app.worker.read_answers import may_be_told, note_delivered
from app.worker.told_before import was_told_before

log = structlog.get_logger(__name__)

# The first pause and the longest.
_PAUSES = (timedelta(seconds=1), timedelta(minutes=5))
_PAUSES_UNAUTHORISED = (timedelta(minutes=1), timedelta(hours=1))  # uninstalled, or switched off: it may come back


async def deliver(services: Services, saleor: SaleorClient, event_id: int) -> bool:
    """Report one claimed event to its Saleor and commit what came of it; return False if Saleor did not answer.

    What is told in the same moment is read, asked and written together: by the repository, and by Saleor's client.
    """
    due = await services.payments.update(ByEvent(event_id), lambda payment: _due(payment, event_id, services.now()))
    which = ById(row_id_of(due.aggregate.payment))
    if due.event is not None and due.answer_awaited:
        if not await may_be_told(services, saleor, event_id):
            return True
        due = await services.payments.update(
            which, lambda payment: _due(payment, event_id, services.now())
        )  # by another reference
    aggregate, answered = due.aggregate, True
    if due.event is not None:
        payment = aggregate.payment
        outcome = await _tell(services, saleor, aggregate, due.event)
        if outcome is None:
            services.wake(EVENTS)  # as below
            return True
        await note_presence(services, payment.installation_id, outcome if isinstance(outcome, SaleorError) else None)
        aggregate = await services.payments.update(which, lambda payment: _post(payment, event_id, outcome, services))
        answered = not isinstance(outcome, SaleorUnreachableError)
        if isinstance(outcome, ReportOutcome):
            log.info("event told", saleor_event=event_id, event_type=due.event.type, payment=payment.order_id)
    services.wake_for([aggregate])  # the next event of the payment has waited for this one
    return answered


@dataclass(frozen=True, slots=True)
class _Due:
    """An event to be told, or None. ``answer_awaited``: Saleor may be reading its operation's answer just now."""

    aggregate: PaymentAggregate
    event: SaleorEvent | None = None
    answer_awaited: bool = False


def _due(aggregate: PaymentAggregate, event_id: int, now: datetime) -> _Due:
    """Return the event if it is still to be told; what must not be told any more is taken out of the queue."""
    event = aggregate.event(event_id)
    if event.state is not EventState.WAITING:
        return _Due(aggregate)
    if _is_needless(event, aggregate.events):
        supersede(aggregate.payment, event, now)
        return _Due(aggregate)
    operation = None if event.operation_id is None else aggregate.by_id(event.operation_id)
    awaited = operation is not None and operation.answer_awaited_until is not None
    return _Due(aggregate, event, awaited)


def _is_needless(event: SaleorEvent, events: Sequence[SaleorEvent]) -> bool:
    """Return True for what must not be told any more, because something newer is told instead."""
    if is_note(event):
        return any(says_what_is_possible(each) for each in events if row_id_of(each) > row_id_of(event))
    return is_failure(event) and is_overtaken(event, events)


async def _tell(
    services: Services, saleor: SaleorClient, aggregate: PaymentAggregate, event: SaleorEvent
) -> ReportOutcome | SaleorError | None:
    """Report an event; None: Saleor has it already, and that is noted."""
    payment = aggregate.payment
    installation = await installation_to_tell(services, payment.installation_id)
    page = services.addresses.payment_page(installation.saleor_api_url, payment.order_id)
    if installation.shut_out:  # the check of its presence finds out when that is over, or a new installation says so
        return SaleorNotAuthorisedError("the app was removed there, or switched off")
    try:
        if await was_told_before(services, saleor, aggregate, row_id_of(event)):
            return None
        return await saleor.report(installation, _report(payment, event, page))
    except SaleorNotAuthorisedError as error:
        services.installations.forget()
        known = await services.installations.get(payment.installation_id)
        # Installed again in this moment, in another process: it is told by the token that is in force now.
        again = known.verified and known.token != installation.token
        return await _tell(services, saleor, aggregate, event) if again else error
    except SaleorError as error:
        return error
    except ValidationError as error:  # Saleor would refuse it as well, now and tomorrow
        fields = ", ".join(str(each["loc"][0]) for each in error.errors(include_input=False) if each["loc"])
        return SaleorRefusedError("INVALID", fields or None, "it cannot be said in the form that Saleor takes")


def _report(payment: Payment, event: SaleorEvent, page: str | None) -> EventReport:
    actions = event.available_actions
    return EventReport(
        transaction_id=payment.transaction_id,
        type=EventType(event.type),
        psp_reference=event.psp_reference,
        amount=event.amount,
        message=event.message,
        available_actions=None if actions is None else tuple(AvailableAction(each) for each in actions),
        external_url=page,
        payment_method_details=from_kept(event.card),
    )


def _post(
    aggregate: PaymentAggregate, event_id: int, outcome: ReportOutcome | SaleorError, services: Services
) -> PaymentAggregate:
    event, payment = aggregate.event(event_id), aggregate.payment
    if event.state is not EventState.WAITING:
        return aggregate  # it has taken so long that another worker has delivered it meanwhile
    if isinstance(outcome, ReportOutcome):
        note_delivered(event, payment, services.now(), outcome)
    else:
        _post_failure(event, aggregate, outcome, services)
    return aggregate


def _post_failure(event: SaleorEvent, aggregate: PaymentAggregate, error: SaleorError, services: Services) -> None:
    payment = aggregate.payment
    event.last_error = str(error)
    if isinstance(error, SaleorRefusedError):
        log.error("event refused by Saleor", event_type=event.type, payment=payment.order_id, code=error.code)
        event.state = EventState.REFUSED
        event.next_attempt_at = None
        words = LazyMessage(
            "Saleor refused to record %(type)s of %(sum)s (%(code)s): its books differ from the gateway's until "
            "somebody corrects them.",
            type=event.type,
            sum=Money(event.amount, payment.currency),
            code=error.code,
        )
        raise_on(payment, of_event(event), words, services.now())
        if has_succeeded(event, aggregate.events):
            supersede(payment, event, services.now())
        return
    first, longest = _PAUSES_UNAUTHORISED if isinstance(error, SaleorNotAuthorisedError) else _PAUSES
    log.warning("event not delivered yet", event_type=event.type, payment=payment.order_id, error=str(error))
    event.next_attempt_at = services.now() + services.schedule.pause(first, event.attempts, longest)
