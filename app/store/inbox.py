"""The inbox: verified notifications of the gateway, stored before they are processed (laws of money, 6).

They are stored sealed: a notification can hold a card's token, and always holds what a shopper did. Notifications that
are stored at the same moment are committed together, and so are those that are processed (``group_commit``).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Any

from sqlalchemy import bindparam, func, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core.alerts import AlertKind
from app.core.notification import NotificationFact, Outcome, ProcessingResult, StoredNotification, outcome_from
from app.store.aggregates import ByOrder, save_all
from app.store.columns import table_of
from app.store.committed import Reservation, claims_of, note_notification
from app.store.database import Database
from app.store.job_queue import Claim, JobQueue
from app.store.payment_locks import lock_payments
from app.store.payment_rows import StoredPayment, write
from app.store.sealed_column import SealedColumn
from app.store.tables import MerchantAccount, Notification
from app.store.vault import Vault, VaultError
from integration_base.telemetry import current_trace_id

NOTIFICATIONS = JobQueue(
    "notifications",
    Notification,
    row_id=col(Notification.id),
    due=col(Notification.next_attempt_at),
    tenant=col(Notification.account_id),
    tenants=col(MerchantAccount.id),
    tries=col(Notification.attempts),
    trace=col(Notification.trace_id),
)


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A notification that is about to be stored, as it is claimed (``notification``, still without its id)."""

    values: dict[str, Any]
    notification: StoredNotification

    @property
    def key(self) -> tuple[str, str]:
        """Its account and the digest of its content: what duplicates have in common."""
        return self.values["account_id"], self.values["digest"]


@dataclass(frozen=True, slots=True)
class _ProcessingJob:
    notification_id: int
    fact: NotificationFact
    now: datetime
    known: StoredNotification | None
    trace_id: str | None = field(default_factory=current_trace_id)  # the requester's: another task runs the job


