"""Whether a Saleor is there and takes the app's token; and what waits because it did not.

A Saleor that cannot be reached, or does not let the app in, is told later and later. When it is heard of again, what
waits for it is told at once: once in ``BETWEEN_REVIVALS`` at most, so that one whose webhooks come while its API is
down is not asked more often by it.
"""

from datetime import datetime, timedelta

from sqlalchemy import func, or_, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.db.job_queue import JobQueue
from app.db.tables import EventState, Installation, SaleorEvent

BETWEEN_CHECKS = timedelta(minutes=15)
BETWEEN_REVIVALS = timedelta(seconds=30)

CHECKS = JobQueue(
    "presence_checks",
    Installation,
    row_id=col(Installation.id),
    due=col(Installation.next_check_at),
    tenant=col(Installation.id),
)
"""Asking each Saleor from time to time whether it still takes the app's token."""


def row_id(row: Installation) -> int:
    """Return the row id of an installation that is stored for certain."""
    assert row.id is not None  # noqa: S101 - stored
    return row.id


async def away(session: AsyncSession, installation_id: int, now: datetime, *, unauthorised: bool) -> None:
    """Note that a Saleor did not take what it was told. ``unauthorised``: it is asked why, at once."""
    missed = func.coalesce(col(Installation.away_since), now)
    values = {"away_since": missed} | ({"next_check_at": now} if unauthorised else {})
    theirs = (col(Installation.id) == installation_id, col(Installation.token_sealed).is_not(None))
    await session.exec(update(Installation).where(*theirs).values(values))


async def revive(session: AsyncSession, installation_id: int, now: datetime) -> None:
    """Note that a Saleor is there, and the app in it; if that is news, let what waits be told now."""
    row = col(Installation.id) == installation_id
    missed = or_(col(Installation.away_since).is_not(None), col(Installation.unauthorised_since).is_not(None))
    revived_at = col(Installation.revived_at)
    # Far in the future: before the clock was put back.
    rested = or_(revived_at.is_(None), revived_at <= now - BETWEEN_REVIVALS, revived_at > now + BETWEEN_REVIVALS)
    values = {"away_since": None, "unauthorised_since": None, "revived_at": now}
    revived = update(Installation).where(row, missed, rested).values(values).returning(col(Installation.id))
    if (await session.exec(revived)).first() is None:
        return
    paused = update(Installation).where(row, col(Installation.problems_due_at) > now).values(problems_due_at=now)
    await session.exec(paused)
    await tell_now(session, installation_id, now)


async def keep_version(session: AsyncSession, installation_id: int, saleor_version: str, now: datetime) -> None:
    """Keep which release a Saleor is now, if that is news, and compare its problems: it may be one that shows them."""
    row = (col(Installation.id) == installation_id, col(Installation.schema_version).is_distinct_from(saleor_version))
    values = {"schema_version": saleor_version, "problems_due_at": now, "updated_at": now}
    await session.exec(update(Installation).where(*row).values(values))


async def tell_now(session: AsyncSession, installation_id: int, now: datetime) -> None:
    """Let a store's events that were tried in vain be tried now. Those that are being worked on are left alone."""
    waiting = (
        select(SaleorEvent.id)
        .where(
            SaleorEvent.installation_id == installation_id,
            SaleorEvent.state == EventState.WAITING,
            col(SaleorEvent.attempts) > 0,
            col(SaleorEvent.next_attempt_at) > now,
        )
        .with_for_update(skip_locked=True)
    )
    await session.exec(update(SaleorEvent).where(col(SaleorEvent.id).in_(waiting)).values(next_attempt_at=now))


async def note_check(session: AsyncSession, installation_id: int, now: datetime, *, authorised: bool | None) -> None:
    """Note what came of asking a Saleor whether it takes the token; None: it did not say.

    One that takes it as before may still refuse what it is told, because the app lacks a permission: that is no news.
    """
    row = await session.get_one(Installation, installation_id, with_for_update=True)
    row.next_check_at = now + BETWEEN_CHECKS
    if authorised is False and row.unauthorised_since is None:
        row.unauthorised_since = now
    if authorised and row.unauthorised_since is not None:
        await revive(session, installation_id, now)
