"""A shopper comes back to a payment: the gateway is asked how it stands, and Saleor is answered from the record."""

from app.db.aggregates import ByTransaction, PaymentAggregate
from app.db.installations import OpenInstallation
from app.db.tables import State
from app.outbound import Deadline
from app.payments.operations.initialize import as_recorded, initialize
from app.payments.services import Services
from app.payments.sync.resolve import look
from app.saleor.answers import SessionAnswer
from app.saleor.events import TransactionProcessSession


async def process(
    services: Services,
    event: TransactionProcessSession,
    installation: OpenInstallation,
    deadline: Deadline | None = None,
) -> SessionAnswer:
    """Answer a process webhook. ``deadline`` is the request's; None: it begins now.

    A transaction that we never heard of was begun while we could not be reached: it is begun now. A concluded payment
    is answered without asking the gateway; if it cannot be reached in time, with what was known before.
    """
    deadline = deadline or Deadline(services.schedule.budget.total_seconds())
    aggregate = await services.payments.find(ByTransaction(installation.id, event.transaction.id))
    if aggregate is None:
        return await initialize(services, event, installation, deadline)
    create = aggregate.create
    if create.state.final or create.id is None or _being_created(services, aggregate):
        return await as_recorded(services, installation, event.transaction.id)
    await look(services, create.id, deadline, answering=True)
    return await as_recorded(services, installation, event.transaction.id)


def _being_created(services: Services, aggregate: PaymentAggregate) -> bool:
    """Another webhook is asking the gateway right now: looking the order up would only disturb it."""
    create = aggregate.create
    return create.state is State.INTENT and services.now() < services.schedule.after_intent(create.updated_at)
