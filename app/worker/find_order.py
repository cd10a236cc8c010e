"""Finds out which order the checkout of a payment has become."""

import structlog

from app.db.aggregates import payment_of
from app.payments.services import Services
from app.payments.sync.placed_order import note_order
from app.saleor.errors import SaleorError
from app.saleor.graphql import SaleorClient
from app.saleor.orders import order_placed

log = structlog.get_logger(__name__)


async def find_order(services: Services, saleor: SaleorClient, payment_id: int) -> None:
    """Ask Saleor for the order of one claimed payment, and commit what it says."""
    async with services.database.transaction() as session:
        payment = await payment_of(session, payment_id)
    installation = await services.installations.get(payment.installation_id)
    placed = None
    try:
        placed = await order_placed(saleor, installation, payment.transaction_id)
    except SaleorError as error:
        log.info("order not found out yet", order_id=payment.order_id, error=str(error))
    async with services.database.transaction() as session:
        payment = await payment_of(session, payment_id)
        if payment.next_order_poll_at is not None:
            note_order(payment, placed, services.now())
