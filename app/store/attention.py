"""The queries for what needs a person: counted, and page by page. Each reads an index of such rows only.

So a store with a million payments is queried as quickly as one with a thousand; only the number of open rows matters.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import and_, func, or_, text, update
from sqlalchemy.orm import aliased
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core.alerts import AlertKind
from app.core.ids import EventRowId
from app.core.notification import OutcomeCode
from app.core.vocabulary import EventState
from app.store.problems import OPEN
from app.store.reconciliations import OF_A_GAP
from app.store.tables import (
    Discrepancy,
    DiscrepancyState,
    MerchantAccount,
    Notification,
    Payment,
    Problem,
    ReconciliationRun,
    RunState,
    SaleorEvent,
    TurnedAway,
)
from app.store.tables.reconciliation import UNSETTLED

_MOST_IDS = 500  # of a statement

_UNKNOWN_ORDER = (col(Discrepancy.payment_id).is_(None), text(f"discrepancy.{UNSETTLED}"))
_ENDED = (RunState.DONE, RunState.FAILED)

MAX_COUNTED = 1000
"""The most undelivered events that are counted: they all wait for the same thing."""


@dataclass(frozen=True, slots=True)
class CountedProblems:
    """How many payments of one account have an open problem of one kind; the oldest was raised at ``since``."""

    kind: AlertKind
    account_id: str
    count: int
    since: datetime


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


@dataclass(frozen=True, slots=True)
class UnknownOrders:
    """How many orders in the gateway's books have no payment of ours; the first was found at ``since``."""

    account_id: str
    count: int
    since: datetime


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


def problem_counts(installation_id: int) -> Any:
    """Return the query of ``CountedProblems``: how many payments of a store have open ones, by kind and account."""
    by = (col(Problem.kind), col(Problem.account_id))
    return (
        select(*by, func.count(func.distinct(Problem.payment_id)), func.min(col(Problem.raised_at)))
        .where(Problem.installation_id == installation_id, *OPEN)
        .group_by(*by)
    )


async def count_open_problems(session: AsyncSession) -> dict[AlertKind, int]:
    """Return how many problems of each kind are open, in all stores."""
    query = select(Problem.kind, func.count()).where(*OPEN).group_by(col(Problem.kind))
    return {AlertKind(kind): count for kind, count in (await session.exec(query)).all()}


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


def unknown_order_counts(account_ids: Collection[str]) -> Any:
    """Return the query of ``UnknownOrders``: those paid at these accounts' points of sale without a payment of ours."""
    return (
        select(Discrepancy.account_id, func.count(), func.min(Discrepancy.found_at))
        .where(col(Discrepancy.account_id).in_(account_ids), *_UNKNOWN_ORDER)
        .group_by(col(Discrepancy.account_id))
    )


async def mark_unknown_orders_seen(session: AsyncSession, account_ids: Collection[str], now: datetime) -> int:
    """Record that a person has looked at these orders; return how many there were."""
    theirs = (col(Discrepancy.account_id).in_(account_ids), *_UNKNOWN_ORDER)
    ended = update(Discrepancy).where(*theirs).values(state=DiscrepancyState.ENDED, changed_at=now)
    result: Any = await session.exec(ended)
    return int(result.rowcount)


def failed_comparisons(account_ids: Collection[str]) -> Any:
    """Return the query of each account's last nightly comparison that has ended, where it has failed.

    And of the comparisons of gaps that have failed, until a nightly one has covered them.
    """
    newest = (
        select(func.max(ReconciliationRun.id))
        .where(
            col(ReconciliationRun.account_id).in_(account_ids),
            col(ReconciliationRun.state).in_(_ENDED),
            col(ReconciliationRun.chosen).is_(False),
        )
        .group_by(col(ReconciliationRun.account_id))
    )
    nightly = col(ReconciliationRun.id).in_(newest)
    theirs = col(ReconciliationRun.account_id).in_(account_ids)
    return select(ReconciliationRun).where(
        theirs, ReconciliationRun.state == RunState.FAILED, or_(nightly, _of_uncovered_gap())
    )


def _of_uncovered_gap() -> Any:
    """Return the condition for comparisons of gaps whose time no nightly comparison has covered."""
    nightly = aliased(ReconciliationRun)
    covered = (
        select(func.max(nightly.covered_until))
        .where(col(nightly.account_id) == col(ReconciliationRun.account_id), col(nightly.chosen).is_(False))
        .scalar_subquery()
    )
    return and_(OF_A_GAP, or_(covered.is_(None), covered < col(ReconciliationRun.ends_at)))


async def count_failed_comparisons(session: AsyncSession) -> int:
    """Return the number of accounts, of all stores, of which a comparison has failed (``failed_comparisons``)."""
    last_state = (
        select(ReconciliationRun.state)
        .where(
            col(ReconciliationRun.account_id) == col(MerchantAccount.id),
            col(ReconciliationRun.state).in_(_ENDED),
            col(ReconciliationRun.chosen).is_(False),
        )
        .order_by(col(ReconciliationRun.id).desc())
        .limit(1)
        .scalar_subquery()
    )
    # By the index of an account's comparisons; of any account's, all rows would be read.
    gap = select(ReconciliationRun.id).where(
        col(ReconciliationRun.account_id) == col(MerchantAccount.id),
        ReconciliationRun.state == RunState.FAILED,
        _of_uncovered_gap(),
    )
    has_failed = or_(last_state == RunState.FAILED, gap.exists())
    query = select(func.count()).select_from(MerchantAccount).where(has_failed)
    return (await session.exec(query)).one()


def refused_requests(installation_id: int, *, since: datetime) -> Any:
    """Return the query of what was refused in a store since then, and of all that staff have acknowledged."""
    query = select(TurnedAway).where(
        TurnedAway.installation_id == installation_id,
        or_(col(TurnedAway.last_at) >= since, col(TurnedAway.acknowledged_at).is_not(None)),
    )
    return query.order_by(col(TurnedAway.channel), col(TurnedAway.day))


async def refused_event_ids(
    session: AsyncSession, installation_id: int, *, order_id: str | None = None, most: int = 500
) -> list[EventRowId]:
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
    return [EventRowId(event_id) for event_id in (await session.exec(query)).all() if event_id is not None]
