"""Finds the order that the checkout of a payment has become, and compares what is owed with what was paid."""

from datetime import datetime

import structlog

from app.core.payment import PaymentAggregate
from app.db.aggregates import ById
from app.payments.core.order_standing import agrees, compare_with_source
from app.payments.decisions.placed_order import postpone_poll, record_order, schedule_comparison
from app.payments.services import Services
from app.saleor.errors import SaleorError, SaleorUnreachableError
from app.saleor.graphql import SaleorClient
from app.saleor.orders import fetch_source
from app.saleor.transaction_source import TransactionSource
from app.worker.presence import get_current_installation

log = structlog.get_logger(__name__)


async def find_order(services: Services, saleor: SaleorClient, payment_id: int) -> bool:
    """Query Saleor for the order of one claimed payment and commit the result; return False if it did not respond.

    Concurrent look-ups are batched: their reads, requests and writes.
    """
    which = ById(payment_id)
    payment = await services.payments.read(payment_id)
    installation = await get_current_installation(services, payment.installation_id)
    if installation.is_shut_out:  # this does not count as one of the few look-ups
        await services.payments.update(which, lambda aggregate: postpone_poll(aggregate.payment, services.now()))
        return True
    source, responded = None, True
    try:
        source = await fetch_source(saleor, installation, payment.transaction_id)
    except SaleorError as error:
        responded = not isinstance(error, SaleorUnreachableError)
        log.info("order not found out yet", payment=payment.order_id, error=str(error))
    await services.payments.update(which, lambda aggregate: _record_source(aggregate, source, services.now()))
    return responded


def _record_source(aggregate: PaymentAggregate, source: TransactionSource | None, now: datetime) -> None:
    """Record what Saleor says (None: nothing), and compare the payment with it, which must agree."""
    payment = aggregate.payment
    if payment.next_order_poll_at is None:
        return  # its number has become known since
    is_new = payment.order_number is None
    differs = source is not None and not agrees(payment, source)
    record_order(payment, None if source is None else source.order, now)
    if source is not None and differs:
        compare_with_source(aggregate, source, now, money_arrives=is_new)
        schedule_comparison(payment, now)
