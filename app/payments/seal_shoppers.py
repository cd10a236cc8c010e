"""Seals what is personal in payments from before it was sealed."""

from collections.abc import AsyncIterator

from sqlmodel import col, select

from app.ledger.personal import is_open
from app.ledger.tables import Kind, Operation, Payment
from app.payments.desk import Desk

_AT_ONCE = 200


async def seal_shoppers(desk: Desk) -> AsyncIterator[int]:
    """Seal requests and return addresses that are still readable; yields how many payments it were, batch by batch.

    May be done while the app runs, and again: each batch is a transaction of its own.
    """
    last = 0
    while True:
        async with desk.database.transaction() as session:
            some = select(Payment).where(col(Payment.id) > last).order_by(col(Payment.id)).limit(_AT_ONCE)
            payments = (await session.exec(some.with_for_update())).all()
            if not payments:
                return
            done = {each.id for each in payments if _seal_return(desk, each)}
            transactions = {each.id: each.transaction_id for each in payments}
            asked = select(Operation).where(
                col(Operation.payment_id).in_(list(transactions)), Operation.kind == Kind.CREATE
            )
            for operation in (await session.exec(asked)).all():
                if operation.personal_sealed is None:
                    operation.request, operation.personal_sealed = desk.personal.sealed(
                        transactions[operation.payment_id], operation.request
                    )
                    done |= set() if operation.personal_sealed is None else {operation.payment_id}
        yield len(done)
        last = payments[-1].id or last


def _seal_return(desk: Desk, payment: Payment) -> bool:
    if payment.return_url is None or not is_open(payment.return_url):
        return False
    payment.return_url = desk.personal.seal_return_url(payment.transaction_id, payment.return_url)
    return True
