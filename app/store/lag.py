"""What has waited longest for a worker, or for a service it calls. Each query reads an index of waiting rows."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core.vocabulary import EventState
from app.store.tables import Notification, Operation, Payment, SaleorEvent


@dataclass(frozen=True, slots=True)
class Oldest:
    """Since when the oldest of each kind has been waiting; None: nothing waits.

    ``event``: since it happened. ``notification``: since it was received. ``look_up``: since it was due.
    """

    event: datetime | None
    notification: datetime | None
    look_up: datetime | None


async def oldest_waiting(
    session: AsyncSession, installation_id: int, account_ids: Collection[str], now: datetime
) -> Oldest:
    """Return the oldest waiting rows of a store with these accounts."""
    events = select(func.min(SaleorEvent.created_at)).where(
        SaleorEvent.installation_id == installation_id,
        SaleorEvent.state == EventState.WAITING,
        col(SaleorEvent.next_attempt_at).is_not(None),
    )
    notifications = select(func.min(Notification.received_at)).where(
        col(Notification.account_id).in_(account_ids), col(Notification.next_attempt_at).is_not(None)
    )
    look_ups = (
        select(func.min(Operation.next_poll_at))
        .join(Payment, col(Payment.id) == col(Operation.payment_id))
        .where(
            col(Operation.next_poll_at).is_not(None),
            col(Operation.next_poll_at) <= now,
            col(Payment.account_id).in_(account_ids),
        )
    )
    return Oldest(
        (await session.exec(events)).one(),
        (await session.exec(notifications)).one(),
        (await session.exec(look_ups)).one(),
    )
