"""Answers a session webhook from what is recorded of its transaction: the same question gets the same answer."""

from app.ledger.installations import OpenInstallation
from app.ledger.repository import ByTransaction, PaymentNotFoundError
from app.ledger.sheets import Sheet
from app.ledger.tables import State
from app.payments.desk import Desk
from app.payments.outcome.answers import session_answer
from app.payments.outcome.references import keep_reference
from app.saleor.answers import SessionAnswer


async def as_recorded(desk: Desk, installation: OpenInstallation, transaction_id: str) -> SessionAnswer:
    """Return where the payment of a Saleor transaction stands. Raises PaymentNotFoundError.

    The reference that the answer names is kept before it is given (laws of money, 9). While Saleor reads that it has
    failed, nothing else is told of it: should it have succeeded after all, that comes after the failure (5).
    """

    def answer(sheet: Sheet) -> SessionAnswer:
        keep_reference(sheet.payment, sheet.create)
        if sheet.create.state is State.FAILURE:
            sheet.create.answer_awaited_until = desk.now() + desk.schedule.answer_window
        page = desk.addresses.payment_page(installation.saleor_api_url, sheet.payment.order_id)
        return session_answer(sheet, page)

    return await desk.payments.update(ByTransaction(installation.id, transaction_id), answer)


async def recorded_answer(desk: Desk, installation: OpenInstallation, transaction_id: str) -> SessionAnswer | None:
    """Return the same; None when nothing is recorded of the transaction."""
    try:
        return await as_recorded(desk, installation, transaction_id)
    except PaymentNotFoundError:
        return None
