"""Moves a Saleor to another address, where it has installed the app again, with everything it had before."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, update
from sqlalchemy.orm import aliased
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core.vocabulary import Kind
from app.store.account_names import rename_namesakes
from app.store.personal import BlindIndex, PersonalData
from app.store.presence import retry_events_now
from app.store.tables import (
    CardKey,
    ChannelRoute,
    DeletedCustomer,
    Discrepancy,
    Installation,
    MerchantAccount,
    Operation,
    Payment,
    Payout,
    PendingToken,
    Problem,
    ReconciliationRun,
    ReportedProblem,
    SaleorEvent,
    SavedCard,
    TurnedAway,
)

_MOVED_TABLES = (
    *(MerchantAccount, ChannelRoute, SavedCard, DeletedCustomer, Payment, Payout, Problem),
    *(SaleorEvent, ReconciliationRun, Discrepancy),
)


class MoveRefusedError(Exception):
    """The move would lose something; the message says what, and what to do. Nothing was changed."""


@dataclass(frozen=True, slots=True)
class MoveResult:
    """How many rows of the old address now belong to the new one.

    ``renamed``: the new names of accounts of the new address that had the name of an account of the old one.
    """

    payments: int
    accounts: int
    channels: int
    renamed: tuple[str, ...] = ()


async def move(
    session: AsyncSession, old_id: int, new_id: int, *, emails: BlindIndex, personal: PersonalData, now: datetime
) -> MoveResult:
    """Give the old installation, with all its rows, the address, app id and token of the new one; delete the new row.

    The old row stays, because payments are found by it (``emails``). Raises MoveRefusedError, and VaultError when
    sealed shopper data of the new row cannot be opened; then nothing is changed.
    """
    rows = {
        row_id: await session.get_one(Installation, row_id, with_for_update=True) for row_id in sorted((old_id, new_id))
    }
    old, new = rows[old_id], rows[new_id]
    await _check(session, old, new)
    moved = MoveResult(
        payments=await _count(session, Payment, old_id),
        accounts=await _count(session, MerchantAccount, old_id),
        channels=await _count(session, ChannelRoute, old_id),
        renamed=await rename_namesakes(session, old_id, new_id),
    )
    await _reindex_emails(session, old_id, new_id, emails, personal)
    await _compare_attempts(session, old_id, new_id, now)
    known = select(DeletedCustomer.user_id).where(DeletedCustomer.installation_id == old_id)
    twice = (col(DeletedCustomer.installation_id) == new_id, col(DeletedCustomer.user_id).in_(known))
    await session.exec(delete(DeletedCustomer).where(*twice))
    for table in _MOVED_TABLES:
        theirs: Any = table
        follow = update(table).where(col(theirs.installation_id) == new_id).values(installation_id=old_id)
        await session.exec(follow)
    # Saleor no longer shows problems of the old app, and its tokens are invalid. Storefronts fetch a new card key.
    for gone in (
        delete(ReportedProblem).where(col(ReportedProblem.installation_id) == old_id),
        delete(TurnedAway).where(col(TurnedAway.installation_id) == new_id),  # both may have counted the same day
        delete(PendingToken).where(col(PendingToken.installation_id).in_((old_id, new_id))),
        delete(CardKey).where(col(CardKey.installation_id) == new_id),
    ):
        await session.exec(gone)
    reported = (
        update(ReportedProblem).where(col(ReportedProblem.installation_id) == new_id).values(installation_id=old_id)
    )
    await session.exec(reported)
    taken = _values_to_take_over(new, old)
    await session.delete(new)
    await session.flush()
    for name, value in taken.items():
        setattr(old, name, value)
    old.away_since = old.unauthorised_since = None
    old.problems_due_at = old.next_check_at = old.days_due_at = old.updated_at = now
    await retry_events_now(session, old_id, now)
    return moved


def _values_to_take_over(new: Installation, old: Installation) -> Mapping[str, Any]:
    """Return the values that the old row takes over. The token is sealed for the new address, which moves with it."""
    names = ("saleor_api_url", "saleor_domain", "schema_version", "app_id", "token_sealed", "jwks", "jwks_fetched_at")
    optional = ("dashboard_url", "staff_dashboard_url")
    return {name: getattr(new, name) for name in names} | {
        name: getattr(new, name) or getattr(old, name) for name in optional
    }


async def _check(session: AsyncSession, old: Installation, new: Installation) -> None:
    if old.id == new.id:
        raise MoveRefusedError("both addresses belong to the same installation")
    if new.token_sealed is None:
        raise MoveRefusedError(f"{new.saleor_api_url} has not confirmed the app's token: activate the app there first")
    channels = aliased(ChannelRoute)
    both: Any = (
        select(ChannelRoute.channel)
        .join(channels, col(channels.channel) == col(ChannelRoute.channel))
        .where(ChannelRoute.installation_id == old.id, channels.installation_id == new.id)
        .order_by(ChannelRoute.channel)
    )
    if mapped := (await session.exec(both)).all():
        raise MoveRefusedError(
            f"both addresses map the channel {', '.join(mapped)}: unmap it from one of them with "
            "`saleor-gateway channels unmap`"
        )
    payments = aliased(Payment)
    paid: Any = (
        select(func.count())
        .select_from(Payment)
        .join(payments, col(payments.transaction_id) == col(Payment.transaction_id))
        .where(Payment.installation_id == old.id, payments.installation_id == new.id)
    )
    if shared := (await session.exec(paid)).one():
        raise MoveRefusedError(
            f"{shared} transactions have a payment at both addresses: these are two stores, one of them a copy"
        )


async def _count(session: AsyncSession, table: Any, installation_id: int) -> int:
    query = select(func.count()).select_from(table).where(table.installation_id == installation_id)
    return (await session.exec(query)).one()


async def _compare_attempts(session: AsyncSession, old_id: int, new_id: int, now: datetime) -> None:
    """Have attempts to pay the same compared that were begun at both addresses, as if at one (laws of money, 12)."""
    begun = [select(Payment.source_id).where(Payment.installation_id == row_id) for row_id in (old_id, new_id)]
    at_both = [col(Payment.source_id).in_(sources) for sources in begun]
    of_either = col(Payment.installation_id).in_((old_id, new_id))
    compete = update(Payment).where(of_either, *at_both).values(has_rivals=True, attempts_due_at=now)
    await session.exec(compete)


async def _reindex_emails(
    session: AsyncSession, old_id: int, new_id: int, emails: BlindIndex, personal: PersonalData
) -> None:
    """Recompute the e-mail digests of the new row's payments for the old row: each store has its own digests."""
    creations = (
        select(Payment, Operation)
        .join(Operation, col(Operation.payment_id) == col(Payment.id))
        .where(Payment.installation_id == new_id, Operation.kind == Kind.CREATE)
        .order_by(col(Payment.id))
        .with_for_update(of=Payment)
    )
    for payment, create in (await session.exec(creations)).all():
        address = personal.open_request(payment.transaction_id, create).get("customer_email")
        payment.email_digest = emails.digest_to_store(old_id, address) if address else None
    await session.flush()