class Inbox:
    """Stores notifications and opens them. One that no key opens is kept: somebody may find the key."""

    def __init__(self, database: Database, vault: Vault) -> None:
        self._database = database
        self._vault = vault

    async def store(
        self,
        *,
        account_id: str,
        digest: str,
        data: str,
        order_id: str,
        now: datetime,
        unprocessable: tuple[Outcome, AlertKind] | None = None,
    ) -> bool:
        """Store a verified notification durably. Return False when it duplicates one that is stored already.

        ``unprocessable``: it cannot be processed and a person must look at it; its outcome, and why.

        A duplicate is counted, but neither stored nor processed again: the same content has the same effect.
        """
        outcome, trouble = unprocessable or (None, None)
        due, processed_at = (now, None) if outcome is None else (None, now)
        values = {
            "account_id": account_id,
            "digest": digest,
            "data_sealed": self._vault.seal(data, _place(account_id, digest)),
            "order_id": order_id,
            "next_attempt_at": due,
            "attempts": 0,
            "received_at": now,
            "trace_id": current_trace_id(),
            "outcome": None if outcome is None else outcome.stored,
            "trouble": trouble,
            "processed_at": processed_at,
        }
        notification = StoredNotification(
            id=0,
            account_id=account_id,
            order_id=order_id,
            data=data,
            deliveries=1,
            attempts=1,
            outcome=outcome,
            received_at=now,
            processed_at=processed_at,
            next_attempt_at=due,
        )
        return await self._database.group_commit(_store_all, _Arrival(values, notification))

    async def get(self, notification_id: int) -> StoredNotification:
        """Return the notification with that row id, which exists."""
        async with self._database.transaction() as session:
            row = (await session.exec(select(Notification).where(Notification.id == notification_id))).one()
        return self._open(row)

    async def newest_received_at(self, account_id: str) -> datetime | None:
        """Return when the newest verified notification about an account's payments was first received; or None."""
        query = select(func.max(Notification.received_at)).where(Notification.account_id == account_id)
        async with self._database.transaction() as session:
            return (await session.exec(query)).one()

    async def newest(self, account_id: str, *, most: int) -> Sequence[StoredNotification]:
        """Return the newest notifications about an account's payments, at most so many."""
        query = (
            select(Notification)
            .where(Notification.account_id == account_id)
            .order_by(col(Notification.received_at).desc())
            .limit(most)
        )
        async with self._database.transaction() as session:
            return [self._open(row) for row in (await session.exec(query)).all()]

    async def process(
        self, notification_id: int, fact: NotificationFact, now: datetime, known: StoredNotification | None = None
    ) -> ProcessingResult:
        """Let ``fact`` decide what follows from a notification for its payment; commit that together with the result.

        ``known``: the notification, where it was stored as claimed just now, so that it need not be read again.

        Nothing changes when it raises. Raises LookupError, DatabaseUnavailableError.
        """
        return await self._database.group_commit(self._process_all, _ProcessingJob(notification_id, fact, now, known))

    async def postpone(
        self, notification_id: int, *, outcome: Outcome, until: datetime, trouble: AlertKind | None = None
    ) -> None:
        """Schedule a retry of a notification that could not be processed."""
        later = {"outcome": outcome.stored, "next_attempt_at": until, "trouble": trouble}
        async with self._database.transaction() as session:
            await session.exec(update(Notification).where(col(Notification.id) == notification_id).values(**later))

    async def find_for_order(self, account_id: str, *order_ids: str) -> Sequence[StoredNotification]:
        """Return the notifications about an order, or about several, oldest first."""
        async with self._database.transaction() as session:
            return await self.read_for_order(session, account_id, *order_ids)

    async def read_for_order(
        self, session: AsyncSession, account_id: str, *order_ids: str
    ) -> Sequence[StoredNotification]:
        """Return the same as ``find_for_order``, read in the caller's transaction."""
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
            outcome=None if row.outcome is None else outcome_from(row.outcome),
            received_at=row.received_at,
            processed_at=row.processed_at,
            next_attempt_at=row.next_attempt_at,
            retained=row.data_sealed is not None,
        )

    async def _process_all(self, session: AsyncSession, many: Sequence[_ProcessingJob]) -> list[ProcessingResult]:
        """Process notifications, the oldest first; return the result of each, in the order given."""
        notifications = await self._read(session, many)
        orders = {(notification.account_id, notification.order_id) for notification in notifications.values()}
        found = await lock_payments(session, [ByOrder(order_id, account_id=account) for account, order_id in orders])
        payments = {(aggregate.payment.account_id, str(aggregate.payment.order_id)): aggregate for aggregate in found}
        results: dict[int, ProcessingResult] = {}
        for turn, dues in enumerate(_rounds(many, notifications)):
            if turn:  # what the previous round added must have its ids
                for aggregate in found:
                    aggregate.keep_loaded()
                await write(session, found)
            for due in dues:
                notification = notifications[due.notification_id]
                payment = payments.get((notification.account_id, notification.order_id))
                if payment is None:
                    account = await session.get(MerchantAccount, notification.account_id)
                    is_of_others = account is not None and account.is_order_of_others(notification.order_id)
                    notification = replace(notification, is_of_others=is_of_others)
                results[due.notification_id] = _decide(due, notification, payment)
        await save_all(session, found)
        await _save_results(session, many, notifications, results)
        return [results[due.notification_id] for due in many]

    async def _read(self, session: AsyncSession, many: Sequence[_ProcessingJob]) -> dict[int, StoredNotification]:
        """Return the notifications to process, by their ids. Raises LookupError when one does not exist."""
        known = {job.notification_id: job.known for job in many if job.known is not None}
        unread = [job.notification_id for job in many if job.known is None]
        if unread:
            rows = (await session.exec(select(Notification).where(col(Notification.id).in_(unread)))).all()
            known |= {notification.id: notification for notification in map(self._open, rows)}
        missing = [str(job.notification_id) for job in many if job.notification_id not in known]
        if missing:
            raise LookupError(f"no notification {', '.join(missing)}")
        return known


async def _save_results(
    session: AsyncSession,
    many: Sequence[_ProcessingJob],
    notifications: Mapping[int, StoredNotification],
    results: Mapping[int, ProcessingResult],
) -> None:
    rows = []
    for job in many:
        result, notification = results[job.notification_id], notifications[job.notification_id]
        processed_at = job.now if result.retry_at is None else notification.processed_at
        rows.append(
            {
                "row_id": job.notification_id,
                "outcome": result.outcome.stored,
                "trouble": result.trouble,
                "next_attempt_at": result.retry_at,
                "processed_at": processed_at,
            }
        )
        if result.retry_at is None:
            note_notification(session, notification.received_at, processed_at)
    await session.exec(_SAVE_RESULT, params=rows)


