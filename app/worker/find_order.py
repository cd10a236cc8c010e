"""Finds out which order the checkout of a payment has become."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.db.tables import Payment
from app.payments.services import Services
from app.payments.sync.placed_order import note_order, put_off
from app.saleor.errors import SaleorError, SaleorUnreachableError
from app.saleor.graphql import SaleorClient
from app.saleor.orders import order_placed
from app.saleor.reports import PlacedOrder
from app.worker.presence import installation_to_tell

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Look:
    """What came of asking for the order of a payment. ``asked``: False where nobody could be asked this time."""

    payment_id: int
    now: datetime
    placed: PlacedOrder | None = None
    asked: bool = True


async def find_order(services: Services, saleor: SaleorClient, payment_id: int) -> bool:
    """Ask Saleor for the order of one claimed payment, and commit what it says; return False if it did not answer.

    What is looked for in the same moment is read, asked and written together.
    """
    payment = await services.database.group_commit(_read_all, payment_id)
    installation = await installation_to_tell(services, payment.installation_id)
    if installation.shut_out:  # not one of the few times that it is asked for
        await services.database.group_commit(_note_all, _Look(payment_id, services.now(), asked=False))
        return True
    placed, answered = None, True
    try:
        placed = await order_placed(saleor, installation, payment.transaction_id)
    except SaleorError as error:
        answered = not isinstance(error, SaleorUnreachableError)
        log.info("order not found out yet", payment=payment.order_id, error=str(error))
    await services.database.group_commit(_note_all, _Look(payment_id, services.now(), placed))
    return answered


async def _read_all(session: AsyncSession, payment_ids: Sequence[int]) -> list[Payment]:
    rows = (await session.exec(select(Payment).where(col(Payment.id).in_(payment_ids)))).all()
    payments = {row.id: row for row in rows}
    return [payments[each] for each in payment_ids]


async def _note_all(session: AsyncSession, looks: Sequence[_Look]) -> list[None]:
    """Note what came of each. They are locked in the order in which everybody locks payments."""
    these = col(Payment.id).in_([each.payment_id for each in looks])
    rows = await session.exec(select(Payment).where(these).order_by(col(Payment.id)).with_for_update())
    payments = {row.id: row for row in rows.all()}
    for look in looks:
        payment = payments[look.payment_id]
        if payment.next_order_poll_at is None:
            continue  # its number has become known meanwhile
        if look.asked:
            note_order(payment, look.placed, look.now)
        else:
            put_off(payment, look.now)
    return [None] * len(looks)
