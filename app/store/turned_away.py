"""Counts the shoppers who are turned away, by store, channel, code and day, and finds out who got through since.

Nothing is written for a payment that gets through: it is found among the payments of its channel, by an index.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from sqlalchemy import and_, delete, func, or_, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core.vocabulary import Kind, State
from app.store.tables import Operation, Payment, TurnedAway

RECENT = 5
"""How many of the newest moments a row keeps."""

ALL_CHANNELS = ""
"""In the place of a channel's slug: what is refused whatever its channel is."""

MAX_ROWS_A_DAY = 200
"""Of one store: channels come from its Saleor, which could name any number of them."""

KEPT_FOR = timedelta(days=90)
_LONGEST_DETAIL = 500
_PAYMENTS_EXAMINED = 200  # the newest of a channel; if none of these got through, nobody does


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal to be counted; ``detail`` says what is wrong, without anything of the shopper."""

    installation_id: int
    channel: str
    code: str
    detail: str
    at: datetime


async def count_refusals(session: AsyncSession, refusals: Sequence[Refusal]) -> Sequence[None]:
    """Count refusals, in one transaction. In the same order everywhere, so that no two processes deadlock."""
    found: defaultdict[tuple[int, str, str, date], list[Refusal]] = defaultdict(list)
    for refusal in refusals:
        key = (refusal.installation_id, refusal.channel, refusal.code, refusal.at.date())
        found[key].append(refusal)
    for key in sorted(found):
        await _count(session, key, found[key])
    return [None] * len(refusals)


async def _count(session: AsyncSession, key: tuple[int, str, str, date], refusals: Sequence[Refusal]) -> None:
    row = await session.get(TurnedAway, key, with_for_update=True)
    if row is None:
        if not await _has_room(session, key[0], key[3]):
            return
        await session.exec(_insertion(session, key, refusals[0].at))
        row = await session.get_one(TurnedAway, key, with_for_update=True)
    moments = sorted(refusal.at for refusal in refusals)
    row.count += len(refusals)
    row.first_at, row.last_at = min(row.first_at, moments[0]), max(row.last_at, moments[-1])
    row.recent = sorted([*row.recent, *(moment.isoformat(timespec="microseconds") for moment in moments)])[-RECENT:]
    row.detail = refusals[-1].detail[:_LONGEST_DETAIL]


async def _has_room(session: AsyncSession, installation_id: int, day: date) -> bool:
    query = select(func.count()).select_from(TurnedAway)
    query = query.where(TurnedAway.installation_id == installation_id, TurnedAway.day == day)
    return (await session.exec(query)).one() < MAX_ROWS_A_DAY


def _insertion(session: AsyncSession, key: tuple[int, str, str, date], at: datetime) -> Any:
    installation_id, channel, code, day = key
    insert = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    values = TurnedAway(installation_id=installation_id, channel=channel, code=code, day=day, first_at=at, last_at=at)
    return insert(TurnedAway).values(values.model_dump()).on_conflict_do_nothing()


async def stores_that_refuse(
    session: AsyncSession, *, since: datetime, refusals: int, ignored: Collection[str], most: int
) -> Sequence[int]:
    """Return the installations with a channel in which at least so many were refused, for reasons not ``ignored``.

    Counts of whole days, so this is only a selection: fewer may have been refused ``since`` then.
    """
    query = (
        select(TurnedAway.installation_id)
        .where(col(TurnedAway.last_at) >= since, col(TurnedAway.code).not_in(ignored))
        .group_by(col(TurnedAway.installation_id), col(TurnedAway.channel))
        .having(func.sum(TurnedAway.count) >= refusals)
        .order_by(col(TurnedAway.installation_id))
        .distinct()
        .limit(most)
    )
    return (await session.exec(query)).all()


async def last_got_through(
    session: AsyncSession,
    installation_id: int,
    channel: str,
    *,
    since: datetime,
    until: datetime,
    refused: Collection[str],
) -> datetime | None:
    """Return when the latest payment of a channel was begun that got through; None: none did between the two.

    ``channel``: a slug, or ALL_CHANNELS for a payment of any. ``until`` is now: what seems to have been begun later
    was begun before a clock was set back.
    A payment got through when its page was opened, or its card reached the bank, whatever became of it. ``refused``
    are the codes of those that did not.
    """
    of_channel = () if channel == ALL_CHANNELS else (Payment.channel == channel,)
    newest = (
        select(col(Payment.id), col(Payment.created_at))
        .where(Payment.installation_id == installation_id, *of_channel)
        .where(col(Payment.created_at) > since, col(Payment.created_at) <= until, col(Payment.trial).is_(False))
        .order_by(col(Payment.created_at).desc(), col(Payment.id).desc())
        .limit(_PAYMENTS_EXAMINED)
        .subquery()
    )
    by_itself = or_(col(Operation.status_code).is_(None), col(Operation.status_code).not_in(refused))
    got_through = or_(
        col(Operation.state).in_((State.INIT, State.PENDING, State.SUCCESS)),
        and_(col(Operation.state) == State.FAILURE, by_itself),
    )
    query: Any = (
        select(newest.c.created_at)
        .join(Operation, and_(col(Operation.payment_id) == newest.c.id, col(Operation.kind) == Kind.CREATE))
        .where(got_through)
        .order_by(newest.c.created_at.desc())
        .limit(1)
    )
    begun: datetime | None = (await session.exec(query)).first()
    return begun


async def acknowledge_reasons(
    session: AsyncSession, installation_id: int, channel: str, codes: Collection[str], *, since: datetime, now: datetime
) -> None:
    """Mark what was refused in a channel since then, for these reasons, as known to staff."""
    theirs = (col(TurnedAway.installation_id) == installation_id, col(TurnedAway.channel) == channel)
    recent = (col(TurnedAway.code).in_(codes), col(TurnedAway.last_at) >= since)
    await session.exec(update(TurnedAway).where(*theirs, *recent).values(acknowledged_at=now))


async def erase_turned_away(session: AsyncSession, installation_id: int, now: datetime) -> None:
    """Delete the counts of a store that are older than ``KEPT_FOR``."""
    theirs = (col(TurnedAway.installation_id) == installation_id, col(TurnedAway.day) < (now - KEPT_FOR).date())
    await session.exec(delete(TurnedAway).where(*theirs))
