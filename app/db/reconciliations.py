"""Comparisons with the gateway's books, and the differences that they have found.

An account has one comparison that is planned, from the commit that adds it. Each is a job that a worker takes up when
its moment has come, and takes over when whoever did it has died.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, func, literal, text, tuple_, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.db.aggregates import WITH_ACCOUNT, PaymentAggregate, aggregates_of
from app.db.columns import Moment
from app.db.day_sums import forget_days
from app.db.job_queue import JobQueue
from app.db.summed_days import forget_summed_days
from app.db.tables import (
    Discrepancy,
    DiscrepancyKind,
    DiscrepancyState,
    Kind,
    MerchantAccount,
    Operation,
    Payment,
    ReconciliationRun,
    RunState,
    State,
)
from app.db.tables.reconciliation import UNSETTLED

RECONCILIATIONS = JobQueue(
    "reconciliations",
    ReconciliationRun,
    row_id=col(ReconciliationRun.id),
    due=col(ReconciliationRun.due_at),
    tenant=col(ReconciliationRun.installation_id),
    furthest=timedelta(hours=25),  # each night
)
_ENDED = (RunState.DONE, RunState.FAILED)


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference that was found, and what became of it. ``payment_id`` None: of an order that is not ours."""

    key: str
    kind: DiscrepancyKind
    state: DiscrepancyState
    order_id: str
    facts: Mapping[str, Any]
    payment_id: int | None = None
    gateway_id: str | None = None


def next_time(hour: int, now: datetime) -> datetime:
    """Return when it is that hour next, in UTC; a later one than now."""
    today = now.replace(hour=hour, minute=0, second=0, microsecond=0)
    return today if today > now else today + timedelta(days=1)


async def one_at_a_time(session: AsyncSession, account_id: str) -> None:
    """Until the transaction ends, let no other comparison of the account write: one by night may meet one by hand.

    What only refers to the account is not held up.
    """
    account = select(MerchantAccount.id).where(MerchantAccount.id == account_id)
    await session.exec(account.with_for_update(key_share=True))


async def plan(session: AsyncSession, account: MerchantAccount, now: datetime) -> None:
    """Plan the next comparison of an account for the hour that its owner has chosen, unless one is planned."""
    await one_at_a_time(session, account.id)
    planned = select(ReconciliationRun.id).where(
        ReconciliationRun.account_id == account.id, ReconciliationRun.state == RunState.PLANNED
    )
    if (await session.exec(planned)).first() is None:
        session.add(
            ReconciliationRun(
                installation_id=account.installation_id,
                account_id=account.id,
                due_at=next_time(account.reconcile_at, now),
                created_at=now,
            )
        )


async def forget_account(session: AsyncSession, account_id: str) -> None:
    """Delete what was compared of an account that never had a payment."""
    await forget_days(session, account_id)
    await forget_summed_days(session, account_id)
    for table in (Discrepancy, ReconciliationRun):
        await session.exec(delete(table).where(col(table.account_id) == account_id))


async def covered_until(session: AsyncSession, account_id: str) -> datetime | None:
    """Return up to when an account's books were compared night after night; None if they never were."""
    query = select(func.max(ReconciliationRun.covered_until)).where(
        ReconciliationRun.account_id == account_id, col(ReconciliationRun.chosen).is_(False)
    )
    return (await session.exec(query)).one()


async def is_being_compared(session: AsyncSession, account_id: str) -> bool:
    """Return whether a comparison of an account's books has begun and not ended."""
    query = select(ReconciliationRun.id).where(
        ReconciliationRun.account_id == account_id, ReconciliationRun.state == RunState.RUNNING
    )
    return (await session.exec(query.limit(1))).first() is not None


async def change(session: AsyncSession, run_id: int, **columns: object) -> None:
    """Set columns of a comparison."""
    await session.exec(update(ReconciliationRun).where(col(ReconciliationRun.id) == run_id).values(**columns))


async def keep_claim(session: AsyncSession, run_id: int, until: datetime) -> None:
    """Let nobody take a comparison over before that moment; one that has ended stays so."""
    those = (col(ReconciliationRun.id) == run_id, col(ReconciliationRun.due_at).is_not(None))
    await session.exec(update(ReconciliationRun).where(*those).values(due_at=until))


async def claim_run(session: AsyncSession, run_id: int, due: datetime, until: datetime) -> bool:
    """Claim a comparison that was seen to be due then; False when somebody else has claimed it, or it has ended."""
    those = (col(ReconciliationRun.id) == run_id, col(ReconciliationRun.due_at) == due)
    result: Any = await session.exec(update(ReconciliationRun).where(*those).values(due_at=until))
    return bool(result.rowcount)


async def record(session: AsyncSession, run: ReconciliationRun, found: Sequence[Finding], now: datetime) -> None:
    """Keep differences that ``run`` has found; one that was found before is the same row.

    An order of nobody that somebody has looked at stays so: the books will show it each night.
    """
    await one_at_a_time(session, run.account_id)
    keys = [each.key for each in found]
    query = select(Discrepancy).where(Discrepancy.account_id == run.account_id, col(Discrepancy.key).in_(keys))
    known = {row.key: row for row in (await session.exec(query)).all()}
    for each in found:
        row = known.get(each.key)
        if row is None:
            row = Discrepancy(
                installation_id=run.installation_id,
                account_id=run.account_id,
                run_id=run.id or 0,
                seen_run_id=run.id or 0,
                payment_id=each.payment_id,
                order_id=each.order_id,
                gateway_id=each.gateway_id,
                key=each.key,
                kind=each.kind,
                state=each.state,
                facts=dict(each.facts),
                found_at=now,
                changed_at=now,
            )
            known[each.key] = row
            session.add(row)
            continue
        row.seen_run_id = run.id or 0
        looked_at = row.payment_id is None and row.state is DiscrepancyState.ENDED
        if row.state is not each.state and not looked_at:
            row.kind, row.state, row.changed_at = each.kind, each.state, now


