"""The inbox: verified notifications of the gateway, kept before anything is made of them (laws of money, 6).

They are kept sealed: a notification can hold a card's token, and always holds what a shopper did. What is kept, and
what is processed, in the same moment is committed together (``group_commit``).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any, TypeAlias

from sqlalchemy import func, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.db.aggregates import ByOrder, PaymentAggregate, save, save_all
from app.db.database import Database
from app.db.job_queue import JobQueue
from app.db.repository import lock_payments
from app.db.sealed_column import SealedColumn
from app.db.tables import Notification, Operation
from app.db.vault import Vault, VaultError
from app.telemetry import trace_id

NOTIFICATIONS = JobQueue(
    "notifications",
    Notification,
    row_id=col(Notification.id),
    due=col(Notification.next_attempt_at),
    tenant=col(Notification.account_id),
    tries=col(Notification.attempts),
    trace=col(Notification.trace_id),
)


class Trouble(StrEnum):
    """Why a notification needs a person."""

    UNMATCHED = "unmatched"  # of an order that we do not know
    UNREADABLE = "unreadable"  # signed, and yet no record of a payment
    SEALED = "sealed"  # no key of ours opens it
    FAILED = "failed"  # it could not be processed, and is tried again


@dataclass(frozen=True, slots=True)
class Processed:
    """What came of a notification, in words; ``trouble``: why a person must look at it.

    ``again_at``: it is not processed yet, and tried again then. ``operation``: what it has told of, if we have that.
    """

    outcome: str
    trouble: Trouble | None = None
    again_at: datetime | None = None
    operation: Operation | None = None


@dataclass(frozen=True, slots=True)
class StoredNotification:
    """A notification as it was received. ``data`` is the signed text, ``attempts`` counts tries to process it.

    ``data`` is None when the secret key file has no key that opens it, or, if it is not ``kept`` any more, for good.
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
    kept: bool = True

    def __repr__(self) -> str:
        return f"<StoredNotification {self.id} order={self.order_id}>"


Decide: TypeAlias = Callable[[StoredNotification, PaymentAggregate | None], Processed]
"""Changes the payment that a notification tells of, under its lock (None: there is none), and says what came of it.

It is called again, with both read anew, when a transaction came to nothing.
"""


@dataclass(frozen=True, slots=True)
class _Due:
    notification_id: int
    decide: Decide
    now: datetime
    context: Context = field(default_factory=copy_context)  # of whoever wants it: others do it, among theirs


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
        row = {
            "account_id": account_id,
            "digest": digest,
            "data_sealed": self._vault.seal(data, _place(account_id, digest)),
            "order_id": order_id,
            "next_attempt_at": now,
            "received_at": now,
            "trace_id": trace_id(),
            "outcome": None,
            "trouble": None,
            "processed_at": None,
        }
        if came_to_nothing is not None:
            outcome, trouble = came_to_nothing
            row |= {"outcome": outcome, "trouble": trouble, "next_attempt_at": None, "processed_at": now}
        return await self._database.group_commit(_keep_all, row)

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

    async def process(self, notification_id: int, decide: Decide, now: datetime) -> Processed:
        """Let ``decide`` post a notification to its payment; commit that together with what came of it.

        Nothing is changed when it raises. Raises LookupError, DatabaseUnavailableError.
        """
        return await self._database.group_commit(self._process_all, _Due(notification_id, decide, now))

    async def postpone(
        self, notification_id: int, *, reason: str, until: datetime, trouble: Trouble | None = None
    ) -> None:
        """Keep a notification that could not be processed, to be tried again."""
        later = {"outcome": reason, "next_attempt_at": until, "trouble": trouble}
        async with self._database.transaction() as session:
            await session.exec(update(Notification).where(col(Notification.id) == notification_id).values(**later))

    async def of_order(self, account_id: str, *order_ids: str) -> Sequence[StoredNotification]:
        """Return the notifications about an order (about each of them, if there are several), oldest first."""
        async with self._database.transaction() as session:
            return await self.read(session, account_id, *order_ids)

    async def read(self, session: AsyncSession, account_id: str, *order_ids: str) -> Sequence[StoredNotification]:
        """Return the same, read in a transaction in which more is read."""
        query = (
            select(Notification)
            .where(Notification.account_id == account_id, col(Notification.order_id).in_(order_ids))
            .order_by(col(Notification.id))
        )
        return [self._open(row) for row in (await session.exec(query)).all()]

    def _open(self, row: Notification) -> StoredNotification:
        assert row.id is not None  # noqa: S101 - a row that was read has its id
        data = None
        with suppress(VaultError):
            data = row.data_sealed and self._vault.open(row.data_sealed, _place(row.account_id, row.digest))
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
            kept=row.data_sealed is not None,
        )

    async def _process_all(self, session: AsyncSession, many: Sequence[_Due]) -> list[Processed]:
        """Process notifications, the oldest first; return what came of each, in the order in which they are given."""
        query = select(Notification).where(col(Notification.id).in_([each.notification_id for each in many]))
        rows = {row.id: row for row in (await session.exec(query)).all()}
        orders = {(row.account_id, row.order_id) for row in rows.values()}
        found = await lock_payments(session, [ByOrder(order_id, account_id=account) for account, order_id in orders])
        payments = {(each.payment.account_id, each.payment.order_id): each for each in found}
        came_of_it: dict[int, Processed] = {}
        for turn, dues in enumerate(_turns(many, rows)):
            if turn:  # what the one before has added is known by its rows
                for each in found:
                    await save(session, each)
                await session.flush()
            for due in dues:
                row = rows[due.notification_id]
                payment = payments.get((row.account_id, row.order_id))
                result = came_of_it[due.notification_id] = due.context.run(due.decide, self._open(row), payment)
                row.outcome, row.trouble, row.next_attempt_at = result.outcome, result.trouble, result.again_at
                row.processed_at = due.now if result.again_at is None else row.processed_at
        await save_all(session, found)
        return [came_of_it[due.notification_id] for due in many]


