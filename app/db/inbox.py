"""The inbox: verified notifications of the gateway, kept before anything is made of them (laws of money, 6).

They are kept sealed: a notification can hold a card's token, and always holds what a shopper did.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import func, update
from sqlalchemy.exc import IntegrityError
from sqlmodel import col, select

from app.db.database import Database
from app.db.job_queue import JobQueue
from app.db.tables import Notification
from app.db.vault import Vault, VaultError

NOTIFICATIONS = JobQueue(
    Notification,
    row_id=col(Notification.id),
    due=col(Notification.next_attempt_at),
    tenant=col(Notification.account_id),
    tries=col(Notification.attempts),
)


class Trouble(StrEnum):
    """Why a notification needs a person."""

    UNMATCHED = "unmatched"  # of an order that we do not know
    UNREADABLE = "unreadable"  # signed, and yet no record of a payment
    SEALED = "sealed"  # no key of ours opens it
    FAILED = "failed"  # it could not be digested, and is tried again


@dataclass(frozen=True, slots=True)
class StoredNotification:
    """A notification as it was received. ``data`` is the signed text, ``attempts`` counts tries to process it.

    ``data`` is None when the secret key file has no key that opens it.
    """

    id: int
    account_id: str
    order_id: str
    data: str | None
    deliveries: int
    attempts: int
    outcome: str | None
    received_at: datetime
    processed_at: datetime | None
    next_attempt_at: datetime | None

    def __repr__(self) -> str:
        return f"<StoredNotification {self.id} order={self.order_id}>"


class Inbox:
    """Keeps notifications, and opens them. What no key opens is still there: somebody may find the key."""

    def __init__(self, database: Database, vault: Vault) -> None:
        self._database = database
        self._vault = vault

    async def keep(
        self,
        *,
        account_id: str,
        digest: str,
        data: str,
        order_id: str,
        now: datetime,
        came_to_nothing: tuple[str, Trouble] | None = None,
    ) -> bool:
        """Store a verified notification, durably. Return False when it is a repeat of one that we have.

        ``came_to_nothing``: nothing can be made of it, in these words, and a person must look.

        A repeat is counted, not stored again, and is not processed again: its content is the same, so is its effect.
        """
        row = Notification(
            account_id=account_id,
            digest=digest,
            data_sealed=self._vault.seal(data, _place(account_id, digest)),
            order_id=order_id,
            next_attempt_at=now,
            received_at=now,
        )
        if came_to_nothing is not None:
            row.outcome, row.trouble = came_to_nothing
            row.next_attempt_at, row.processed_at = None, now
        try:
            async with self._database.transaction() as session:
                session.add(row)
        except IntegrityError:
            repeat = (
                update(Notification)
                .where(col(Notification.account_id) == account_id, col(Notification.digest) == digest)
                .values(deliveries=col(Notification.deliveries) + 1)
            )
            async with self._database.transaction() as session:
                await session.exec(repeat)
            return False
        return True

    async def get(self, notification_id: int) -> StoredNotification:
        """Return the notification with that row id, which exists."""
        async with self._database.transaction() as session:
            row = (await session.exec(select(Notification).where(Notification.id == notification_id))).one()
        return self._open(row)

    async def newest(self, account_id: str) -> datetime | None:
        """Return when the newest verified notification about an account's payments came first."""
        query = select(func.max(Notification.received_at)).where(Notification.account_id == account_id)
        async with self._database.transaction() as session:
            return (await session.exec(query)).one()

    async def settle(
        self, notification_id: int, *, outcome: str, now: datetime, trouble: Trouble | None = None
    ) -> None:
        """Mark a notification as processed and say what came of it; with ``trouble``, a person must look."""
        await self._set(notification_id, outcome=outcome, processed_at=now, next_attempt_at=None, trouble=trouble)

    async def postpone(
        self, notification_id: int, *, reason: str, until: datetime, trouble: Trouble | None = None
    ) -> None:
        """Keep a notification that could not be processed, to be tried again."""
        await self._set(notification_id, outcome=reason, next_attempt_at=until, trouble=trouble)

    async def of_order(self, account_id: str, *order_ids: str) -> Sequence[StoredNotification]:
        """Return the notifications about an order (about each of them, if there are several), oldest first."""
        query = (
            select(Notification)
            .where(Notification.account_id == account_id, col(Notification.order_id).in_(order_ids))
            .order_by(col(Notification.id))
        )
        async with self._database.transaction() as session:
            rows = (await session.exec(query)).all()
        return [self._open(row) for row in rows]

    def _open(self, row: Notification) -> StoredNotification:
        assert row.id is not None  # noqa: S101 - a row that was read has its id
        data = None
        with suppress(VaultError):
            data = self._vault.open(row.data_sealed, _place(row.account_id, row.digest))
        return StoredNotification(
            id=row.id,
            account_id=row.account_id,
            order_id=row.order_id,
            data=data,
            deliveries=row.deliveries,
            attempts=row.attempts,
            outcome=row.outcome,
            received_at=row.received_at,
            processed_at=row.processed_at,
            next_attempt_at=row.next_attempt_at,
        )

    async def _set(self, notification_id: int, **columns: object) -> None:
        async with self._database.transaction() as session:
            await session.exec(update(Notification).where(col(Notification.id) == notification_id).values(**columns))


def _place(account_id: str, digest: str) -> str:
    return f"notification/{account_id}/{digest}"
