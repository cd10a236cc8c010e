"""Daily totals: summed over our operations, and as the gateway's books had them when they were compared.

Days are UTC days. The database computes the sums, of whole numbers, so they are exact; nothing is summed across
currencies.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, TypeAlias

import sqlalchemy as sa
from sqlalchemy import Date, and_, delete, exists, func, insert, or_, text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import aliased
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core.vocabulary import GIVES_A_PAYOUT_BACK, Flow, Kind
from app.store.columns import table_of
from app.store.tables import (
    Booked,
    ComparedDay,
    Discrepancy,
    GatewayShare,
    GatewayTotal,
    MerchantAccount,
    Operation,
    Payment,
    ReconciliationRun,
    SplitShare,
)
from app.store.tables.reconciliation import UNSETTLED

_BOOKED = {
    Kind.CREATE: Booked.CHARGED,
    Kind.CAPTURE: Booked.CHARGED,
    Kind.REFUND: Booked.REFUNDED,
    Kind.DISPUTE: Booked.CHARGED_BACK,
    Kind.RECURRING: Booked.CHARGED,
}
_ROWS_AT_ONCE = 1000
ZERO = Decimal("0.00")
UNKNOWN_CHANNEL = "*"
"""Stands for the channel of orders that belong to no payment here; no Saleor channel has this name."""


class utc_day(GenericFunction[date]):  # noqa: N801 - in statements it is a function
    """The UTC day of a moment."""

    type = Date()
    inherit_cache = True


@compiles(utc_day, "sqlite")
def _on_sqlite(element: utc_day, compiler: SQLCompiler, **how: Any) -> str:
    return f"date({compiler.process(element.clauses, **how)})"  # moments are stored in UTC


@compiles(utc_day, "postgresql")
def _on_postgresql(element: utc_day, compiler: SQLCompiler, **how: Any) -> str:
    return f"(({compiler.process(element.clauses, **how)}) AT TIME ZONE 'UTC')::date"


@dataclass(frozen=True, slots=True)
class Total:
    """Money moved in one way on a day: ``count`` times, ``amount`` in all; fees of ``fee``, known for ``fees`` of them.

    Of payouts, ``amount`` is what was paid out less what has come back of it, and ``count`` counts both.
    ``channel`` is "" for a trial or a payout, and ``UNKNOWN_CHANNEL`` for orders that belong to no payment here;
    ``receiver`` is a sub-merchant, None for the total of the day.
    """

    day: date
    account_id: str
    channel: str
    currency: str
    kind: Booked
    amount: Decimal
    count: int
    fee: Decimal
    fees: int
    receiver: str | None = None

    @property
    def is_trial(self) -> bool:
        """Whether staff moved it to try an account: no shopper bought anything."""
        return not self.channel and self.kind is not Booked.PAID_OUT


@dataclass(frozen=True, slots=True)
class Days:
    """From the ``first`` day to the ``last``, inclusive; UTC days."""

    first: date
    last: date

    @property
    def begins(self) -> datetime:
        """The first moment of the first day."""
        return datetime.combine(self.first, time(), UTC)

    @property
    def ends(self) -> datetime:
        """The last moment of the last day."""
        return datetime.combine(self.last, time.max, UTC)

    def __len__(self) -> int:
        return (self.last - self.first).days + 1

    def __iter__(self) -> Iterator[date]:
        return (self.first + timedelta(days=number) for number in range(len(self)))


@dataclass(frozen=True, slots=True)
class Moments:
    """From one moment to another, both inclusive."""

    begins: datetime
    ends: datetime


Span: TypeAlias = Days | Moments


async def our_totals(session: AsyncSession, account_ids: Collection[str], days: Span) -> list[Total]:
    """Return what moved by our books: one total for each day, account, channel, currency and kind. One query.

    A fee in another currency than its payment's has a total of its own, with amount zero.
    """
    day: Any = utc_day(col(Operation.booked_at))
    columns: tuple[Any, ...] = (
        *(day, col(Operation.account_id), col(Payment.channel), col(Operation.currency)),
        *(col(Operation.kind), col(Payment.flow), col(Operation.fee_currency)),
    )
    query: Any = (
        sa.select(
            *columns,
            func.sum(col(Operation.amount)),
            func.count(),
            func.sum(col(Operation.fee)),
            func.count(col(Operation.fee)),
        )
        .join(Payment, col(Payment.id) == col(Operation.payment_id))
        .where(*_booked_in(account_ids, days))
        .group_by(*columns)
    )
    found: list[Total] = []
    for on, account_id, channel, currency, kind, flow, fee_currency, *sums in await session.exec(query):
        amount, count, fee, fees = sums
        how = Booked.PAID_OUT if flow is Flow.PAYOUT else _BOOKED[kind]
        if flow is Flow.PAYOUT and kind in GIVES_A_PAYOUT_BACK:
            amount = -amount
        total = Total(on, account_id, channel, currency, how, amount, count, fee or ZERO, fees)
        if fee_currency is not None and fee_currency != currency:
            found.append(replace(total, currency=fee_currency, amount=ZERO, count=0, fees=0))
            total = replace(total, fee=ZERO)
        found.append(total)
    return found


async def our_shares(session: AsyncSession, account_ids: Collection[str], days: Days) -> list[Total]:
    """Return how our totals divide among sub-merchants; two queries. The fee of a share is not reported to us.

    For operations that others made on a split payment (a refund in the merchant portal) no record names the
    sub-merchant: their receiver is "". So it is for a payment of which the payer has changed the amount: its shares are
    those of the requested one.
    """
    day: Any = utc_day(col(Operation.booked_at))
    columns: tuple[Any, ...] = (
        *(day, col(Operation.account_id), col(SplitShare.sub_merchant_id), col(Operation.currency)),
        col(Operation.kind),
    )
    is_payment = col(Operation.kind) == Kind.CREATE
    was_changed = and_(is_payment, col(Operation.amount) != col(Payment.amount))
    query: Any = (
        sa.select(*columns, func.sum(col(SplitShare.amount)), func.count())
        .join(SplitShare, col(SplitShare.operation_id) == col(Operation.id))
        .join(Payment, col(Payment.id) == col(Operation.payment_id))
        .where(*_booked_in(account_ids, days), ~was_changed)
        .group_by(*columns)
    )
    found = [
        Total(on, account_id, "", currency, _BOOKED[kind], amount, count, ZERO, 0, receiver)
        for on, account_id, receiver, currency, kind, amount, count in await session.exec(query)
    ]
    columns = (day, col(Operation.account_id), col(Operation.currency), col(Operation.kind))
    create = aliased(Operation)
    is_split = exists().where(
        col(create.payment_id) == col(Operation.payment_id), col(SplitShare.operation_id) == col(create.id)
    )
    is_divided = exists().where(col(SplitShare.operation_id) == col(Operation.id))
    undivided: Any = (
        sa.select(*columns, func.sum(col(Operation.amount)), func.count())
        .join(Payment, col(Payment.id) == col(Operation.payment_id))
        .where(*_booked_in(account_ids, days), is_split, or_(was_changed, and_(~is_payment, ~is_divided)))
        .group_by(*columns)
    )
    found += [
        Total(on, account_id, "", currency, _BOOKED[kind], amount, count, ZERO, 0, "")
        for on, account_id, currency, kind, amount, count in await session.exec(undivided)
    ]
    return found


def _booked_in(account_ids: Collection[str], days: Span) -> tuple[Any, ...]:
    booked = col(Operation.booked_at)
    return (col(Operation.account_id).in_(account_ids), booked >= days.begins, booked <= days.ends)


async def gateway_totals(session: AsyncSession, account_ids: Collection[str], days: Days) -> list[Total]:
    """Return what moved by the gateway's books, as far as they were compared."""
    rows = await session.exec(select(GatewayTotal).where(*_in_days(GatewayTotal, account_ids, days)))
    return [
        Total(row.day, row.account_id, row.channel, *_sums(row))  # in the order of the class's fields
        for row in rows
    ]


