"""The queries for what needs a person: counted, and page by page. Each reads an index of such rows only.

So a store with a million payments is queried as quickly as one with a thousand; only the number of open rows matters.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, or_, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core.alerts import AlertKind
from app.core.notification import OutcomeCode
from app.core.vocabulary import EventState
from app.store.tables import MerchantAccount, Notification, Payment, SaleorEvent

_MOST_IDS = 500  # of a statement

MAX_COUNTED = 1000
"""The most undelivered events that are counted: they all wait for the same thing."""


@dataclass(frozen=True, slots=True)
class TroubledNotifications:
    """How many notifications of one account have one trouble; the oldest was received at ``since``."""

    trouble: str
    account_id: str
    count: int
    since: datetime


@dataclass(frozen=True, slots=True)
class Undelivered:
    """Events not delivered to Saleor: how many (at most ``MAX_COUNTED`` + 1), since when, and the last error."""

    count: int
    since: datetime
    last_error: str | None


async def rows_of_each(session: AsyncSession, *queries: Any) -> list[Sequence[Any]]:
    """Return the rows of each query. One statement finds out which have any; only those are run.

    Mostly none has any, and nothing needs a person.
    """
    has_rows = (await session.exec(select(*[query.exists() for query in queries]))).one()
    return [(await session.exec(query)).all() if has else [] for query, has in zip(queries, has_rows, strict=True)]


async def accounts_of(session: AsyncSession, installation_id: int) -> Sequence[MerchantAccount]:
    """Return a store's merchant accounts."""
    query = select(MerchantAccount).where(MerchantAccount.installation_id == installation_id)
    return (await session.exec(query)).all()


def troubled_notification_counts(account_ids: Collection[str], *, failing_since: datetime) -> Any:
    """Return the query of ``TroubledNotifications``; of those that merely failed, only the ones received by then."""
    by = (col(Notification.trouble), col(Notification.account_id))
    return (
        select(*by, func.count(), func.min(col(Notification.received_at)))
        .where(
            col(Notification.account_id).in_(account_ids),
            col(Notification.trouble).is_not(None),
            or_(col(Notification.trouble) != AlertKind.FAILED, col(Notification.received_at) <= failing_since),
        )
        .group_by(*by)
    )


async def troubled_notifications(
    session: AsyncSession, account_ids: Collection[str], trouble: AlertKind, *, most: int
) -> Sequence[Notification]:
    """Return the newest notifications with that trouble, sealed."""
    query = (
        select(Notification)
        .where(col(Notification.account_id).in_(account_ids), Notification.trouble == trouble)
        .order_by(col(Notification.received_at).desc())
        .limit(most)
    )
    return (await session.exec(query)).all()


async def clear_trouble(session: AsyncSession, account_ids: Collection[str], trouble: AlertKind) -> int:
    """Clear this trouble from notifications, so that they need no person any more; return how many there were."""
    theirs = (col(Notification.account_id).in_(account_ids), col(Notification.trouble) == trouble)
    result: Any = await session.exec(update(Notification).where(*theirs).values(trouble=None))
    return int(result.rowcount)


async def clear_orders_of_others(session: AsyncSession, account: MerchantAccount) -> None:
    """Clear the trouble with notifications of orders that, as the account says by now, are another shop's."""
    unmatched = (col(Notification.account_id) == account.id, col(Notification.trouble) == AlertKind.UNMATCHED)
    orders = (await session.exec(select(Notification.order_id).where(*unmatched).distinct())).all()
    theirs = [order_id for order_id in orders if account.is_order_of_others(order_id)]
    for start in range(0, len(theirs), _MOST_IDS):
        some = theirs[start : start + _MOST_IDS]
        query: Any = update(Notification).where(*unmatched, col(Notification.order_id).in_(some))
        await session.exec(query.values(trouble=None, outcome=OutcomeCode.OF_ANOTHER_SHOP))


def undelivered_events(installation_id: int, *, before: datetime) -> Any:
    """Return the query of the events created by ``before`` that Saleor has not accepted yet: see ``undelivered``."""
    return (
        select(SaleorEvent.id, SaleorEvent.created_at, SaleorEvent.last_error)
        .where(
            col(SaleorEvent.next_attempt_at).is_not(None),
            SaleorEvent.state == EventState.WAITING,
            SaleorEvent.installation_id == installation_id,
            col(SaleorEvent.created_at) <= before,
        )
        .limit(MAX_COUNTED + 1)
    )


def undelivered(events: Sequence[Any]) -> Undelivered | None:
    """Return what is to be known of the rows of ``undelivered_events``; None when there are none."""
    if not events:
        return None
    last_error = next((event.last_error for event in events if event.last_error), None)
    return Undelivered(len(events), min(event.created_at for event in events), last_error)


async def refused_event_ids(
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
    return [event_id for event_id in (await session.exec(query)).all() if event_id is not None]
