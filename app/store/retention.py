"""Retention: erases payments' data about their shoppers, and the content of processed notifications.

Facts about money stay: payments, operations, their amounts, ids, references, masks and moments; that an event was
reported to Saleor, without its text, because nothing is reported twice (laws of money, 5 and 9); and of each
notification the digest by which a duplicate is recognised (6). So late or repeated input changes nothing (7), and
nothing that is erased is still needed.

Erasable rows are found by an index over rows that are not erased yet, so a run costs only what it erases, however old
the store is.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, exists, func, null, select, tuple_, update
from sqlmodel import col
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core.vocabulary import SUBSCRIPTION_CANCELED, EventState, Flow, State
from app.store.job_queue import JobQueue
from app.store.tables import Installation, MerchantAccount, Notification, Operation, Payment, SaleorEvent

RETENTION = JobQueue(
    "retention",
    Installation,
    row_id=col(Installation.id),
    due=col(Installation.retention_due_at),
    tenant=col(Installation.id),
    max_delay=timedelta(hours=26),  # the next night
)
"""Erasing the outdated data of a store."""

INACTIVE_PERIOD = timedelta(days=180)
"""How long a payment must be inactive before the worker erases anything of it: refunds and disputes arrive no later
(gateway facts, 6)."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How long payments keep their data about shoppers (``personal``), from the payment's beginning, and how long the
    content of processed notifications is kept. None: for ever.
    """

    personal: timedelta | None = None
    notifications: timedelta | None = None


class PagePosition(NamedTuple):
    """A payment's position in the order of age."""

    begun: datetime
    payment_id: int


@dataclass(frozen=True, slots=True)
class Outdated:
    """A store's outdated data: payments begun before ``begun``, notifications from before ``received``."""

    installation_id: int
    begun: datetime | None
    received: datetime | None
    untouched_since: datetime

    @classmethod
    def for_store(cls, installation_id: int, retention: Retention, now: datetime) -> "Outdated":
        """Return the limits of what is outdated in a store now."""
        return cls(
            installation_id,
            None if retention.personal is None else now - retention.personal,
            None if retention.notifications is None else now - retention.notifications,
            now - INACTIVE_PERIOD,
        )


async def erase_payments(
    session: AsyncSession, outdated: Outdated, now: datetime, *, most: int, after: PagePosition | None = None
) -> tuple[int, PagePosition | None]:
    """Erase the shopper data of the oldest outdated payments ``after`` that position, except payments still open.

    At most ``most`` payments are examined. Return how many were erased, and where to continue; None: there are no more.
    """
    if outdated.begun is None:
        return 0, None
    query: Any = select(col(Payment.id), col(Payment.created_at)).where(*_closed_conditions(outdated.installation_id))
    query = query.where(col(Payment.created_at) < min(outdated.begun, outdated.untouched_since))
    if after is not None:
        query = query.where(tuple_(col(Payment.created_at), col(Payment.id)) > after)
    oldest = query.order_by(col(Payment.created_at), col(Payment.id)).limit(most)
    rows = (await session.exec(oldest.with_for_update(skip_locked=True))).all()
    ids = [row.id for row in rows]
    erased = await _erase(session, await _inactive_ids(session, ids, outdated.untouched_since), now)
    return erased, PagePosition(rows[-1].created_at, rows[-1].id) if rows else None


async def erase_payments_of_shopper(
    session: AsyncSession, installation_id: int, digests: Collection[str], now: datetime
) -> tuple[int, int]:
    """Erase the shopper data of the finished payments found by these digests; return how many, and how many remain.

    Unfinished payments remain: something of them is open, or a person must look at them.
    """
    theirs = (col(Payment.installation_id) == installation_id, col(Payment.email_digest).in_(digests))
    query: Any = select(col(Payment.id)).where(*theirs, *_closed_conditions(installation_id))
    ids = (await session.exec(query.order_by(col(Payment.id)).with_for_update())).scalars().all()
    erased = await _erase(session, await _inactive_ids(session, ids), now)
    left: Any = select(func.count()).select_from(Payment).where(*theirs)
    return erased, int((await session.exec(left)).scalar_one())


async def erase_notifications(session: AsyncSession, outdated: Outdated, *, most: int) -> int:
    """Erase the content of up to ``most`` outdated notifications; return how many. Those with a trouble stay.

    In no order: ordering those of several accounts would mean reading all of them each time.
    """
    if outdated.received is None:
        return 0
    query: Any = select(col(Notification.id)).where(*_erasable_conditions(outdated, outdated.received)).limit(most)
    ids = (await session.exec(query.with_for_update(skip_locked=True))).scalars().all()
    if ids:
        await session.exec(update(Notification).where(col(Notification.id).in_(ids)).values(data_sealed=None))
    return len(ids)


