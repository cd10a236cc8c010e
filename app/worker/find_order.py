"""Finds out which order the checkout of a payment has become."""

import structlog

from app.db.aggregates import payment_of
from app.payments.services import Services
from app.payments.sync.placed_order import note_order, put_off
from app.saleor.errors import SaleorError, SaleorUnreachableError
from app.saleor.graphql import SaleorClient
from app.saleor.orders import order_placed
from app.worker.presence import installation_to_tell

log = structlog.get_logger(__name__)


async def find_order(services: Services, saleor: SaleorClient, payment_id: int) -> bool:
    """Ask Saleor for the order of one claimed payment, and commit what it says; return False if it did not answer."""
    async with services.database.transaction() as session:
        payment = await payment_of(session, payment_id)
    installation = await installation_to_tell(services, payment.installation_id)
    if installation.shut_out:  # not one of the few times that it is asked for
        async with services.database.transaction() as session:
            payment = await payment_of(session, payment_id)
            if payment.next_order_poll_at is not None:
                put_off(payment, services.now())
        return True
    placed, answered = None, True
    try:
        placed = await order_placed(saleor, installation, payment.transaction_id)
    except SaleorError as error:
        answered = not isinstance(error, SaleorUnreachableError)
        log.info("order not found out yet", payment=payment.order_id, error=str(error))
    async with services.database.transaction() as session:
        payment = await payment_of(session, payment_id)
        if payment.next_order_poll_at is not None:
            note_order(payment, placed, services.now())
    return answered
