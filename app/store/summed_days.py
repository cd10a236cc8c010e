"""The stored sums of finished days, so that a page costs the same with a thousand payments and with five million.

A day is finished an hour after it has ended in UTC; the worker sums it then and stores the sums. A later change to it
(a late notification, a repair by the nightly comparison, a fee that is reported a day later) adds a ``ChangedDay`` in
the same transaction (``aggregates.save``): from then on the stored sums are invalid, and the day is summed from its
operations until it is stored again. So the stored sums, together with the sums of the remaining days, always cover all
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

from app.core.vocabulary import State
from app.store.columns import table_of
from app.store.day_sums import Days, Span, Total, our_totals, utc_day
from app.store.job_queue import JobQueue
from app.store.tables import (
    Booked,
    ChangedDay,
    DayOutcome,
    DayTotal,
    Installation,
    MerchantAccount,
    Operation,
    Payment,
    SummedDay,
)

DAYS = JobQueue(
    "day_sums",
    Installation,
    row_id=col(Installation.id),
    due=col(Installation.days_due_at),
    tenant=col(Installation.id),
    max_delay=timedelta(hours=26),  # from an installation to the end of its first day
)
"""Summing the finished days of a store."""

DAYS_STORED = 62
"""How many past days are stored at least: the days that are shown, and as many before them."""

SUM_INTERVAL = timedelta(minutes=15)
"""How often stored days are checked for changes."""

_SETTLING = timedelta(hours=1)
"""How long to wait after the end of a day: longer than any transaction, and than any difference between clocks."""

SAVED_CARD = "saved"
_CARD = "cc"  # the gateway's word for a card (gateway facts, 5: payway)
_MAX_PAYWAY_LENGTH = 90


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many payments (``count``) ended in one way on a day.

    ``reason``: of a failure the gateway's status code, "" if it gave none. Of a success how it was paid: the gateway's
    name of a wallet, ``SAVED_CARD``, or ``card:42`` with the first two digits of its mask, followed by another colon
    and the gateway's name of the method if that is not a card; or only that name; "" if it gave none.
    """

    day: date
    account_id: str
    channel: str
    currency: str
    state: State
    reason: str
    count: int


def next_summing_time(now: datetime) -> datetime:
    """Return when the day after the last finished one is to be summed."""
    return datetime.combine(last_finished_day(now) + timedelta(days=2), time(), UTC) + _SETTLING


def last_finished_day(now: datetime) -> date:
    """Return the last finished day."""
    return (now - _SETTLING).date() - timedelta(days=1)


async def our_outcomes(session: AsyncSession, account_ids: Collection[str], span: Span) -> list[Outcome]:
    """Return how payments ended by our operations: one query, which reads the operations of the span by an index."""
    day: Any = utc_day(col(Operation.ended_at))
    details: Any = col(Operation.details)
    mask, payway = details["card_mask"].as_string(), func.substr(details["payway"].as_string(), 1, _MAX_PAYWAY_LENGTH)
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
    return [Outcome(*row) for row in await session.exec(query)]


async def days_without_sums(session: AsyncSession, account_ids: Collection[str], days: Days) -> list[date]:
    """Return the days without valid sums for all of these accounts, oldest first. Two queries."""
    day: Any = col(SummedDay.day)
    kept: Any = sa.select(day, func.count()).where(*_in_days(SummedDay, account_ids, days)).group_by(day)
    whole = {on for on, accounts in await session.exec(kept) if accounts == len(account_ids)}
    changed: Any = sa.select(col(ChangedDay.day)).where(*_in_days(ChangedDay, account_ids, days))
    whole -= {on for (on,) in await session.exec(changed)}
    return [on for on in days if on not in whole]


async def stored_totals(
    session: AsyncSession,
    account_ids: Collection[str],
    days: Days,
    *,
    without: Collection[date],
    channel: str | None = None,
) -> list[Total]:
    """Return what moved on those days by the stored sums: for all accounts together, and all channels or a given one.

    Without trials. One query. ``without``: days to leave out.
    """
    table: Any = DayTotal
    by: tuple[Any, ...] = (col(DayTotal.day), col(DayTotal.currency), col(DayTotal.kind))
    query: Any = (
        sa.select(*by, *[func.sum(column) for column in (table.amount, table.count, table.fee, table.fees)])
        .where(*_in_days(DayTotal, account_ids, days), table.day.not_in(without))
        .where(*_in_channel(table, channel), sa.or_(table.channel != "", table.kind == Booked.PAID_OUT))
        .group_by(*by)
    )
    return [
        Total(day, "", channel or "", currency, kind, amount, int(count), fee, int(fees))
        for day, currency, kind, amount, count, fee, fees in await session.exec(query)
    ]


async def stored_outcomes(
    session: AsyncSession,
    account_ids: Collection[str],
    days: Days,
    *,
    without: Collection[date],
    channel: str | None = None,
) -> list[Outcome]:
    """Return how payments ended on those days by the stored sums: all days together, dated the first. One query.

    Without trials and payouts.
    """
    table: Any = DayOutcome
    by: tuple[Any, ...] = (col(DayOutcome.currency), col(DayOutcome.state), col(DayOutcome.reason))
    query: Any = (
        sa.select(*by, func.sum(table.count))
        .where(*_in_days(DayOutcome, account_ids, days), table.day.not_in(without))
        .where(*_in_channel(table, channel), table.channel != "")
        .group_by(*by)
    )
    return [
        Outcome(days.first, "", channel or "", currency, state, reason, int(count))
        for currency, state, reason, count in await session.exec(query)
    ]


