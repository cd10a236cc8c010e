"""The queries for what needs a person: counted, and page by page. Each reads an index of such rows only.

So a store of a million payments is asked as quickly as one of a thousand; what costs is only how much is open.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, or_, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.db.inbox import Trouble
from app.db.tables import EventState, MerchantAccount, Notification, Payment, SaleorEvent

MOST_COUNTED = 1000
"""Of events that are not delivered no more are counted: what they wait for is one and the same."""


@dataclass(frozen=True, slots=True)
class CountedNotifications:
    """So many notifications of one account are in one trouble, the oldest from ``since``."""

    trouble: str
    account_id: str
    count: int
    since: datetime


@dataclass(frozen=True, slots=True)
class Undelivered:
    """Events that Saleor does not take: how many (at most ``MOST_COUNTED`` + 1), since when, and what the last said."""

    count: int
    since: datetime
    event_ids: tuple[int, ...]
    last_error: str | None


async def accounts_of(session: AsyncSession, installation_id: int) -> Sequence[MerchantAccount]:
    """Return a store's merchant accounts."""
    query = select(MerchantAccount).where(MerchantAccount.installation_id == installation_id)
    return (await session.exec(query)).all()


async def troubles_counted(
    session: AsyncSession, account_ids: Collection[str], *, failing_since: datetime
) -> list[CountedNotifications]:
    """Return how many notifications are in which trouble; of those that merely fail, the ones from before that."""
    by = (col(Notification.trouble), col(Notification.account_id))
    query: Any = (
        select(*by, func.count(), func.min(col(Notification.received_at)))
        .where(
            col(Notification.account_id).in_(account_ids),
            col(Notification.trouble).is_not(None),
            or_(col(Notification.trouble) != Trouble.FAILED, col(Notification.received_at) <= failing_since),
        )
        .group_by(*by)
    )
    return [CountedNotifications(*row) for row in (await session.exec(query)).all()]


async def notifications_in_trouble(
    session: AsyncSession, account_ids: Collection[str], trouble: Trouble, *, most: int
) -> Sequence[Notification]:
    """Return the newest notifications that are in that trouble, sealed."""
    query = (
        select(Notification)
        .where(col(Notification.account_id).in_(account_ids), Notification.trouble == trouble)
        .order_by(col(Notification.received_at).desc())
        .limit(most)
    )
    return (await session.exec(query)).all()


async def forget_trouble(session: AsyncSession, account_ids: Collection[str], trouble: Trouble) -> int:
    """Let these notifications need nobody any more; return how many there were."""
    theirs = (col(Notification.account_id).in_(account_ids), col(Notification.trouble) == trouble)
    result: Any = await session.exec(update(Notification).where(*theirs).values(trouble=None))
    return int(result.rowcount)


async def undelivered(session: AsyncSession, installation_id: int, *, before: datetime) -> Undelivered | None:
    """Return the events from ``before`` that Saleor has not taken yet; None when it has all of them."""
    query: Any = (
        select(SaleorEvent.id, SaleorEvent.created_at, SaleorEvent.last_error)
        .where(
            col(SaleorEvent.next_attempt_at).is_not(None),
            SaleorEvent.state == EventState.WAITING,
            SaleorEvent.installation_id == installation_id,
            col(SaleorEvent.created_at) <= before,
        )
        .limit(MOST_COUNTED + 1)
    )
    found = (await session.exec(query)).all()
    if not found:
        return None
    ids, since, errors = zip(*found, strict=True)
    return Undelivered(len(found), min(since), ids, next((each for each in errors if each), None))


async def refused_events(
    session: AsyncSession, installation_id: int, *, order_id: str | None = None, most: int = 500
) -> list[int]:
    """Return the row ids of events that Saleor has refused, of a store or of one of its payments, the oldest first."""
    with_problem = (Payment.installation_id == installation_id, col(Payment.problem_since).is_not(None))
    payments = select(Payment.id).where(*with_problem)
    if order_id is not None:
        payments = payments.where(Payment.order_id == order_id)
    query = (
        select(SaleorEvent.id)
        .where(col(SaleorEvent.payment_id).in_(payments), SaleorEvent.state == EventState.REFUSED)
        .order_by(col(SaleorEvent.id))
        .limit(most)
    )
    return [each for each in (await session.exec(query)).all() if each is not None]
