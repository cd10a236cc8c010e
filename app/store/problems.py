"""Problems in the database: found by kind, and read with their payments; and those reported to Saleor.

Each query of a payment's problems reads an index of open problems only (``tables.Problem``). So a store with a million
payments is queried as quickly as one with a thousand; only the number of open problems matters.

Stored beside them: which problems of the app were reported to the Saleor of each store, and when they are compared
next.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, exists, tuple_, update
from sqlalchemy.orm import aliased
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core import payment as core
from app.core.alerts import AlertKind
from app.core.ids import PaymentRowId
from app.core.vocabulary import Kind
from app.store.aggregates import ALONE, load_problems
from app.store.job_queue import JobQueue
from app.store.payment_rows import PAYMENTS
from app.store.tables import Installation, MerchantAccount, Operation, Payment, Problem, ReportedProblem

PROBLEMS = JobQueue(
    "reported_problems",
    Installation,
    row_id=col(Installation.id),
    due=col(Installation.problems_due_at),
    tenant=col(Installation.id),
)
"""Stores whose reported problems are due to be compared with the current ones."""

OPEN = (col(Problem.acknowledged_at).is_(None), col(Problem.ended_at).is_(None))
"""The conditions of an open problem."""

_earlier = aliased(Problem)
# A payment with several open problems of one kind is listed by the first of them.
_FIRST_OF_ITS_KIND = ~exists().where(
    col(_earlier.payment_id) == col(Problem.payment_id),
    col(_earlier.kind) == col(Problem.kind),
    col(_earlier.id) < col(Problem.id),
    col(_earlier.acknowledged_at).is_(None),
    col(_earlier.ended_at).is_(None),
)


async def payment_ids_with_problem(
    session: AsyncSession, installation_id: int, account_id: str, kinds: Collection[AlertKind]
) -> Sequence[PaymentRowId]:
    """Return the row ids of an account's payments that have an open problem of one of these kinds."""
    theirs = (Problem.installation_id == installation_id, Problem.account_id == account_id)
    query = select(Problem.payment_id).where(*theirs, col(Problem.kind).in_(kinds), *OPEN).distinct()
    return [PaymentRowId(payment_id) for payment_id in (await session.exec(query)).all() if payment_id is not None]


async def mismatches_of_payments(
    session: AsyncSession, account: MerchantAccount, *, most: int
) -> Sequence[Mapping[str, Any]]:
    """Return the newest open mismatches of an account's payments themselves, and not of what followed, as stored."""
    query = (
        select(Problem.message)
        .join(Operation, col(Operation.id) == Problem.operation_id)
        .where(
            Problem.installation_id == account.installation_id,
            Problem.account_id == account.id,
            Problem.kind == AlertKind.MISMATCH,
            Operation.kind == Kind.CREATE,
            *OPEN,
        )
        .order_by(col(Problem.raised_at).desc())
        .limit(most)
    )
    return (await session.exec(query)).all()


async def payments_with_problem(
    session: AsyncSession,
    installation_id: int,
    kind: AlertKind,
    *,
    most: int,
    after: tuple[datetime, int] | None = None,
    account_id: str | None = None,
) -> Sequence[tuple[core.Payment, datetime]]:
    """Return payments that have an open problem of that kind, and since when; the newest problems first.

    ``after``: only those that follow the payment with that moment and row id. ``account_id``: only those of an account.
    """
    order = (col(Problem.raised_at), col(Problem.payment_id))
    query: Any = (
        ALONE.add_columns(col(Problem.raised_at))
        .order_by(None)
        .join(Problem, col(Problem.payment_id) == col(Payment.id))
        .where(Problem.installation_id == installation_id, Problem.kind == kind, *OPEN, _FIRST_OF_ITS_KIND)
    )
    if after is not None:
        query = query.where(tuple_(*order) < after)
    if account_id is not None:
        query = query.where(Problem.account_id == account_id)
    rows = (await session.exec(query.order_by(*(column.desc() for column in order)).limit(most))).all()
    payments = [PAYMENTS.read(row[:-1]) for row in rows]
    await load_problems(session, payments)
    return [(payment, row[-1]) for payment, row in zip(payments, rows, strict=True)]


async def reported_keys(session: AsyncSession, installation_id: int, app_id: str) -> set[str]:
    """Return the keys of the problems reported for the app with that id. Saleor has dropped those of any other app."""
    query = select(ReportedProblem.key).where(
        ReportedProblem.installation_id == installation_id, ReportedProblem.app_id == app_id
    )
    return set((await session.exec(query)).all())


async def mark_reported(session: AsyncSession, installation_id: int, app_id: str, key: str, now: datetime) -> None:
    """Record that Saleor shows a problem."""
    await session.merge(ReportedProblem(installation_id=installation_id, key=key, app_id=app_id, told_at=now))


async def clear_reported(session: AsyncSession, installation_id: int, keys: Collection[str]) -> None:
    """Record that Saleor no longer shows these problems."""
    theirs = (col(ReportedProblem.installation_id) == installation_id, col(ReportedProblem.key).in_(keys))
    await session.exec(delete(ReportedProblem).where(*theirs))


async def schedule_problem_comparison(session: AsyncSession, installation_id: int, at: datetime | None) -> None:
    """Set when that store's problems are compared next; None: not before the app is installed there again."""
    await session.exec(update(Installation).where(col(Installation.id) == installation_id).values(problems_due_at=at))
