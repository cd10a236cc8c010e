"""Which problems Saleor shows of the app in which store, as far as we have told it; and when that is compared next."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import delete, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.db.job_queue import JobQueue
from app.db.tables import Installation, ReportedProblem

PROBLEMS = JobQueue(
    "reported_problems",
    Installation,
    row_id=col(Installation.id),
    due=col(Installation.problems_due_at),
    tenant=col(Installation.id),
)


async def told_problems(session: AsyncSession, installation_id: int, app_id: str) -> set[str]:
    """Return the keys of what Saleor was told of the app with that id. It has forgotten what another one told."""
    query = select(ReportedProblem.key).where(
        ReportedProblem.installation_id == installation_id, ReportedProblem.app_id == app_id
    )
    return set((await session.exec(query)).all())


async def keep_told(session: AsyncSession, installation_id: int, app_id: str, key: str, now: datetime) -> None:
    """Remember that Saleor shows a problem."""
    await session.merge(ReportedProblem(installation_id=installation_id, key=key, app_id=app_id, told_at=now))


async def forget_told(session: AsyncSession, installation_id: int, keys: Collection[str]) -> None:
    """Remember that Saleor shows these problems no longer."""
    theirs = (col(ReportedProblem.installation_id) == installation_id, col(ReportedProblem.key).in_(keys))
    await session.exec(delete(ReportedProblem).where(*theirs))


async def compare_problems_next(session: AsyncSession, installation_id: int, at: datetime | None) -> None:
    """Say when that store's problems are compared next; None: not before the app is installed there anew."""
    await session.exec(update(Installation).where(col(Installation.id) == installation_id).values(problems_due_at=at))
