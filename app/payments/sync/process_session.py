"""A shopper comes back to a payment: the gateway is asked how it stands, and Saleor is answered from the aggregate."""

from app.db.aggregates import PaymentAggregate, load_by_transaction
from app.db.installations import OpenInstallation
from app.db.tables import State
from app.payments.core.deadline import Deadline
from app.payments.operations.initialize import initialize
from app.payments.operations.moved_store import begun_elsewhere, not_ours
from app.payments.operations.replay import as_recorded
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
    aggregate = await _load(services, event, installation)
    if aggregate is None:
        if await begun_elsewhere(services, installation, event.transaction.id):
            return not_ours(event)
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


async def _load(
    services: Services, event: TransactionProcessSession, installation: OpenInstallation
) -> PaymentAggregate | None:
    async with services.database.transaction() as session:
        return await load_by_transaction(session, installation.id, event.transaction.id)
