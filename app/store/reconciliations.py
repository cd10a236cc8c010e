"""Comparisons with the gateway's books, and the differences that they found.

An account has one planned comparison, from the commit that adds the account. Each comparison is a job that a worker
starts when it is due, and takes over when the worker that ran it has died.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import and_, delete, func, literal, or_, text, tuple_, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core.payment import PaymentAggregate
from app.core.vocabulary import Kind, State
from app.store.aggregates import WITH_ACCOUNT, load_aggregates, read_payments
from app.store.columns import Moment
from app.store.committed import claims_of
from app.store.day_sums import delete_days
from app.store.job_queue import JobQueue
from app.store.summed_days import delete_summed_days
from app.store.tables import (
    Discrepancy,
    DiscrepancyKind,
    DiscrepancyState,
    MerchantAccount,
    Operation,
    Payment,
    ReconciliationRun,
    RunState,
)
from app.store.tables.reconciliation import UNSETTLED

RECONCILIATIONS = JobQueue(
    "reconciliations",
    ReconciliationRun,
    row_id=col(ReconciliationRun.id),
    due=col(ReconciliationRun.due_at),
    tenant=col(ReconciliationRun.installation_id),
    rare=(col(ReconciliationRun.state) == RunState.PLANNED, timedelta(hours=25)),  # each night
)
_ENDED = (RunState.DONE, RunState.FAILED)
_NOT_BEGUN = and_(col(ReconciliationRun.state) == RunState.RUNNING, col(ReconciliationRun.started_at).is_(None))

OF_A_GAP = and_(
    col(ReconciliationRun.chosen),
    col(ReconciliationRun.ends_at) >= col(ReconciliationRun.created_at),  # what people choose ends before
)
"""The condition for comparisons of a time in which nobody received notifications."""

SETTLING_TIME = timedelta(minutes=15)
"""How long a notification may take: nightly comparisons leave newer payments to the next night."""

FIRST_RUN_REACH = timedelta(days=180)
"""How far back an account's first comparison goes; refunds and disputes arrive no later (gateway facts, 6)."""

GAP_INTERVAL = timedelta(hours=1)
"""A process that is killed again and again has an account's gaps compared no more often."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference that was found, and its state. ``payment_id`` None: it is about an order that is not ours."""

    key: str
    kind: DiscrepancyKind
    state: DiscrepancyState
    order_id: str
    facts: Mapping[str, Any]
    payment_id: int | None = None
    gateway_id: str | None = None


def next_time(hour: int, now: datetime) -> datetime:
    """Return the next time, after ``now``, at which it is that hour in UTC."""
    today = now.replace(hour=hour, minute=0, second=0, microsecond=0)
    return today if today > now else today + timedelta(days=1)


def planned_time(account: MerchantAccount, run: ReconciliationRun) -> datetime:
    """Return when a planned comparison begins: its owner may have chosen another hour since it was planned."""
    return next_time(account.reconcile_at, run.created_at)


async def lock_comparisons(session: AsyncSession, account_id: str) -> None:
    """Block other comparisons of the account from writing until the transaction ends: nightly and manual may coincide.

    Rows that merely refer to the account can still be written.
    """
    account = select(MerchantAccount.id).where(MerchantAccount.id == account_id)
    await session.exec(account.with_for_update(key_share=True))


async def plan_run(session: AsyncSession, account: MerchantAccount, now: datetime) -> None:
    """Plan the next comparison of an account for the hour that its owner has chosen, unless one is planned already."""
    await lock_comparisons(session, account.id)
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


