"""Lets payments of before be found by e-mail: their digests are made of what the gateway was asked."""

from collections.abc import AsyncIterator

from sqlalchemy import update
from sqlmodel import col, select

from app.ledger.tables import Kind, Operation, Payment
from app.payments.desk import Desk

_AT_ONCE = 500


async def index_emails(desk: Desk) -> AsyncIterator[int]:
    """Give the digest of the shopper's address to payments without one; yields how many it were, batch by batch.

    May be done while the app runs, and again: each batch is a transaction of its own. A payment whose request named no
    address stays without.
    """
    last = 0
    while True:
        async with desk.database.transaction() as session:
            without = (
                select(Payment)
                .where(col(Payment.email_digest).is_(None), col(Payment.id) > last)
                .order_by(col(Payment.id))
                .limit(_AT_ONCE)
            )
            payments = {each.id or 0: each for each in (await session.exec(without)).all()}
            if not payments:
                return
            asked = select(Operation).where(
                col(Operation.payment_id).in_(list(payments)), Operation.kind == Kind.CREATE
            )
            addresses = {
                each.payment_id: desk.personal.opened(payments[each.payment_id].transaction_id, each).get(
                    "customer_email"
                )
                for each in (await session.exec(asked)).all()
            }
            found = {row: address for row, address in addresses.items() if isinstance(address, str) and address}
            for row, address in sorted(found.items()):  # in the order in which everybody locks payments
                digest = desk.emails.kept(payments[row].installation_id, address)
                await session.exec(update(Payment).where(col(Payment.id) == row).values(email_digest=digest))
        yield len(found)
        last = max(payments)
