"""The sums of days that are over, kept so that a page costs the same with a thousand payments and with five million.

A day is over an hour after it has ended in UTC; it is summed then, by the worker, and its sums are kept. What of it
changes later (a late notification, a repair by the nightly comparison, a fee that is named a day after) leaves a note
in the same transaction (``aggregates.save``): from then on the kept sums count for nothing, and the day is summed from
its operations until it is kept anew. So what is kept, and what is summed from the rest, are always the sums over all
operations (docs/decisions, 0026).
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy import case, delete, func, insert, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.db.columns import table_of
from app.db.day_sums import Days, Span, Total, our_totals, utc_day
from app.db.job_queue import JobQueue
from app.db.tables import (
    ChangedDay,
    DayOutcome,
    DayTotal,
    Installation,
    MerchantAccount,
    Operation,
    Payment,
    State,
    SummedDay,
)

DAYS = JobQueue(
    "day_sums",
    Installation,
    row_id=col(Installation.id),
    due=col(Installation.days_due_at),
    tenant=col(Installation.id),
    furthest=timedelta(hours=26),  # from an installation to the end of its first day
)
"""Summing a store's days that are over."""

KEPT = 62
"""Days back that are kept at least: what is shown, and as many before them."""

BETWEEN_SUMS = timedelta(minutes=15)
"""How often it is seen whether a kept day has changed."""

_SETTLING = timedelta(hours=1)
"""How long a day is left alone after its end: longer than any transaction, and than clocks differ."""

SAVED_CARD = "saved"
_CARD = "cc"  # the gateway's word for a card (gateway facts, 5: payway)
_LONGEST = 90


@dataclass(frozen=True, slots=True)
class Outcome:
    """So many payments (``count``) have ended in one way on a day.

    ``reason``: of a failure the gateway's status code, "" if it gave none. Of a success how it was paid: a wallet as
    the gateway calls it, ``SAVED_CARD``, ``card:42`` with the first two digits of its mask, and behind another colon
    what else than a card the gateway calls it; or only that name; "" if it gave none.
    """

    day: date
    account_id: str
    channel: str
    currency: str
    state: State
    reason: str
    count: int


def next_time(now: datetime) -> datetime:
    """Return when the day of ``now`` is over."""
    return datetime.combine(last_over(now) + timedelta(days=2), time(), UTC) + _SETTLING


def last_over(now: datetime) -> date:
    """Return the last day that is over."""
    return (now - _SETTLING).date() - timedelta(days=1)


async def outcomes(session: AsyncSession, account_ids: Collection[str], span: Span) -> list[Outcome]:
    """Return how payments have ended by our operations: one query, which reads those of the span by an index."""
    day: Any = utc_day(col(Operation.ended_at))
    details: Any = col(Operation.details)
    mask, payway = details["card_mask"].as_string(), func.substr(details["payway"].as_string(), 1, _LONGEST)
    another = func.coalesce(sa.literal(":") + func.nullif(payway, _CARD), "")
    paid_with = case(
        (col(Payment.wallet).is_not(None), col(Payment.wallet)),
        (col(Payment.saved_card_id).is_not(None), SAVED_CARD),
        (mask.is_not(None), sa.literal("card:") + func.substr(mask, 1, 2) + another),
        else_=func.coalesce(payway, ""),
    )
    code = func.coalesce(col(Operation.status_code), "")
    rows: Any = (
        sa.select(
            day.label("day"),
            col(Operation.account_id).label("account_id"),
            col(Payment.channel).label("channel"),
            col(Operation.currency).label("currency"),
            col(Operation.state).label("state"),
            case((col(Operation.state) == State.SUCCESS, paid_with), else_=code).label("reason"),
        )
        .join(Payment, col(Payment.id) == col(Operation.payment_id))
        .where(
            col(Operation.account_id).in_(account_ids),
            col(Operation.ended_at) >= span.begins,
            col(Operation.ended_at) <= span.ends,
        )
        .subquery()
    )
    query: Any = sa.select(rows, func.count()).group_by(*rows.c)
    return [Outcome(*each) for each in await session.exec(query)]


async def days_not_kept(session: AsyncSession, account_ids: Collection[str], days: Days) -> list[date]:
    """Return the days of which there are no sums of all these accounts that hold, oldest first. Two queries."""
    day: Any = col(SummedDay.day)
    kept: Any = sa.select(day, func.count()).where(*_of(SummedDay, account_ids, days)).group_by(day)
    whole = {on for on, accounts in await session.exec(kept) if accounts == len(account_ids)}
    changed: Any = sa.select(col(ChangedDay.day)).where(*_of(ChangedDay, account_ids, days))
    whole -= {on for (on,) in await session.exec(changed)}
    return [on for on in days if on not in whole]


async def kept_totals(
    session: AsyncSession,
    account_ids: Collection[str],
    days: Days,
    *,
    without: Collection[date],
    channel: str | None = None,
) -> list[Total]:
    """Return what has moved on those days by the kept sums: of all accounts and channels together, but of one if named.

    One query; ``without`` these days.
    """
    table: Any = DayTotal
    by: tuple[Any, ...] = (col(DayTotal.day), col(DayTotal.currency), col(DayTotal.kind))
    query: Any = (
        sa.select(*by, *[func.sum(each) for each in (table.amount, table.count, table.fee, table.fees)])
        .where(*_of(DayTotal, account_ids, days), table.day.not_in(without), *_in_channel(table, channel))
        .group_by(*by)
    )
    return [
        Total(day, "", channel or "", currency, kind, amount, int(count), fee, int(fees))
        for day, currency, kind, amount, count, fee, fees in await session.exec(query)
    ]


