"""The outbox: events that Saleor must hear, claimed one payment at a time and in the order in which they happened."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import exists, update
from sqlalchemy.orm import aliased
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.ledger.tables import EventState, SaleorEvent


async def claim_events(session: AsyncSession, now: datetime, lease: timedelta, most: int) -> Sequence[int]:
    """Claim events that are due, for ``lease``; return their row ids.

    An event waits for every earlier one of its payment: told out of order, "refunded" could be overwritten by "you may
    refund". So at most one event of a payment is ever claimed at once.
    """
    earlier = aliased(SaleorEvent)
    due = (
        select(SaleorEvent.id)
        .where(
            col(SaleorEvent.next_attempt_at) <= now,
            ~exists().where(
                col(earlier.payment_id) == col(SaleorEvent.payment_id),
                col(earlier.state) == EventState.WAITING,
                col(earlier.id) < col(SaleorEvent.id),
            ),
        )
        .order_by(col(SaleorEvent.next_attempt_at))
        .limit(most)
        .with_for_update(skip_locked=True)
    )
    claimed: Any = await session.exec(
        update(SaleorEvent)
        .where(col(SaleorEvent.id).in_(due))
        .values(next_attempt_at=now + lease, attempts=col(SaleorEvent.attempts) + 1)
        .returning(col(SaleorEvent.id)),
    )
    return list(claimed.scalars().all())


async def event_for_update(session: AsyncSession, event_id: int) -> SaleorEvent:
    """Return that event, locked."""
    return (await session.exec(select(SaleorEvent).where(SaleorEvent.id == event_id).with_for_update())).one()


async def later_events(session: AsyncSession, event: SaleorEvent) -> Sequence[SaleorEvent]:
    """Return the events of the same payment that are newer than this one, oldest first."""
    query = select(SaleorEvent).where(SaleorEvent.payment_id == event.payment_id, col(SaleorEvent.id) > event.id)
    return (await session.exec(query.order_by(col(SaleorEvent.id)))).all()