async def gateway_shares(session: AsyncSession, account_ids: Collection[str], days: Days) -> list[Total]:
    """Return how the gateway's totals divide among receivers, by the names in its books."""
    rows = await session.exec(select(GatewayShare).where(*_in_days(GatewayShare, account_ids, days)))
    return [Total(row.day, row.account_id, "", *_sums(row), row.receiver) for row in rows]


def _sums(row: GatewayTotal | GatewayShare) -> tuple[str, Booked, Decimal, int, Decimal, int]:
    return (row.currency, row.kind, row.amount, row.count, row.fee, row.fees)


async def compared_days(session: AsyncSession, account_ids: Collection[str], days: Days) -> Sequence[ComparedDay]:
    """Return the days for which the gateway's books were read, in whole or in part."""
    return (await session.exec(select(ComparedDay).where(*_in_days(ComparedDay, account_ids, days)))).all()


def _in_days(table: Any, account_ids: Collection[str], days: Days) -> tuple[Any, ...]:
    return (col(table.account_id).in_(account_ids), col(table.day) >= days.first, col(table.day) <= days.last)


DayBooks = tuple[ComparedDay, Sequence[Total]]
"""A day of the gateway's books, and its totals: overall, and by receiver."""


async def store_days(session: AsyncSession, account_id: str, days: Iterable[DayBooks]) -> None:
    """Store days of an account, replacing stored ones unless these were summed over more of the day.

    Called in the transaction that covers their window: no day is stored by half, and none counts twice.
    """
    for day, totals in days:
        stored = await session.get(ComparedDay, (account_id, day.day))
        if stored is not None and stored.ends_at - stored.starts_at > day.ends_at - day.starts_at:
            continue
        for table in (GatewayTotal, GatewayShare):
            gone: Any = table
            await session.exec(delete(table).where(gone.account_id == account_id, gone.day == day.day))
        await session.merge(day)
        rows = [asdict(total) for total in totals]
        for model, its_rows in (
            (GatewayTotal, [row for row in rows if row["receiver"] is None]),
            (GatewayShare, [row for row in rows if row["receiver"] is not None]),
        ):
            columns = table_of(model).c.keys()
            for first in range(0, len(its_rows), _ROWS_AT_ONCE):
                some = its_rows[first : first + _ROWS_AT_ONCE]
                params = [{name: row[name] for name in columns} for row in some]
                await session.exec(insert(table_of(model)), params=params)


