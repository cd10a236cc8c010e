"""Finds out which order the checkout of a payment has become."""

import structlog

from app.ledger.sheets import payment_of
from app.payments.desk import Desk
from app.payments.learn.placed_order import note_order
from app.saleor.errors import SaleorError
from app.saleor.graphql import SaleorClient
from app.saleor.orders import order_placed

log = structlog.get_logger(__name__)


async def find_order(desk: Desk, saleor: SaleorClient, payment_id: int) -> None:
    """Ask Saleor for the order of one claimed payment, and commit what it says."""
    async with desk.database.transaction() as session:
        payment = await payment_of(session, payment_id)
    installation = await desk.installations.get(payment.installation_id)
    placed = None
    try:
        placed = await order_placed(saleor, installation, payment.transaction_id)
    except SaleorError as error:
        log.info("order not found out yet", order_id=payment.order_id, error=str(error))
    async with desk.database.transaction() as session:
        payment = await payment_of(session, payment_id)
        if payment.next_order_look_at is not None:
            note_order(payment, placed, desk.now())
