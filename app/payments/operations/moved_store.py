"""A transaction that another store has begun to pay: the same Saleor before its address changed, or one that is a copy.

Its page may be open and can be paid, so nothing is begun anew, and nothing of it is told: whose it is, the operator
says (``installations move``). For Saleor it has not failed, which would be final.
"""

from sqlmodel import col, select

from app.db.installations import OpenInstallation
from app.db.tables import Installation, Payment
from app.payments.core.answers import error_data
from app.payments.requests.language import base_language
from app.payments.services import Services
from app.saleor.answers import SessionAnswer, TransactionFlow
from app.saleor.events import TransactionInitializeSession, TransactionProcessSession

STORE_MOVED = "STORE_MOVED"

_MESSAGE = (
    "This payment was begun when this Saleor had another address: the operator of the app moves it with "
    "`saleor-gateway installations move`. Until then nothing is known of it here."
)
_WORDS = {
    "en": "The store is being moved. Please do not pay again, and look again in a while.",
    "uk": "Магазин переїжджає. Будь ласка, не платіть ще раз і перевірте трохи згодом.",
}


async def begun_elsewhere(services: Services, installation: OpenInstallation, transaction_id: str) -> bool:
    """Return True when another store has a payment of that transaction, and this one has none."""
    stores = select(Installation.id)  # each of them is looked into by its index
    known = select(Payment.installation_id).where(
        col(Payment.installation_id).in_(stores), Payment.transaction_id == transaction_id
    )
    async with services.database.transaction() as session:
        found = set((await session.exec(known)).all())
    return bool(found) and installation.id not in found


def not_ours(event: TransactionInitializeSession | TransactionProcessSession) -> SessionAnswer:
    """Return the answer to a session of such a transaction: it counts neither as paid nor as failed."""
    words = _WORDS.get(base_language(None, event.source.language_code), _WORDS["en"])
    return SessionAnswer.action_required(
        TransactionFlow(event.action.action_type.value),
        psp_reference=None,
        amount=event.action.amount,
        message=_MESSAGE,
        data={"errors": [error_data(STORE_MOVED, words)]},
    )
