"""Tracks whether a Saleor is reachable and accepts the app's token; and retries what waited because it did not.

Reports to a Saleor that cannot be reached, or does not let the app in, are retried at growing intervals. At the next
sign of life, whatever waits for it is sent at once: at most once per ``MIN_REVIVAL_INTERVAL``, so that a Saleor whose
webhooks arrive while its API is down does not receive more requests because of them.

What a request has shown holds for the token that it was made with (``token_sealed``, as it is stored). While it is
under way, the app may be installed again, or the Saleor moved to another address: then it says nothing of the new token
and address, and nothing is recorded.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import func, or_, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core.ids import PaymentRowId
from app.core.vocabulary import EventState, Flow, PaymentStatus
from app.store.job_queue import JobQueue, locked_rows
from app.store.tables import Installation, Payment, SaleorEvent

CHECK_INTERVAL = timedelta(minutes=15)
MIN_REVIVAL_INTERVAL = timedelta(seconds=30)

CHECKS = JobQueue(
    "presence_checks",
    Installation,
    row_id=col(Installation.id),
    due=col(Installation.next_check_at),
    tenant=col(Installation.id),
)
"""Periodic checks whether each Saleor still accepts the app's token."""


def row_id(row: Installation) -> int:
    """Return the id of an installation that is known to be stored."""
    assert row.id is not None  # noqa: S101 - stored
    return row.id


async def mark_away(
    session: AsyncSession, installation_id: int, now: datetime, *, token_sealed: str | None, unauthorised: bool
) -> None:
    """Record that a Saleor did not accept a report. ``unauthorised``: check its token at once."""
    missed = func.coalesce(col(Installation.away_since), now)
    values = {"away_since": missed} | ({"next_check_at": now} if unauthorised else {})
    current = (col(Installation.id) == installation_id, col(Installation.token_sealed) == token_sealed)
    await session.exec(update(Installation).where(*current).values(values))


async def revive(session: AsyncSession, installation_id: int, now: datetime) -> None:
    """Record that a Saleor is reachable and has the app; if it was not before, retry now what waits for it."""
    row = col(Installation.id) == installation_id
    missed = or_(col(Installation.away_since).is_not(None), col(Installation.unauthorised_since).is_not(None))
    revived_at = col(Installation.revived_at)
    # Far in the future: recorded before the clock was set back.
    rested = or_(
        revived_at.is_(None), revived_at <= now - MIN_REVIVAL_INTERVAL, revived_at > now + MIN_REVIVAL_INTERVAL
    )
    values = {"away_since": None, "unauthorised_since": None, "revived_at": now}
    revived = update(Installation).where(row, missed, rested).values(values).returning(col(Installation.id))
    if (await session.exec(revived)).first() is None:
        return
    paused = update(Installation).where(row, col(Installation.problems_due_at) > now).values(problems_due_at=now)
    await session.exec(paused)
    await retry_events_now(session, installation_id, now)


async def save_version(session: AsyncSession, installation_id: int, saleor_version: str, now: datetime) -> None:
    """Store the release of a Saleor if it has changed, and compare its problems: the new one may show them."""
    row = (col(Installation.id) == installation_id, col(Installation.schema_version).is_distinct_from(saleor_version))
    values = {"schema_version": saleor_version, "problems_due_at": now, "updated_at": now}
    await session.exec(update(Installation).where(*row).values(values))


async def retry_events_now(session: AsyncSession, installation_id: int, now: datetime) -> None:
    """Make a store's failed events due for a retry now. Events that are being processed are left alone.

    So are those that have not been tried yet; one that waits because Saleor could not be asked first has an error.
    """
    waiting = select(SaleorEvent.id).where(
        SaleorEvent.installation_id == installation_id,
        SaleorEvent.state == EventState.WAITING,
        or_(col(SaleorEvent.attempts) > 0, col(SaleorEvent.last_error).is_not(None)),
        col(SaleorEvent.next_attempt_at) > now,
    )
    retried = update(SaleorEvent).where(col(SaleorEvent.id).in_(locked_rows(waiting))).values(next_attempt_at=now)
    await session.exec(retried)


async def record_token_check(
    session: AsyncSession, installation_id: int, now: datetime, *, token_sealed: str | None, authorised: bool | None
) -> None:
    """Record the result of checking whether a Saleor accepts the token; ``authorised`` None: unknown.

    A Saleor that still accepts it may yet reject reports because the app lacks a permission: that changes nothing here.
    """
    row = await session.get_one(Installation, installation_id, with_for_update=True)
    if row.token_sealed != token_sealed:
        return  # whoever stored the new one has planned its check
    row.next_check_at = now + CHECK_INTERVAL
    if authorised is False and row.unauthorised_since is None:
        row.unauthorised_since = now
    if authorised and row.unauthorised_since is not None:
        await revive(session, installation_id, now)


async def payment_ids_to_be_paid(session: AsyncSession, installation_id: int) -> Sequence[PaymentRowId]:
    """Return the row ids of payments that can still be paid, and that are reported to that Saleor. Newest first."""
    query = (
        select(Payment.id)
        .where(
            Payment.installation_id == installation_id,
            col(Payment.status) == PaymentStatus.PENDING,
            ~col(Payment.trial),
            col(Payment.flow) != Flow.PAYOUT,
        )
        .order_by(col(Payment.created_at).desc(), col(Payment.id).desc())
    )
    return [PaymentRowId(payment_id) for payment_id in (await session.exec(query)).all() if payment_id is not None]