_RESULT_COLUMNS = ("outcome", "trouble", "next_attempt_at", "processed_at")
_NOTIFICATIONS = table_of(Notification)
_SAVE_RESULT: Any = (
    _NOTIFICATIONS.update()
    .where(_NOTIFICATIONS.c.id == bindparam("row_id"))
    .values({name: bindparam(name) for name in _RESULT_COLUMNS})
)


def _rounds(
    many: Sequence[_ProcessingJob], notifications: Mapping[int, StoredNotification]
) -> Sequence[Sequence[_ProcessingJob]]:
    """Return rounds: the oldest notification of each payment, then the next oldest of each, and so on.

    So a batch takes only as many rounds as one payment has notifications in it, and each payment receives its own in
    order.
    """
    turns: list[list[_ProcessingJob]] = []
    of_order: Counter[tuple[str, str]] = Counter()
    for due in sorted(many, key=attrgetter("notification_id")):
        notification = notifications[due.notification_id]
        turn = of_order[notification.account_id, notification.order_id]
        of_order[notification.account_id, notification.order_id] += 1
        if turn == len(turns):
            turns.append([])
        turns[turn].append(due)
    return turns


def _decide(due: _ProcessingJob, notification: StoredNotification, payment: StoredPayment | None) -> ProcessingResult:
    result = due.fact.decide(notification, payment)
    if payment is not None:
        payment.trace_new_parts(due.trace_id)
    return result


async def _store_all(session: AsyncSession, many: Sequence[_Arrival]) -> list[bool]:
    """Store notifications; return False for each that duplicates a stored one, or an earlier one of ``many``."""
    first: dict[tuple[str, str], _Arrival] = {}
    for arrival in many:
        first.setdefault(arrival.key, arrival)
    # In the same order everywhere, so that no two processes deadlock.
    keys = sorted(first)
    claims = claims_of(session)
    reserved = {key: claims.reserve(NOTIFICATIONS, key[0], first[key].values["next_attempt_at"]) for key in keys}
    values = [first[key].values | _claim_values(reserved[key]) for key in keys]
    stored: Any = await session.exec(_insert_statement(session.get_bind().dialect.name), params=values)
    inserted = {(account_id, digest): row_id for account_id, digest, row_id in stored}
    for key, row_id in inserted.items():
        reservation = reserved[key]
        if reservation is not None:
            written = replace(first[key].notification, id=row_id)
            trace_id = first[key].values["trace_id"]
            claims.add(reservation, Claim(row_id, key[0], reservation.until, trace_id, tries=1, written=written))
    is_new = []
    for arrival in many:
        is_new.append(arrival.key in inserted)
        if arrival.key in inserted:
            del inserted[arrival.key]
            continue
        same = (col(Notification.account_id) == arrival.key[0], col(Notification.digest) == arrival.key[1])
        again = update(Notification).where(*same).values(deliveries=col(Notification.deliveries) + 1)
        await session.exec(again)
    return is_new


def _claim_values(reservation: Reservation | None) -> dict[str, Any]:
    return {} if reservation is None else {"next_attempt_at": reservation.until, "attempts": 1}


@cache
def _insert_statement(dialect: str) -> Any:
    """Return the statement that inserts the rows that do not exist yet and returns their keys; built once."""
    insert: Any = (postgresql if dialect == "postgresql" else sqlite).insert(_NOTIFICATIONS)
    names = _NOTIFICATIONS.c.account_id, _NOTIFICATIONS.c.digest
    return insert.on_conflict_do_nothing(index_elements=names).returning(*names, _NOTIFICATIONS.c.id)


def _place(account_id: str, digest: str) -> str:
    return f"notification/{account_id}/{digest}"


SEALED_COLUMNS = (
    SealedColumn(
        col(Notification.data_sealed),
        place_columns=(col(Notification.account_id), col(Notification.digest)),
        place=_place,
    ),
)
"""The sealed columns of a notification."""
