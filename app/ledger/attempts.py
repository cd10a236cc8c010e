"""Payments whose other attempts to pay the same are to be looked at, because this one has come further."""

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.ledger.begun import Begun, Others, load_begun
from app.ledger.claims import Work
from app.ledger.sheets import Sheet
from app.ledger.tables import Payment

ATTEMPTS = Work(
    Payment,
    row_id=col(Payment.id),
    due=col(Payment.attempts_due_at),
    party=col(Payment.account_id),
)


async def load_attempts(session: AsyncSession, payment_id: int) -> list[Sheet]:
    """Return the sheets of all attempts to pay what that payment pays, its own among them, oldest first, and locked."""
    # Not as a row of the session: that would be as it was before the lock.
    query = select(Payment.installation_id, Payment.source_id).where(Payment.id == payment_id)
    installation_id, source_id = (await session.exec(query)).one()
    [sheets] = await load_begun(session, [Begun(payment_id, installation_id, None, Others(source_id, []))])
    return sheets