async def compare_gap(session: AsyncSession, since: datetime, now: datetime) -> int:
    """Let a worker compare now what every account has had since that moment, when notifications last arrived.

    What happened shortly before may have been notified after it. After another gap within ``GAP_INTERVAL`` it is
    compared once that is over, with the gaps that follow until then. What an overdue nightly comparison will read is
    left to it. Returns the number of accounts.
    """
    last_runs = await _last_gap_runs(session, now)
    count = 0
    for account, nightly in await _planned_runs(session):
        start = max(since - SETTLING_TIME, account.created_at, now - FIRST_RUN_REACH)
        if planned_time(account, nightly) <= now:
            start = max(start, now - SETTLING_TIME)
        if start >= now:
            continue
        count += 1
        last = last_runs.get(account.id)
        if last is not None and await _extend_run(session, last, start, now):
            continue
        due = now if last is None else max(now, min(last.created_at, now) + GAP_INTERVAL)
        session.add(
            ReconciliationRun(
                installation_id=account.installation_id,
                account_id=account.id,
                state=RunState.RUNNING,
                chosen=True,
                starts_at=start,
                ends_at=now,
                due_at=due,
                created_at=now,
            )
        )
    if count:
        claims_of(session).wake(RECONCILIATIONS)
    return count


async def _planned_runs(session: AsyncSession) -> Sequence[tuple[MerchantAccount, ReconciliationRun]]:
    """Return all accounts, each with its planned nightly comparison."""
    query = select(MerchantAccount, ReconciliationRun).where(
        ReconciliationRun.account_id == MerchantAccount.id, ReconciliationRun.state == RunState.PLANNED
    )
    return (await session.exec(query)).all()


async def _last_gap_runs(session: AsyncSession, now: datetime) -> dict[str, ReconciliationRun]:
    """Return the last comparison of a gap, by account, where it was recent or has not begun."""
    query = select(ReconciliationRun).where(
        OF_A_GAP,
        or_(col(ReconciliationRun.created_at) > now - GAP_INTERVAL, _NOT_BEGUN),
    )
    return {run.account_id: run for run in (await session.exec(query.order_by(col(ReconciliationRun.id)))).all()}


async def _extend_run(session: AsyncSession, run: ReconciliationRun, start: datetime, end: datetime) -> bool:
    """Extend the period of a comparison; return False if it has begun: its worker would not read the rest."""
    waiting = update(ReconciliationRun).where(col(ReconciliationRun.id) == run.id, _NOT_BEGUN)
    result: Any = await session.exec(waiting.values(starts_at=min(run.starts_at or start, start), ends_at=end))
    return bool(result.rowcount)


async def begin_comparison(session: AsyncSession, run_id: int, now: datetime) -> None:
    """Record that a comparison begins, unless it had begun before, or is only planned."""
    waiting = update(ReconciliationRun).where(col(ReconciliationRun.id) == run_id, _NOT_BEGUN)
    await session.exec(waiting.values(started_at=now))


async def delete_comparisons(session: AsyncSession, account_id: str) -> None:
    """Delete the comparisons and daily sums of an account that never had a payment."""
    await delete_days(session, account_id)
    await delete_summed_days(session, account_id)
    for table in (Discrepancy, ReconciliationRun):
        await session.exec(delete(table).where(col(table.account_id) == account_id))


async def covered_until(session: AsyncSession, account_id: str) -> datetime | None:
    """Return up to when the nightly comparisons have covered an account's books; None if there were none."""
    query = select(func.max(ReconciliationRun.covered_until)).where(
        ReconciliationRun.account_id == account_id, col(ReconciliationRun.chosen).is_(False)
    )
    return (await session.exec(query)).one()


async def is_being_compared(session: AsyncSession, account_id: str) -> bool:
    """Return True when a comparison of an account's books is running, and not waiting for its time."""
    query = select(ReconciliationRun.id).where(
        ReconciliationRun.account_id == account_id,
        ReconciliationRun.state == RunState.RUNNING,
        col(ReconciliationRun.started_at).is_not(None),
    )
    return (await session.exec(query.limit(1))).first() is not None


async def update_run(session: AsyncSession, run_id: int, **columns: object) -> None:
    """Set columns of a comparison."""
    await session.exec(update(ReconciliationRun).where(col(ReconciliationRun.id) == run_id).values(**columns))


