"""What is not kept for ever: what payments say of their shoppers, and the content of notifications that are worked off.

Facts about money stay: payments, operations, their amounts, ids, references, masks and moments; that Saleor was told,
without the words, because it is told nothing twice (laws of money, 5 and 9); and of each notification the digest by
which a repeat is recognised (6). So what comes late or again changes nothing (7), and nothing is needed of what goes.

What goes is found by an index over what is still there, so a run costs what it erases, however old the store is.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, exists, func, null, select, tuple_, update
from sqlmodel import col
from sqlmodel.ext.asyncio.session import AsyncSession

from app.db.job_queue import JobQueue
from app.db.tables import (
    EventState,
    Flow,
    Installation,
    MerchantAccount,
    Notification,
    Operation,
    Payment,
    SaleorEvent,
    State,
)

RETENTION = JobQueue(
    "retention",
    Installation,
    row_id=col(Installation.id),
    due=col(Installation.retention_due_at),
    tenant=col(Installation.id),
    furthest=timedelta(hours=26),  # the next night
)
"""Erasing what a store keeps no longer."""

AT_REST = timedelta(days=180)
"""How long nothing has happened to a payment before the worker erases anything of it: refunds and disputes come no
later (gateway facts, 6)."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How long is kept, from its beginning on, what payments say of shoppers (``personal``), and how long the content
    of notifications that are worked off. None: for ever.
    """

    personal: timedelta | None = None
    notifications: timedelta | None = None


class Place(NamedTuple):
    """A payment's place among all, by age."""

    begun: datetime
    payment_id: int


@dataclass(frozen=True, slots=True)
class Outdated:
    """What of a store is to go: payments that were begun before ``begun``, notifications from before ``received``."""

    installation_id: int
    begun: datetime | None
    received: datetime | None
    untouched_since: datetime

    @classmethod
    def of(cls, installation_id: int, retention: Retention, now: datetime) -> "Outdated":
        """Return what of a store is to go by now."""
        return cls(
            installation_id,
            None if retention.personal is None else now - retention.personal,
            None if retention.notifications is None else now - retention.notifications,
            now - AT_REST,
        )


async def erase_payments(
    session: AsyncSession, outdated: Outdated, now: datetime, *, most: int, after: Place | None = None
) -> tuple[int, Place | None]:
    """Erase what the oldest of these payments say of their shoppers, ``after`` that place; nothing that is open goes.

    At most so many are looked at. Return of how many it was erased, and where to go on; None: there are no more.
    """
    if outdated.begun is None:
        return 0, None
    query: Any = select(col(Payment.id), col(Payment.created_at)).where(*_closed(outdated.installation_id))
    query = query.where(col(Payment.created_at) < min(outdated.begun, outdated.untouched_since))
    if after is not None:
        query = query.where(tuple_(col(Payment.created_at), col(Payment.id)) > after)
    oldest = query.order_by(col(Payment.created_at), col(Payment.id)).limit(most)
    rows = (await session.exec(oldest.with_for_update(skip_locked=True))).all()
    ids = [row.id for row in rows]
    erased = await _erase(session, await _at_rest(session, ids, outdated.untouched_since), now)
    return erased, Place(rows[-1].created_at, rows[-1].id) if rows else None


async def erase_payments_of(
    session: AsyncSession, installation_id: int, digests: Collection[str], now: datetime
) -> tuple[int, int]:
    """Erase the same of the finished payments that are found by these digests; return of how many, and how many stay.

    Those stay that are not finished: something of them is open, or a person must look at them.
    """
    theirs = (col(Payment.installation_id) == installation_id, col(Payment.email_digest).in_(digests))
    query: Any = select(col(Payment.id)).where(*theirs, *_closed(installation_id))
    ids = (await session.exec(query.order_by(col(Payment.id)).with_for_update())).scalars().all()
    erased = await _erase(session, await _at_rest(session, ids), now)
    left: Any = select(func.count()).select_from(Payment).where(*theirs)
    return erased, int((await session.exec(left)).scalar_one())


async def thin_notifications(session: AsyncSession, outdated: Outdated, *, most: int) -> int:
    """Forget the content of some of these notifications; return of how many. What a person must see stays.

    In no order: to bring those of several accounts into one would be to read all of them each time.
    """
    if outdated.received is None:
        return 0
    query: Any = select(col(Notification.id)).where(*_thinnable(outdated, outdated.received)).limit(most)
    ids = (await session.exec(query.with_for_update(skip_locked=True))).scalars().all()
    if ids:
        await session.exec(update(Notification).where(col(Notification.id).in_(ids)).values(data_sealed=None))
    return len(ids)


