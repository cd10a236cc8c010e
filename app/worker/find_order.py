"""Finds the order that the checkout of a payment has become, and compares what is owed with what was paid."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.db.aggregates import POLLS, PaymentAggregate, load_aggregates, row_id_of, save_all
from app.db.outbox import EVENTS
from app.db.tables import Payment
from app.payments.core.order_standing import agrees, compare_with_source
from app.payments.services import Services
from app.payments.sync.placed_order import postpone_poll, record_order, schedule_comparison
from app.saleor.errors import SaleorError, SaleorUnreachableError
from app.saleor.graphql import SaleorClient
from app.saleor.orders import fetch_source
from app.saleor.transaction_source import TransactionSource
from app.worker.presence import get_current_installation

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _LookUp:
    """The result of an order look-up. ``queried``: False where Saleor could not be queried this time."""

    payment_id: int
    now: datetime
    source: TransactionSource | None = None
    queried: bool = True

    def needs_comparison(self, payment: Payment) -> bool:
        """Return True when Saleor has said something that must be compared with the payment."""
        return self.source is not None and not agrees(payment, self.source)


async def find_order(services: Services, saleor: SaleorClient, payment_id: int) -> bool:
    """Query Saleor for the order of one claimed payment and commit the result; return False if it did not respond.

    Concurrent look-ups are batched: their reads, requests and writes.
    """
    payment = await services.database.group_commit(_load_payments, payment_id)
    installation = await get_current_installation(services, payment.installation_id)
    if installation.is_shut_out:  # this does not count as one of the few look-ups
        await services.database.group_commit(_record_look_ups, _LookUp(payment_id, services.now(), queried=False))
        return True
    source, responded = None, True
    try:
        source = await fetch_source(saleor, installation, payment.transaction_id)
    except SaleorError as error:
        responded = not isinstance(error, SaleorUnreachableError)
        log.info("order not found out yet", payment=payment.order_id, error=str(error))
    if await services.database.group_commit(_record_look_ups, _LookUp(payment_id, services.now(), source)):
        services.wake(EVENTS, POLLS)
    return responded


async def _load_payments(session: AsyncSession, payment_ids: Sequence[int]) -> list[Payment]:
    rows = (await session.exec(select(Payment).where(col(Payment.id).in_(payment_ids)))).all()
    payments = {row.id: row for row in rows}
    return [payments[each] for each in payment_ids]


async def _record_look_ups(session: AsyncSession, look_ups: Sequence[_LookUp]) -> list[bool]:
    """Record the result of each look-up; return for each whether its payment was compared with its order.

    Payments are locked in ascending order of id, as everywhere.
    """
    wanted = col(Payment.id).in_([each.payment_id for each in look_ups])
    rows = await session.exec(select(Payment).where(wanted).order_by(col(Payment.id)).with_for_update())
    payments = {row.id: row for row in rows.all()}
    compared = [payments[each.payment_id] for each in look_ups if each.needs_comparison(payments[each.payment_id])]
    aggregates = {row_id_of(each.payment): each for each in await load_aggregates(session, compared)}
    for look_up in look_ups:
        payment = payments[look_up.payment_id]
        if payment.next_order_poll_at is None:
            continue  # its number has become known since
        if look_up.queried:
            _record_source(payment, aggregates.get(look_up.payment_id), look_up)
        else:
            postpone_poll(payment, look_up.now)
    await save_all(session, list(aggregates.values()))
    return [each.payment_id in aggregates for each in look_ups]


def _record_source(payment: Payment, aggregate: PaymentAggregate | None, look_up: _LookUp) -> None:
    """Record what Saleor says; ``aggregate`` is the payment with all that is needed to compare it, None: it agrees."""
    source = look_up.source
    is_new = payment.order_number is None
    record_order(payment, None if source is None else source.order, look_up.now)
    if source is not None and aggregate is not None:
        compare_with_source(aggregate, source, look_up.now, money_arrives=is_new)
        schedule_comparison(payment, look_up.now)
