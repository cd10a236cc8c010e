"""Answers a session webhook from what is recorded of its transaction: the same question gets the same answer."""

from app.db.aggregates import PaymentAggregate
from app.db.installations import OpenInstallation
from app.db.repository import ByTransaction, PaymentNotFoundError
from app.db.tables import State
from app.payments.core.answers import session_answer
from app.payments.core.references import keep_reference
from app.payments.services import Services
from app.saleor.answers import SessionAnswer


async def as_recorded(services: Services, installation: OpenInstallation, transaction_id: str) -> SessionAnswer:
    """Return where the payment of a Saleor transaction stands. Raises PaymentNotFoundError.

    The reference that the answer names is kept before it is given (laws of money, 9). While Saleor reads that it has
    failed, nothing else is told of it: should it have succeeded after all, that comes after the failure (5).
    """

    def answer(aggregate: PaymentAggregate) -> SessionAnswer:
        keep_reference(aggregate.payment, aggregate.create)
        if aggregate.create.state is State.FAILURE:
            aggregate.create.answer_awaited_until = services.now() + services.schedule.answer_window
        page = services.addresses.payment_page(installation.saleor_api_url, aggregate.payment.order_id)
        return session_answer(aggregate, page)

    return await services.payments.update(ByTransaction(installation.id, transaction_id), answer)


async def recorded_answer(
    services: Services, installation: OpenInstallation, transaction_id: str
) -> SessionAnswer | None:
    """Return the same; None when nothing is recorded of the transaction."""
    try:
        return await as_recorded(services, installation, transaction_id)
    except PaymentNotFoundError:
        return None
