"""Finds the channels in which shoppers are turned away and none gets through.

A channel is one when ``RECENT`` requests were refused within ``WINDOW``, and no payment of the channel got through
since the first of these. It is over as soon as one gets through, or after ``WINDOW`` without so many. What staff have
acknowledged, for a code and a channel, stays quiet until a payment gets through there, or its counts are deleted.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel.ext.asyncio.session import AsyncSession

from app.i18n.messages import Joined, LazyMessage
from app.rules.refusal import GATEWAY_REFUSALS, RefusalCode
from app.store.attention import refused_requests
from app.store.tables import TurnedAway
from app.store.turned_away import ALL_CHANNELS, RECENT, last_got_through, stores_that_refuse

WINDOW = timedelta(hours=24)
_MAX_STORES = 100  # whose channels are counted: more than that is one cause for all

# Nobody is turned away who has paid, is paying, or only has to type a card again.
_NOT_TURNED_AWAY = frozenset(
    {
        RefusalCode.ALREADY_PAID,
        RefusalCode.PAYMENT_IN_PROGRESS,
        RefusalCode.INVALID_CARD,
        RefusalCode.SAVED_CARD_UNUSABLE,
        RefusalCode.WALLET_UNAVAILABLE,
    }
)


@dataclass(frozen=True, slots=True)
class ClosedChannel:
    """A channel in which nobody gets through: how many were refused, since when, and why."""

    channel: str
    codes: tuple[str, ...]
    count: int
    since: datetime
    detail: LazyMessage


async def find_closed_channels(session: AsyncSession, installation_id: int, now: datetime) -> list[ClosedChannel]:
    """Return the channels of a store in which shoppers are turned away and none gets through."""
    refused = (await session.exec(refused_requests(installation_id, since=now - WINDOW))).all()
    return await closed_channels(session, installation_id, refused, now)


async def closed_channels(
    session: AsyncSession, installation_id: int, refused: Sequence[TurnedAway], now: datetime
) -> list[ClosedChannel]:
    """Return the same of the rows of the last ``WINDOW`` (``refused_requests``); a query for each channel in them."""
    by_channel: defaultdict[str, list[TurnedAway]] = defaultdict(list)
    for row in refused:
        if row.code not in _NOT_TURNED_AWAY:
            by_channel[row.channel].append(row)
    found = []
    for channel, rows in by_channel.items():
        if len(_moments(rows, now - WINDOW)) < RECENT:
            continue
        earliest = min(row.first_at for row in rows)
        through = await last_got_through(
            session, installation_id, channel, since=earliest, until=now, refused=GATEWAY_REFUSALS
        )
        closed = _closed_channel(channel, _not_acknowledged(rows, through), max(through or earliest, now - WINDOW))
        if closed is not None:
            found.append(closed)
    return found


async def count_closed_channels(session: AsyncSession, now: datetime) -> int:
    """Return in how many channels of all stores shoppers are turned away and none gets through.

    Channels of at most 100 stores are counted, with one query for all stores and two for each of these.
    """
    stores = await stores_that_refuse(
        session, since=now - WINDOW, refusals=RECENT, ignored=_NOT_TURNED_AWAY, most=_MAX_STORES
    )
    return sum([len(await find_closed_channels(session, installation_id, now)) for installation_id in stores])


def _not_acknowledged(rows: Sequence[TurnedAway], through: datetime | None) -> list[TurnedAway]:
    """Return the rows whose reason staff do not know yet, or have known before a payment got through."""
    known = {
        row.code
        for row in rows
        if row.acknowledged_at is not None and (through is None or through <= row.acknowledged_at)
    }
    return [row for row in rows if row.code not in known]


def _closed_channel(channel: str, rows: Sequence[TurnedAway], after: datetime) -> ClosedChannel | None:
    current = [row for row in rows if _moments([row], after)]
    moments = _moments(current, after)
    if len(moments) < RECENT:
        return None
    # A row that began earlier also counts refusals before that: only those that it kept are known to be later.
    counts: defaultdict[str, int] = defaultdict(int)
    for row in current:
        counts[row.code] += row.count if row.first_at >= after else len(_moments([row], after))
    since = min([*moments, *(row.first_at for row in current if row.first_at >= after)])
    return ClosedChannel(channel, tuple(counts), sum(counts.values()), since, _detail(channel, counts, current))


def _detail(channel: str, counts: Mapping[str, int], rows: Sequence[TurnedAway]) -> LazyMessage:
    words = {row.code: row.detail for row in rows}
    reasons = [
        LazyMessage("%(code)s (%(count)s) %(words)s", code=code, count=count, words=words[code])
        for code, count in sorted(counts.items(), key=lambda item: -item[1])
    ]
    if channel == ALL_CHANNELS:
        return LazyMessage("All channels: %(reasons)s", reasons=Joined(tuple(reasons)))
    return LazyMessage("Channel %(channel)s: %(reasons)s", channel=channel, reasons=Joined(tuple(reasons)))


def _moments(rows: Sequence[TurnedAway], after: datetime) -> list[datetime]:
    moments = (datetime.fromisoformat(moment) for row in rows for moment in row.recent)
    return [moment for moment in moments if moment >= after]