def _turns(many: Sequence[_Due], rows: Mapping[int | None, Notification]) -> Sequence[Sequence[_Due]]:
    """Give the oldest notification of each payment, then the next oldest of each, and so on.

    So a batch is written in as few goes as one payment has notifications in it, and each payment hears of its own in
    their order. Raises LookupError when one is not there.
    """
    turns: list[list[_Due]] = []
    of_order: Counter[tuple[str, str]] = Counter()
    for due in sorted(many, key=lambda each: each.notification_id):
        if due.notification_id not in rows:
            raise LookupError(f"no notification {due.notification_id}")
        row = rows[due.notification_id]
        turn = of_order[row.account_id, row.order_id]
        of_order[row.account_id, row.order_id] += 1
        if turn == len(turns):
            turns.append([])
        turns[turn].append(due)
    return turns


async def _keep_all(session: AsyncSession, rows: Sequence[dict[str, Any]]) -> list[bool]:
    """Store notifications; return False for each that repeats one that is there, or one before it."""
    first: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        first.setdefault((row["account_id"], row["digest"]), row)
    # In one order everywhere, so that no two processes wait for each other's row.
    in_order = [first[name] for name in sorted(first)]
    stored: Any = await session.exec(_storing(session.get_bind().dialect.name), params=in_order)
    fresh = {(account_id, digest) for account_id, digest in stored}
    kept = []
    for row in rows:
        name = (row["account_id"], row["digest"])
        kept.append(name in fresh)
        if name in fresh:
            fresh.remove(name)
            continue
        same = (col(Notification.account_id) == name[0], col(Notification.digest) == name[1])
        again = update(Notification).where(*same).values(deliveries=col(Notification.deliveries) + 1)
        await session.exec(again)
    return kept


@cache
def _storing(dialect: str) -> Any:
    """Return the statement that stores what is not there yet, and says what it has stored; built once."""
    insert: Any = (postgresql if dialect == "postgresql" else sqlite).insert(Notification)
    names = col(Notification.account_id), col(Notification.digest)
    return insert.on_conflict_do_nothing(index_elements=names).returning(*names)


def _place(account_id: str, digest: str) -> str:
    return f"notification/{account_id}/{digest}"


SEALED_COLUMNS = (
    SealedColumn(
        col(Notification.data_sealed), of=(col(Notification.account_id), col(Notification.digest)), place=_place
    ),
)
"""What of a notification is sealed."""