async def count_outdated(session: AsyncSession, outdated: Outdated) -> tuple[int, int]:
    """Return how many payments and how many notifications are to go now."""
    payments = notifications = 0
    if outdated.begun is not None:
        query: Any = select(func.count()).select_from(Payment)
        begun = col(Payment.created_at) < min(outdated.begun, outdated.untouched_since)
        restless = [exists().where(each) for each in _restless(outdated.untouched_since)]
        query = query.where(*_closed(outdated.installation_id), begun, *[~each for each in restless])
        payments = int((await session.exec(query)).scalar_one())
    if outdated.received is not None:
        query = select(func.count()).select_from(Notification).where(*_thinnable(outdated, outdated.received))
        notifications = int((await session.exec(query)).scalar_one())
    return payments, notifications


async def erase_next(session: AsyncSession, installation_id: int, at: datetime) -> None:
    """Say when that store's outdated data are erased next."""
    theirs = col(Installation.id) == installation_id
    await session.exec(update(Installation).where(theirs).values(retention_due_at=at))


def _closed(installation_id: int) -> tuple[ColumnElement[bool], ...]:
    """Return what a payment itself must say, for it to be erased. Of a payout it stays known who was paid."""
    return (
        col(Payment.erased_at).is_(None),
        col(Payment.installation_id) == installation_id,
        col(Payment.flow) != Flow.PAYOUT,
        col(Payment.problem_since).is_(None),  # what a person has looked at keeps nothing for ever
        col(Payment.attempts_due_at).is_(None),
    )


def _restless(since: datetime | None) -> tuple[ColumnElement[bool], ...]:
    """Return what shows, each in a table of its own, that something of a payment is open, or has happened ``since``."""
    open_ = col(Operation.state).not_in([each for each in State if each.final])
    pending = open_ | col(Operation.next_poll_at).is_not(None)
    moved = pending if since is None else pending | (col(Operation.updated_at) >= since)
    return (
        and_(col(Operation.payment_id) == col(Payment.id), moved),
        and_(col(SaleorEvent.payment_id) == col(Payment.id), col(SaleorEvent.state) == EventState.WAITING),
        and_(
            col(Notification.account_id) == col(Payment.account_id),
            col(Notification.order_id) == col(Payment.order_id),
            col(Notification.next_attempt_at).is_not(None),
        ),
    )


async def _at_rest(session: AsyncSession, payment_ids: Sequence[int], since: datetime | None = None) -> list[int]:
    """Return those of these payments, which are locked, of which nothing is open and nothing has happened ``since``.

    A query for each table, by the ids: one for all would be planned as if all payments were meant.
    """
    restless: set[int] = set()
    for table, shows in zip((Operation, SaleorEvent, Notification), _restless(since), strict=True):
        query: Any = select(col(Payment.id)).join(table, shows).where(col(Payment.id).in_(payment_ids))
        if payment_ids:
            restless |= set((await session.exec(query)).scalars().all())
    return [each for each in payment_ids if each not in restless]


def _thinnable(outdated: Outdated, received: datetime) -> tuple[ColumnElement[bool], ...]:
    accounts = select(col(MerchantAccount.id)).where(col(MerchantAccount.installation_id) == outdated.installation_id)
    return (
        col(Notification.data_sealed).is_not(None),
        col(Notification.account_id).in_(accounts),
        col(Notification.received_at) < received,
        col(Notification.next_attempt_at).is_(None),
        col(Notification.trouble).is_(None),
    )


async def _erase(session: AsyncSession, payment_ids: Sequence[int], now: datetime) -> int:
    """Erase what these payments, which are locked, say of their shoppers, and the words of all that was told."""
    if not payment_ids:
        return 0
    links = {"checkout_url": None, "qr_url": None, "redirect_url": None, "return_url_sealed": None}
    whose = {"email_digest": None, "card_owner": None, "erased_at": now}
    theirs = col(Payment.id).in_(payment_ids)
    await session.exec(update(Payment).where(theirs).values(links | whose))
    asked = and_(col(Operation.payment_id).in_(payment_ids), col(Operation.personal_sealed).is_not(None))
    await session.exec(update(Operation).where(asked).values(personal_sealed=None))
    orders: Any = select(col(Payment.account_id), col(Payment.order_id)).where(theirs)
    of_them = [tuple(each) for each in (await session.exec(orders)).all()]
    named = tuple_(col(Notification.account_id), col(Notification.order_id)).in_(of_them)
    await session.exec(update(Notification).where(named).values(data_sealed=None))
    # That Saleor was told, and when, is what keeps it from being told again. The words are in Saleor.
    told = and_(col(SaleorEvent.payment_id).in_(payment_ids), col(SaleorEvent.state) != EventState.REFUSED)
    words = {"message": "", "available_actions": null(), "card": null(), "last_error": None}
    await session.exec(update(SaleorEvent).where(told).values(words))
    return len(payment_ids)
