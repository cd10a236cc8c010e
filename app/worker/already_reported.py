"""Detects what Saleor received before the database was lost, so that a restored backup books nothing a second time.

Operations made after the backup are found at the gateway, and look as if they were made outside the app. They may have
been reported to Saleor under a reference that is lost. Then Saleor's history has a success of the same kind and amount
under a reference that nothing of the payment has: it is the operation's (laws of money, 9), and it has been reported.
"""

from dataclasses import dataclass

import structlog

from app.core.payment import Operation, PaymentAggregate, SaleorEvent
from app.core.vocabulary import EventState
from app.db.aggregates import ByEvent
from app.payments.core.observation import is_ours
from app.payments.decisions.answer_confirmation import mark_delivered
from app.payments.services import Services
from app.saleor.errors import SaleorRefusedError
from app.saleor.graphql import SaleorClient
from app.saleor.history import fetch_history
from app.saleor.responses import EventType

log = structlog.get_logger(__name__)

_BOOKED_TYPES = frozenset({EventType.CHARGE_SUCCESS, EventType.CANCEL_SUCCESS, EventType.REFUND_SUCCESS})


@dataclass(frozen=True, slots=True)
class _EarlierReport:
    """An event that Saleor has under another ``reference``."""

    event_id: int
    reference: str


async def was_already_reported(
    services: Services, saleor: SaleorClient, aggregate: PaymentAggregate, event_id: int
) -> bool:
    """Return True when Saleor already has the event of an external operation: the event is then marked delivered.

    Queries Saleor only for external operations, which are rare. Raises SaleorError when Saleor cannot be queried.
    """
    event = aggregate.event_by_id(event_id)
    if _external_operation(aggregate, event) is None:
        return False
    payment = aggregate.payment
    installation = await services.installations.get(payment.installation_id)
    try:
        history = await fetch_history(saleor, installation, payment.transaction_id)
    except SaleorRefusedError:
        history = None  # it will refuse the report as well, which becomes a problem for staff
    known = _known_references(aggregate)
    matching = [each.psp_reference for each in history or () if (each.type, each.money) == (event.type, event.amount)]
    unknown = [each for each in matching if each and each not in known]
    if not unknown or event.psp_reference in matching:
        return False
    report = _EarlierReport(event_id, unknown[-1])
    return await services.payments.update(ByEvent(event_id), lambda locked: _adopt_reference(services, locked, report))


def _adopt_reference(services: Services, aggregate: PaymentAggregate, report: _EarlierReport) -> bool:
    event = aggregate.event_by_id(report.event_id)
    operation = _external_operation(aggregate, event)
    if event.state is not EventState.WAITING or operation is None or report.reference in _known_references(aggregate):
        return False
    log.warning("Saleor was told before the backup was put back", payment=aggregate.payment.order_id, kind=event.type)
    old, operation.psp_reference = event.psp_reference, report.reference
    for each in aggregate.events:
        if each.psp_reference.startswith(f"{old}-"):  # the reference of its release is derived from it
            each.psp_reference = report.reference + each.psp_reference.removeprefix(old)
    event.psp_reference = report.reference
    mark_delivered(event, aggregate.payment, services.now())
    return True


def _known_references(aggregate: PaymentAggregate) -> set[str | None]:
    return {each.psp_reference for each in aggregate.operations} | {each.psp_reference for each in aggregate.events}


def _external_operation(aggregate: PaymentAggregate, event: SaleorEvent) -> Operation | None:
    """Return the external operation that an event reports, if Saleor books it; None otherwise."""
    if event.type not in _BOOKED_TYPES:
        return None
    external = (each for each in aggregate.operations if not is_ours(each))
    return next((each for each in external if each.psp_reference == event.psp_reference), None)