async def unsettled(session: AsyncSession, account_id: str, *, after: int, most: int) -> Sequence[Discrepancy]:
    """Return differences about payments of an account that are not settled, after that row."""
    query = (
        select(Discrepancy)
        .where(
            Discrepancy.account_id == account_id,
            text(f"discrepancy.{UNSETTLED}"),
            col(Discrepancy.payment_id).is_not(None),
            col(Discrepancy.id) > after,
        )
        .order_by(col(Discrepancy.id))
        .limit(most)
    )
    return (await session.exec(query)).all()


async def payments_of_orders(session: AsyncSession, order_ids: Collection[str]) -> dict[str, PaymentAggregate]:
    """Return the payments of these gateway orders, whoever's they are, for reading only; a few queries for all."""
    query = select(Payment).where(col(Payment.order_id).in_(order_ids)).options(WITH_ACCOUNT)
    found = await aggregates_of(session, (await session.exec(query)).all())
    return {each.payment.order_id: each for each in found}


async def paid_between(
    session: AsyncSession, account_id: str, after: tuple[datetime, int], end: datetime, *, most: int
) -> Sequence[tuple[datetime, int, str]]:
    """Return when, as which row and as which order payments of an account were begun that have succeeded.

    It is a page of them: those ``after`` a moment and a row, the last ones of the page before.
    """
    begun = (col(Payment.created_at), col(Payment.id))
    query: Any = (
        select(Payment.created_at, Payment.id, Payment.order_id)
        .join(Operation, col(Operation.payment_id) == col(Payment.id))
        .where(
            Payment.account_id == account_id,
            tuple_(*begun) > tuple_(literal(after[0], Moment), literal(after[1])),
            begun[0] < end,
            Operation.kind == Kind.CREATE,
            Operation.state == State.SUCCESS,
        )
        .order_by(*begun)
        .limit(most)
    )
    return [tuple(row) for row in (await session.exec(query)).all()]


async def history(
    session: AsyncSession, *, account_id: str | None = None, before: int | None = None, most: int
) -> Sequence[ReconciliationRun]:
    """Return comparisons that were begun, the newest first; of one account, if one is named."""
    query = select(ReconciliationRun).where(ReconciliationRun.state != RunState.PLANNED)
    if account_id is not None:
        query = query.where(ReconciliationRun.account_id == account_id)
    if before is not None:
        query = query.where(col(ReconciliationRun.id) < before)
    return (await session.exec(query.order_by(col(ReconciliationRun.id).desc()).limit(most))).all()


async def found_by(session: AsyncSession, run_id: int, *, most: int) -> Sequence[Discrepancy]:
    """Return the differences that a comparison has found first, oldest first."""
    query = select(Discrepancy).where(Discrepancy.run_id == run_id).order_by(col(Discrepancy.id)).limit(most)
    return (await session.exec(query)).all()


async def last_ended(session: AsyncSession, account_ids: Collection[str]) -> dict[str, ReconciliationRun]:
    """Return the last comparison of each account that has ended, whatever came of it."""
    newest = (
        select(func.max(ReconciliationRun.id))
        .where(
            col(ReconciliationRun.account_id).in_(account_ids),
            col(ReconciliationRun.state).in_(_ENDED),
            col(ReconciliationRun.chosen).is_(False),
        )
        .group_by(col(ReconciliationRun.account_id))
    )
    query = select(ReconciliationRun).where(col(ReconciliationRun.id).in_(newest))
    return {row.account_id: row for row in (await session.exec(query)).all()}


@dataclass(frozen=True, slots=True)
class CountedOrders:
    """So many orders of the gateway's books are nobody's, the first found at ``since``."""

    account_id: str
    count: int
    since: datetime


_OF_NOBODY = (col(Discrepancy.payment_id).is_(None), text(f"discrepancy.{UNSETTLED}"))


async def orders_of_nobody(session: AsyncSession, account_ids: Collection[str]) -> list[CountedOrders]:
    """Return how many orders were paid at these accounts' points of sale of which no payment is ours."""
    query: Any = (
        select(Discrepancy.account_id, func.count(), func.min(Discrepancy.found_at))
        .where(col(Discrepancy.account_id).in_(account_ids), *_OF_NOBODY)
        .group_by(col(Discrepancy.account_id))
    )
    return [CountedOrders(*row) for row in (await session.exec(query)).all()]


async def look_at_orders_of_nobody(session: AsyncSession, account_ids: Collection[str], now: datetime) -> int:
    """Note that somebody has looked at these orders; return how many there were."""
    theirs = (col(Discrepancy.account_id).in_(account_ids), *_OF_NOBODY)
    ended = update(Discrepancy).where(*theirs).values(state=DiscrepancyState.ENDED, changed_at=now)
    result: Any = await session.exec(ended)
    return int(result.rowcount)