async def count_outdated(session: AsyncSession, outdated: Outdated) -> tuple[int, int]:
    """Return how many payments and how many notifications can be erased now."""
    payments = notifications = 0
    if outdated.begun is not None:
        query: Any = select(func.count()).select_from(Payment)
        begun = col(Payment.created_at) < min(outdated.begun, outdated.untouched_since)
        activity = [exists().where(condition) for condition in _activity_conditions(outdated.untouched_since)]
        query = query.where(*_closed_conditions(outdated.installation_id), begun, *[~exists for exists in activity])
        payments = int((await session.exec(query)).scalar_one())
    if outdated.received is not None:
        query = select(func.count()).select_from(Notification).where(*_erasable_conditions(outdated, outdated.received))
        notifications = int((await session.exec(query)).scalar_one())
    return payments, notifications


async def schedule_erasure(session: AsyncSession, installation_id: int, at: datetime) -> None:
    """Set when that store's outdated data are erased next."""
    theirs = col(Installation.id) == installation_id
    await session.exec(update(Installation).where(theirs).values(retention_due_at=at))


def _closed_conditions(installation_id: int) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions on the payment row for erasing it. Payouts are excluded: their recipients stay known.

    So are payments whose subscription is not cancelled: nobody would find them by the shopper's address any more, and
    the card is charged on.
    """
    has_subscription_ended = col(Payment.recurring_status) == SUBSCRIPTION_CANCELED
    return (
        col(Payment.erased_at).is_(None),
        col(Payment.installation_id) == installation_id,
        col(Payment.flow) != Flow.PAYOUT,
        col(Payment.problem_since).is_(None),  # acknowledged problems do not prevent erasure
        col(Payment.attempts_due_at).is_(None),
        col(Payment.recurring_id).is_(None) | has_subscription_ended,
    )


def _activity_conditions(since: datetime | None) -> tuple[ColumnElement[bool], ...]:
    """Return conditions, one for each table, that show that a payment is open or was active ``since`` then."""
    open_ = col(Operation.state).not_in([state for state in State if state.final])
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


async def _inactive_ids(session: AsyncSession, payment_ids: Sequence[int], since: datetime | None = None) -> list[int]:
    """Return those of these payments, which are locked, that are not open and were not active ``since`` then.

    One query for each table, by the ids: a single query would be planned as if it were about all payments.
    """
    active: set[int] = set()
    for table, shows in zip((Operation, SaleorEvent, Notification), _activity_conditions(since), strict=True):
        query: Any = select(col(Payment.id)).join(table, shows).where(col(Payment.id).in_(payment_ids))
        if payment_ids:
            active |= set((await session.exec(query)).scalars().all())
    return [payment_id for payment_id in payment_ids if payment_id not in active]


def _erasable_conditions(outdated: Outdated, received: datetime) -> tuple[ColumnElement[bool], ...]:
    accounts = select(col(MerchantAccount.id)).where(col(MerchantAccount.installation_id) == outdated.installation_id)
    return (
        col(Notification.data_sealed).is_not(None),
        col(Notification.account_id).in_(accounts),
        col(Notification.received_at) < received,
        col(Notification.next_attempt_at).is_(None),
        col(Notification.trouble).is_(None),
    )


async def _erase(session: AsyncSession, payment_ids: Sequence[int], now: datetime) -> int:
    """Erase the shopper data of these payments, which are locked, and the text of their reported events."""
    if not payment_ids:
        return 0
    links = {"checkout_url": None, "qr_url": None, "redirect_url": None, "return_url_sealed": None}
    shopper = {"email_digest": None, "card_owner": None, "erased_at": now}
    theirs = col(Payment.id).in_(payment_ids)
    await session.exec(update(Payment).where(theirs).values(links | shopper))
    sealed = and_(col(Operation.payment_id).in_(payment_ids), col(Operation.personal_sealed).is_not(None))
    await session.exec(update(Operation).where(sealed).values(personal_sealed=None))
    orders: Any = select(col(Payment.account_id), col(Payment.order_id)).where(theirs)
    of_them = [tuple(order) for order in (await session.exec(orders)).all()]
    named = tuple_(col(Notification.account_id), col(Notification.order_id)).in_(of_them)
    await session.exec(update(Notification).where(named).values(data_sealed=None))
    # That an event was reported, and when, prevents reporting it again. Its text is in Saleor.
    reported = and_(col(SaleorEvent.payment_id).in_(payment_ids), col(SaleorEvent.state) != EventState.REFUSED)
    texts = {"message": "", "available_actions": null(), "card": null(), "last_error": None}
    await session.exec(update(SaleorEvent).where(reported).values(texts))
    return len(payment_ids)