async def kept_outcomes(
    session: AsyncSession,
    account_ids: Collection[str],
    days: Days,
    *,
    without: Collection[date],
    channel: str | None = None,
) -> list[Outcome]:
    """Return how payments have ended on those days by the kept sums: all days together, as of the first. One query."""
    table: Any = DayOutcome
    by: tuple[Any, ...] = (col(DayOutcome.currency), col(DayOutcome.state), col(DayOutcome.reason))
    query: Any = (
        sa.select(*by, func.sum(table.count))
        .where(*_of(DayOutcome, account_ids, days), table.day.not_in(without), *_in_channel(table, channel))
        .group_by(*by)
    )
    return [
        Outcome(days.first, "", channel or "", currency, state, reason, int(count))
        for currency, state, reason, count in await session.exec(query)
    ]


def _of(table: Any, account_ids: Collection[str], days: Days) -> tuple[Any, ...]:
    return (col(table.account_id).in_(account_ids), col(table.day) >= days.first, col(table.day) <= days.last)


def _in_channel(table: Any, channel: str | None) -> tuple[Any, ...]:
    return () if channel is None else (table.channel == channel,)


async def days_to_sum(session: AsyncSession, installation_id: int, now: datetime) -> list[tuple[date, list[str]]]:
    """Return which days of which accounts of a store are to be summed now, the newest first.

    That is what of the last ``KEPT`` days is not kept, and what is kept and does not hold, however old.
    """
    theirs = select(MerchantAccount.id).where(MerchantAccount.installation_id == installation_id)
    account_ids = set((await session.exec(theirs)).all())
    days = Days(last_over(now) - timedelta(days=KEPT - 1), last_over(now))
    kept: Any = sa.select(col(SummedDay.day), col(SummedDay.account_id)).where(*_of(SummedDay, account_ids, days))
    changed: Any = sa.select(col(ChangedDay.day), col(ChangedDay.account_id)).distinct()
    changed = changed.where(col(ChangedDay.account_id).in_(account_ids), col(ChangedDay.day) <= days.last)
    missing = {(day, account_id) for day in days for account_id in account_ids}
    missing -= {tuple(each) for each in await session.exec(kept)}
    found: defaultdict[date, list[str]] = defaultdict(list)
    for day, account_id in sorted(missing | {tuple(each) for each in await session.exec(changed)}):
        found[day].append(account_id)
    return sorted(found.items(), reverse=True)


async def keep_days_before(session: AsyncSession, account_id: str, now: datetime) -> None:
    """Keep of a new account that nothing has happened before."""
    last = last_over(now)
    rows = [
        {"account_id": account_id, "day": day, "summed_at": now} for day in Days(last - timedelta(days=KEPT - 1), last)
    ]
    await session.exec(insert(table_of(SummedDay)), params=rows)


async def keep_sums(session: AsyncSession, account_ids: Sequence[str], days: Days, now: datetime) -> int:
    """Sum each of these days of these accounts, and keep that in place of what was kept; return how much has moved.

    The notes that a day has changed are read before its operations, and only these are removed: what is changed
    meanwhile leaves a note that stays.
    """
    accounts = select(MerchantAccount.id).where(col(MerchantAccount.id).in_(account_ids))
    await session.exec(accounts.order_by(MerchantAccount.id).with_for_update(key_share=True))  # nobody else sums them
    notes = (await session.exec(select(ChangedDay.id).where(*_of(ChangedDay, account_ids, days)))).all()
    totals = _together(await our_totals(session, account_ids, days))
    ended = await outcomes(session, account_ids, days)
    for table in (SummedDay, DayTotal, DayOutcome):
        await session.exec(delete(table).where(*_of(table, account_ids, days)))
    if notes:
        await session.exec(delete(ChangedDay).where(col(ChangedDay.id).in_(notes)))
    kept = [{"account_id": each, "day": day, "summed_at": now} for day in days for each in account_ids]
    for table, rows in (
        (SummedDay, kept),
        (DayTotal, [_row(DayTotal, each) for each in totals]),
        (DayOutcome, [_row(DayOutcome, each) for each in ended]),
    ):
        if rows:
            await session.exec(insert(table_of(table)), params=rows)
    return sum(each.count for each in totals) + sum(each.count for each in ended)


def _row(table: Any, sums: Total | Outcome) -> dict[str, Any]:
    return {name: getattr(sums, name) for name in table_of(table).columns.keys()}  # noqa: SIM118 - they are no dict


def _together(totals: Iterable[Total]) -> list[Total]:
    """Return one total for each day, account, channel, currency and way."""
    found: dict[tuple[Any, ...], Total] = {}
    for each in totals:
        key = (each.day, each.account_id, each.channel, each.currency, each.kind)
        known = found.get(key)
        found[key] = (
            each
            if known is None
            else replace(
                known,
                amount=known.amount + each.amount,
                count=known.count + each.count,
                fee=known.fee + each.fee,
                fees=known.fees + each.fees,
            )
        )
    return list(found.values())


async def sum_days_next(session: AsyncSession, installation_id: int, at: datetime) -> None:
    """Say when that store's days are summed next."""
    await session.exec(update(Installation).where(col(Installation.id) == installation_id).values(days_due_at=at))


async def forget_summed_days(session: AsyncSession, account_id: str) -> None:
    """Delete what is kept of an account's days."""
    for table in (SummedDay, DayTotal, DayOutcome, ChangedDay):
        gone: Any = table
        await session.exec(delete(table).where(gone.account_id == account_id))
