"""Answers a session webhook from what is recorded of its transaction: the same question gets the same answer."""

from app.ledger.installations import OpenInstallation
from app.ledger.sheets import load_by_transaction
from app.ledger.tables import State
from app.payments.desk import Desk
from app.payments.outcome.answers import session_answer
from app.payments.outcome.references import keep_reference
from app.saleor.answers import SessionAnswer


async def as_recorded(desk: Desk, installation: OpenInstallation, transaction_id: str) -> SessionAnswer:
    """Return where a payment stands that is recorded for certain: payments are never deleted."""
    answer = await recorded_answer(desk, installation, transaction_id)
    if answer is None:
        raise LookupError("nothing is recorded of this transaction")
    return answer


async def recorded_answer(desk: Desk, installation: OpenInstallation, transaction_id: str) -> SessionAnswer | None:
    """Return where the payment of a Saleor transaction stands; None when nothing is recorded of it.

    The reference that the answer names is kept before it is given (laws of money, 9). While Saleor reads that it has
    failed, nothing else is told of it: should it have succeeded after all, that comes after the failure (5).
    """
    async with desk.database.transaction() as session:
        sheet = await load_by_transaction(session, installation.id, transaction_id)
        if sheet is None:
            return None
        keep_reference(sheet.payment, sheet.create)
        page = desk.addresses.payment_page(installation.saleor_api_url, sheet.payment.order_id)
        answer = session_answer(sheet, page)
        if sheet.create.state is State.FAILURE:
            sheet.create.answer_awaited_until = desk.now() + desk.schedule.answer_window
        return answer
