"""Finds payouts, and sums what an account has paid out recently."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy import and_, case, func, literal, or_, tuple_
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core.alerts import AlertKind
from app.core.payment import PaymentAggregate, returned_of_payout
from app.core.vocabulary import GIVES_A_PAYOUT_BACK, Kind, State
from app.store.aggregates import WITH_ACCOUNT, load_aggregates, read_payments
from app.store.columns import Amount, Moment
from app.store.tables import Operation, Payment, Payout, Problem

ZERO = Decimal("0.00")
_OTHER_AMOUNT = "other_amount"  # the code of an issue: as it is stored, it never changes


@dataclass(frozen=True, slots=True)
class PayoutRecord:
    """A payout as a whole: who requested it, and its outcome; for reading only."""

    payout: Payout
    aggregate: PaymentAggregate


async def payout_of(session: AsyncSession, payment_id: int) -> Payout | None:
    """Return the payout record of that payment; None if it is no payout."""
    return await session.get(Payout, payment_id)


async def payouts_page(
    session: AsyncSession, installation_id: int | None, *, most: int, after: Payout | None = None
) -> list[PayoutRecord]:
    """Return the newest payouts of a store (None: of all stores); with ``after``, those that follow that one."""
    moment, row = col(Payout.confirmed_at), col(Payout.payment_id)
    query = select(Payout).order_by(moment.desc(), row.desc()).limit(most)
    if installation_id is not None:
        query = query.where(Payout.installation_id == installation_id)
    if after is not None:
        query = query.where(
            tuple_(moment, row) < tuple_(literal(after.confirmed_at, Moment), literal(after.payment_id))
        )
    return await _records(session, (await session.exec(query)).all())


async def payouts_for(session: AsyncSession, payment_ids: Collection[int | None]) -> list[PayoutRecord]:
    """Return the payouts that are about these payments, oldest first."""
    about = col(Payout.for_payment_id).in_([payment_id for payment_id in payment_ids if payment_id is not None])
    rows = (await session.exec(select(Payout).where(about).order_by(col(Payout.payment_id)))).all()
    return await _records(session, rows)


async def total_paid_out_since(session: AsyncSession, account_id: str, currency: str, since: datetime) -> Decimal:
    """Return the total in a currency that an account has paid out since then, or may have: what has not failed.

    What has come back of a payout is not out any more; never more than was paid out. A payout that the gateway reports
    as more counts as that, until staff have settled or reviewed it.
    """
    paid: Any = func.sum(case((col(Operation.kind) == Kind.CREATE, col(Operation.amount)), else_=literal(ZERO, Amount)))
    back: Any = func.sum(case((col(Operation.kind) == Kind.CREATE, literal(ZERO, Amount)), else_=col(Operation.amount)))
    has_come_back = and_(col(Operation.kind).in_(GIVES_A_PAYOUT_BACK), col(Operation.state) == State.SUCCESS)
    may_be_out = and_(
        col(Operation.kind) == Kind.CREATE, or_(col(Operation.state) != State.FAILURE, col(Operation.contradicted))
    )
    is_recent = and_(
        col(Payout.account_id) == account_id, col(Operation.currency) == currency, col(Payout.confirmed_at) > since
    )
    query: Any = (
        sa.select(col(Payout.payment_id), paid, back)
        .join(Payout, col(Payout.payment_id) == col(Operation.payment_id))
        .where(is_recent, or_(may_be_out, has_come_back))
        .group_by(col(Payout.payment_id))
    )
    sums = (await session.exec(query)).all()
    reported = await _reported_instead(session, and_(is_recent, may_be_out))
    return sum(
        (max(paid_out, reported.get(row, ZERO)) - min(paid_out, returned) for row, paid_out, returned in sums), ZERO
    )


async def _reported_instead(session: AsyncSession, is_counted: Any) -> Mapping[int, Decimal]:
    """Return the largest amount that the gateway reports instead of the requested one, by payout, while it is open."""
    query: Any = (
        sa.select(col(Payout.payment_id), col(Problem.message))
        .join(Problem, col(Problem.payment_id) == col(Payout.payment_id))
        .join(Operation, col(Operation.id) == col(Problem.operation_id))
        .where(
            is_counted,
            col(Problem.kind) == AlertKind.MISMATCH,
            col(Problem.acknowledged_at).is_(None),
            col(Problem.ended_at).is_(None),
        )
    )
    largest: dict[int, Decimal] = {}
    for row, stored in await session.exec(query):
        if stored.get("code") == _OTHER_AMOUNT:
            largest[row] = max(Decimal(stored["facts"]["sum"]["amount"]), largest.get(row, ZERO))
    return largest


async def similar_payouts_since(
    session: AsyncSession, account_id: str, *, mask: str, amount: Decimal, currency: str, since: datetime
) -> list[PayoutRecord]:
    """Return the account's payouts since then to a card with that mask, of exactly that amount of that currency.

    Without those that have failed or come back.
    """
    query = (
        select(Payout)
        .join(Payment, col(Payment.id) == col(Payout.payment_id))
        .where(
            Payout.account_id == account_id,
            col(Payout.confirmed_at) > since,
            Payout.card_mask == mask,
            Payment.amount == amount,
            Payment.currency == currency,
        )
        .order_by(col(Payout.payment_id))
    )
    found = await _records(session, (await session.exec(query)).all())
    return [
        payout
        for payout in found
        if not payout.aggregate.create.has_surely_failed
        and returned_of_payout(payout.aggregate.operations) < payout.aggregate.create.amount
    ]


async def _records(session: AsyncSession, rows: Sequence[Payout]) -> list[PayoutRecord]:
    if not rows:
        return []
    query = WITH_ACCOUNT.where(col(Payment.id).in_([row.payment_id for row in rows]))
    aggregates = await load_aggregates(session, await read_payments(session, query))
    by_id: Mapping[int | None, PaymentAggregate] = {aggregate.payment.id: aggregate for aggregate in aggregates}
    return [PayoutRecord(row, by_id[row.payment_id]) for row in rows]