async def delete_days(session: AsyncSession, account_id: str) -> None:
    """Delete the stored days of an account."""
    for table in (GatewayTotal, GatewayShare, ComparedDay):
        gone: Any = table
        await session.exec(delete(table).where(gone.account_id == account_id))


@dataclass(frozen=True, slots=True)
class OrderOwner:
    """To whom a gateway order belongs: the account, channel and flow of its payment, and the amount to be paid."""

    account_id: str
    pos_id: str
    channel: str
    amount: Decimal
    flow: Flow = Flow.CHARGE


async def find_order_owners(session: AsyncSession, order_ids: Collection[str]) -> dict[str, OrderOwner]:
    """Return the owners of these gateway orders, of any store; orders that belong to no payment here are left out."""
    query: Any = (
        sa.select(
            col(Payment.order_id),
            col(Payment.account_id),
            col(MerchantAccount.pos_id),
            col(Payment.channel),
            col(Payment.amount),
            col(Payment.flow),
        )
        .join(MerchantAccount, col(MerchantAccount.id) == col(Payment.account_id))
        .where(col(Payment.order_id).in_(order_ids))
    )
    return {order_id: OrderOwner(*of_whom) for order_id, *of_whom in await session.exec(query)}


@dataclass(frozen=True, slots=True)
class ComparisonProgress:
    """How far the books of all accounts were compared, and when that was last finished; None: the first comparison is
    still running.
    """

    until: datetime
    checked_at: datetime | None


async def find_comparison_progress(session: AsyncSession, account_ids: Collection[str]) -> ComparisonProgress | None:
    """Return how far the nightly comparisons of all these accounts have come; None if one was never compared."""
    query: Any = (
        select(func.max(ReconciliationRun.covered_until), func.max(ReconciliationRun.finished_at))
        .where(
            col(ReconciliationRun.account_id).in_(account_ids),
            col(ReconciliationRun.covered_until).is_not(None),
            col(ReconciliationRun.chosen).is_(False),
        )
        .group_by(col(ReconciliationRun.account_id))
    )
    found = (await session.exec(query)).all()
    if not found or len(found) < len(account_ids):
        return None
    return ComparisonProgress(
        min(until for until, _ in found), min((at for _, at in found if at is not None), default=None)
    )


async def count_open_differences(session: AsyncSession, account_ids: Collection[str]) -> int:
    """Return the number of unsettled differences between the gateway's books and ours."""
    query: Any = select(func.count()).where(
        col(Discrepancy.account_id).in_(account_ids), text(f"discrepancy.{UNSETTLED}")
    )
    return int((await session.exec(query)).one())
