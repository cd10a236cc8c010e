"""Detects what Saleor received before the database was lost, so that a restored backup books nothing a second time.

Operations made after the backup are found at the gateway, and look as if they were made outside the app. They may have
been reported to Saleor under a reference that is lost. Then Saleor's history has a success of the same kind and amount
under a reference that nothing of the payment has: it is the operation's (laws of money, 9), and it has been reported.
"""

import structlog

from app.core.payment import PaymentAggregate
from app.rules.decisions.earlier_report import FoundInHistory, external_operation, known_references
from app.services import Services
from app.store.aggregates import ByEvent
from saleor_app_sdk.errors import SaleorRefusedError
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.history import fetch_history

log = structlog.get_logger(__name__)


async def was_already_reported(
    services: Services, saleor: SaleorClient, aggregate: PaymentAggregate, event_id: int
) -> bool:
    """Return True when Saleor already has the event of an external operation: the event is then marked delivered.

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
    found = FoundInHistory(event_id, unknown[-1], services.now())
    is_known = await services.payments.record(ByEvent(event_id), found)
    if is_known:
        log.warning("Saleor was told before the backup was put back", payment=payment.order_id, kind=event.type)
    return is_known
