"""The inbox: verified notifications of the gateway, kept before anything is made of them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import update
from sqlalchemy.exc import IntegrityError
from sqlmodel import col, select

from app.ledger.database import Database
from app.ledger.tables import Notification


async def keep(database: Database, *, account_id: str, digest: str, data: str, order_id: str, now: datetime) -> bool:
    """Store a verified notification, durably. Return False when it is a repeat of one that we have.

    A repeat is counted, not stored again, and is not processed again: its content is the same, so is its effect.
    """
    row = Notification(
        account_id=account_id, digest=digest, data=data, order_id=order_id, next_attempt_at=now, received_at=now
    )
    try:
        async with database.transaction() as session:
            session.add(row)
    except IntegrityError:
        repeat = (
            update(Notification)
            .where(col(Notification.account_id) == account_id, col(Notification.digest) == digest)
            .values(deliveries=col(Notification.deliveries) + 1)
        )
        async with database.transaction() as session:
            await session.exec(repeat)
        return False
    return True


async def claim(database: Database, now: datetime, lease: timedelta, most: int) -> Sequence[Notification]:
    """Claim notifications that wait to be processed, for ``lease``, oldest first."""
    due = (
        select(Notification.id)
        .where(col(Notification.next_attempt_at) <= now)
        .order_by(col(Notification.id))
        .limit(most)
        .with_for_update(skip_locked=True)
    )
    claiming: Any = (
        update(Notification)
        .where(col(Notification.id).in_(due))
        .values(next_attempt_at=now + lease, attempts=col(Notification.attempts) + 1)
        .returning(Notification)
    )
    async with database.transaction() as session:
        claimed = (await session.exec(claiming)).scalars().all()
    return sorted(claimed, key=lambda row: row.id or 0)


async def settle(database: Database, row: Notification, *, outcome: str, now: datetime) -> None:
    """Mark a notification as processed and say what came of it."""
    await _set(database, row, outcome=outcome, processed_at=now, next_attempt_at=None)


async def postpone(database: Database, row: Notification, *, reason: str, until: datetime) -> None:
    """Keep a notification whose processing failed, to be tried again."""
    await _set(database, row, outcome=reason, next_attempt_at=until)


async def of_order(database: Database, account_id: str, order_id: str) -> Sequence[Notification]:
    """Return the notifications about an order, oldest first."""
    query = (
        select(Notification)
        .where(Notification.account_id == account_id, Notification.order_id == order_id)
        .order_by(col(Notification.id))
    )
    async with database.transaction() as session:
        return (await session.exec(query)).all()


async def _set(database: Database, row: Notification, **columns: object) -> None:
    async with database.transaction() as session:
        await session.exec(update(Notification).where(col(Notification.id) == row.id).values(**columns))
