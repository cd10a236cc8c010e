"""Finds the order that the checkout of a payment has become, and compares what is owed with what was paid."""

import structlog

from app.core.ids import PaymentRowId
from app.rules.decisions.answer_confirmation import stated_pause
from app.rules.decisions.placed_order import OrderAsked, OrderNotAsked, OrderNotStated
from app.services import Services
from app.store.aggregates import ById, Payable
from app.worker.presence import get_current_installation
from saleor_app_sdk.errors import SaleorError, SaleorUnreachableError
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.orders import fetch_source

log = structlog.get_logger(__name__)


async def find_order(services: Services, saleor: SaleorClient, payment_id: PaymentRowId) -> bool:
    """Query Saleor for the order of one claimed payment and commit the result; return False if it did not respond.

    Concurrent look-ups are batched: their reads, requests and writes.
    """
    which = ById(payment_id)
    payment = await services.payments.read(payment_id)
    installation = await get_current_installation(services, payment.installation_id)
    if installation.is_shut_out:
        await services.payments.record(which, OrderNotAsked(services.now()))
        return True
    source = None
    try:
        source = await fetch_source(saleor, installation, payment.transaction_id)
    except SaleorError as error:
        log.info("order.not_read", payment=payment.order_id, error=str(error))
        if isinstance(error, SaleorUnreachableError):
            await services.payments.record(which, OrderNotStated(stated_pause(error), services.now()))
            return False
    payable = Payable(payment.installation_id, payment.source_id)
    await services.payments.record_of_attempt(which, payable, OrderAsked(source, services.now()))
    return True