async def extend_claim(session: AsyncSession, run_id: int, until: datetime) -> None:
    """Extend the claim on a comparison until that moment; one that has ended stays ended."""
    those = (col(ReconciliationRun.id) == run_id, col(ReconciliationRun.due_at).is_not(None))
    await session.exec(update(ReconciliationRun).where(*those).values(due_at=until))


async def claim_run(session: AsyncSession, run_id: int, due: datetime, until: datetime) -> bool:
    """Claim a comparison that was due at ``due``; return False when it was claimed by another worker, or has ended."""
    those = (col(ReconciliationRun.id) == run_id, col(ReconciliationRun.due_at) == due)
    result: Any = await session.exec(update(ReconciliationRun).where(*those).values(due_at=until))
    return bool(result.rowcount)


async def record_findings(
    session: AsyncSession, run: ReconciliationRun, found: Sequence[Finding], now: datetime
) -> None:
    """Store the differences that ``run`` found; one that was found before keeps its row.

    An unknown order that a person has acknowledged stays so: the books will show it every night.
    """
    await lock_comparisons(session, run.account_id)
    keys = [finding.key for finding in found]
    query = select(Discrepancy).where(Discrepancy.account_id == run.account_id, col(Discrepancy.key).in_(keys))
    known = {row.key: row for row in (await session.exec(query)).all()}
    for finding in found:
        row = known.get(finding.key)
        if row is None:
            row = Discrepancy(
                installation_id=run.installation_id,
                account_id=run.account_id,
                run_id=run.id or 0,
                seen_run_id=run.id or 0,
                payment_id=finding.payment_id,
                order_id=finding.order_id,
                gateway_id=finding.gateway_id,
                key=finding.key,
                kind=finding.kind,
                state=finding.state,
                facts=dict(finding.facts),
                found_at=now,
                changed_at=now,
            )
            known[finding.key] = row
            session.add(row)
            continue
        row.seen_run_id = run.id or 0
        looked_at = row.payment_id is None and row.state is DiscrepancyState.ENDED
        if row.state is not finding.state and not looked_at:
            row.kind, row.state, row.changed_at = finding.kind, finding.state, now


async def unsettled_discrepancies(
    session: AsyncSession, account_id: str, *, after: int, most: int
) -> Sequence[Discrepancy]:
    """Return unsettled differences about payments of an account, those after that row."""
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
    """Return the payments of these gateway orders, of any store, for reading only; a few queries for all."""
    query = WITH_ACCOUNT.where(col(Payment.order_id).in_(order_ids))
    found = await load_aggregates(session, await read_payments(session, query))
    return {aggregate.payment.order_id: aggregate for aggregate in found}


async def paid_orders_page(
    session: AsyncSession, account_id: str, after: tuple[datetime, int], end: datetime, *, most: int
) -> Sequence[tuple[datetime, int, str]]:
    """Return the creation time, row id and order id of an account's successful payments.

    One page of them: those ``after`` a moment and a row id, the last ones of the previous page.
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


async def list_runs(
    session: AsyncSession, *, account_id: str | None = None, before: int | None = None, most: int
) -> Sequence[ReconciliationRun]:
    """Return comparisons that were started, the newest first; of one account, if one is given."""
    query = select(ReconciliationRun).where(ReconciliationRun.state != RunState.PLANNED)
    if account_id is not None:
        query = query.where(ReconciliationRun.account_id == account_id)
    if before is not None:
        query = query.where(col(ReconciliationRun.id) < before)
    return (await session.exec(query.order_by(col(ReconciliationRun.id).desc()).limit(most))).all()


async def discrepancies_of_run(session: AsyncSession, run_id: int, *, most: int) -> Sequence[Discrepancy]:
    """Return the differences that a comparison was the first to find, oldest first."""
    query = select(Discrepancy).where(Discrepancy.run_id == run_id).order_by(col(Discrepancy.id)).limit(most)
    return (await session.exec(query)).all()
