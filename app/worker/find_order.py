"""Finds the order that the checkout of a payment has become."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.db.tables import Payment
from app.payments.services import Services
from app.payments.sync.placed_order import postpone_poll, record_order
from app.saleor.errors import SaleorError, SaleorUnreachableError
from app.saleor.graphql import SaleorClient
from app.saleor.orders import fetch_placed_order
from app.saleor.reports import PlacedOrder
from app.worker.presence import get_current_installation

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _LookUp:
    """The result of an order look-up. ``queried``: False where Saleor could not be queried this time."""

    payment_id: int
    now: datetime
    placed: PlacedOrder | None = None
    queried: bool = True


async def find_order(services: Services, saleor: SaleorClient, payment_id: int) -> bool:
    """Query Saleor for the order of one claimed payment and commit the result; return False if it did not respond.

    Concurrent look-ups are batched: their reads, requests and writes.
    """
    payment = await services.database.group_commit(_load_payments, payment_id)
    installation = await get_current_installation(services, payment.installation_id)
    if installation.is_shut_out:  # this does not count as one of the few look-ups
        await services.database.group_commit(_record_look_ups, _LookUp(payment_id, services.now(), queried=False))
        return True
    placed, responded = None, True
    try:
        placed = await fetch_placed_order(saleor, installation, payment.transaction_id)
    except SaleorError as error:
        responded = not isinstance(error, SaleorUnreachableError)
        log.info("order not found out yet", payment=payment.order_id, error=str(error))
    await services.database.group_commit(_record_look_ups, _LookUp(payment_id, services.now(), placed))
    return responded


async def _load_payments(session: AsyncSession, payment_ids: Sequence[int]) -> list[Payment]:
    rows = (await session.exec(select(Payment).where(col(Payment.id).in_(payment_ids)))).all()
    payments = {row.id: row for row in rows}
    return [payments[each] for each in payment_ids]


async def _record_look_ups(session: AsyncSession, look_ups: Sequence[_LookUp]) -> list[None]:
    """Record the result of each look-up. Payments are locked in ascending order of id, as everywhere."""
    wanted = col(Payment.id).in_([each.payment_id for each in look_ups])
    rows = await session.exec(select(Payment).where(wanted).order_by(col(Payment.id)).with_for_update())
    payments = {row.id: row for row in rows.all()}
    for look_up in look_ups:
        payment = payments[look_up.payment_id]
        if payment.next_order_poll_at is None:
            continue  # its number has become known since
        if look_up.queried:
            record_order(payment, look_up.placed, look_up.now)
        else:
            postpone_poll(payment, look_up.now)
    return [None] * len(look_ups)