def _in_days(table: Any, account_ids: Collection[str], days: Days) -> tuple[Any, ...]:
    return (col(table.account_id).in_(account_ids), col(table.day) >= days.first, col(table.day) <= days.last)


def _in_channel(table: Any, channel: str | None) -> tuple[Any, ...]:
    return () if channel is None else (table.channel == channel,)


async def days_to_sum(session: AsyncSession, installation_id: int, now: datetime) -> list[tuple[date, list[str]]]:
    """Return which days of which accounts of a store must be summed now, the newest first.

    These are the days among the last ``DAYS_STORED`` that are not stored, and all changed days, however old.
    """
    theirs = select(MerchantAccount.id).where(MerchantAccount.installation_id == installation_id)
    account_ids = set((await session.exec(theirs)).all())
    days = Days(last_finished_day(now) - timedelta(days=DAYS_STORED - 1), last_finished_day(now))
    kept: Any = sa.select(col(SummedDay.day), col(SummedDay.account_id)).where(*_in_days(SummedDay, account_ids, days))
    changed: Any = sa.select(col(ChangedDay.day), col(ChangedDay.account_id)).distinct()
    changed = changed.where(col(ChangedDay.account_id).in_(account_ids), col(ChangedDay.day) <= days.last)
    missing = {(day, account_id) for day in days for account_id in account_ids}
    missing -= {tuple(row) for row in await session.exec(kept)}
    found: defaultdict[date, list[str]] = defaultdict(list)
    for day, account_id in sorted(missing | {tuple(row) for row in await session.exec(changed)}):
        found[day].append(account_id)
    return sorted(found.items(), reverse=True)


async def store_empty_days(session: AsyncSession, account_id: str, now: datetime) -> None:
    """Store empty sums for the days before an account was created."""
    last = last_finished_day(now)
    rows = [
        {"account_id": account_id, "day": day, "summed_at": now}
        for day in Days(last - timedelta(days=DAYS_STORED - 1), last)
    ]
    await session.exec(insert(table_of(SummedDay)), params=rows)


async def store_sums(session: AsyncSession, account_ids: Sequence[str], days: Days, now: datetime) -> int:
    """Sum each of these days of these accounts, and store the sums; return how many movements and endings were counted.

    The ``ChangedDay`` rows are read before the operations, and only those are deleted: a concurrent change inserts one
    that stays.
    """
    accounts = select(MerchantAccount.id).where(col(MerchantAccount.id).in_(account_ids))
    await session.exec(
        accounts.order_by(MerchantAccount.id).with_for_update(key_share=True)
    )  # so that no other worker sums them
    changes = (await session.exec(select(ChangedDay.id).where(*_in_days(ChangedDay, account_ids, days)))).all()
    totals = _merge_totals(await our_totals(session, account_ids, days))
    ended = await our_outcomes(session, account_ids, days)
    for table in (SummedDay, DayTotal, DayOutcome):
        await session.exec(delete(table).where(*_in_days(table, account_ids, days)))
    if changes:
        await session.exec(delete(ChangedDay).where(col(ChangedDay.id).in_(changes)))
    summed = [{"account_id": account_id, "day": day, "summed_at": now} for day in days for account_id in account_ids]
    for table, rows in (
        (SummedDay, summed),
        (DayTotal, [_row(DayTotal, total) for total in totals]),
        (DayOutcome, [_row(DayOutcome, outcome) for outcome in ended]),
    ):
        if rows:
            await session.exec(insert(table_of(table)), params=rows)
    return sum(total.count for total in totals) + sum(outcome.count for outcome in ended)


def _row(table: Any, sums: Total | Outcome) -> dict[str, Any]:
    return {name: getattr(sums, name) for name in table_of(table).columns.keys()}  # noqa: SIM118 - they are no dict


def _merge_totals(totals: Iterable[Total]) -> list[Total]:
    """Return one total for each day, account, channel, currency and kind."""
    found: dict[tuple[Any, ...], Total] = {}
    for total in totals:
        key = (total.day, total.account_id, total.channel, total.currency, total.kind)
        known = found.get(key)
        found[key] = (
            total
            if known is None
            else replace(
                known,
                amount=known.amount + total.amount,
                count=known.count + total.count,
                fee=known.fee + total.fee,
                fees=known.fees + total.fees,
            )
        )
    return list(found.values())


async def schedule_summing(session: AsyncSession, installation_id: int, at: datetime) -> None:
    """Set when that store's days are summed next."""
    await session.exec(update(Installation).where(col(Installation.id) == installation_id).values(days_due_at=at))


async def delete_summed_days(session: AsyncSession, account_id: str) -> None:
    """Delete the stored sums of an account's days."""
    for table in (SummedDay, DayTotal, DayOutcome, ChangedDay):
        gone: Any = table
        await session.exec(delete(table).where(gone.account_id == account_id))
