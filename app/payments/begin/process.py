"""A shopper comes back to a payment: the gateway is asked how it stands, and Saleor is answered from the sheet."""

from app.ledger.installations import OpenInstallation
from app.ledger.sheets import Sheet, load_by_transaction
from app.ledger.tables import State
from app.payments.begin.elsewhere import begun_elsewhere, not_ours
from app.payments.begin.initialize import initialize
from app.payments.begin.recorded import as_recorded
from app.payments.deadline import Deadline
from app.payments.desk import Desk
from app.payments.learn.settle import look
from app.saleor.answers import SessionAnswer
from app.saleor.events import TransactionProcessSession


async def process(
    desk: Desk, event: TransactionProcessSession, installation: OpenInstallation, deadline: Deadline | None = None
) -> SessionAnswer:
    """Answer a process webhook. ``deadline`` is the request's; None: it begins now.

    A transaction that we never heard of was begun while we could not be reached: it is begun now. A concluded payment
    is answered without asking the gateway; if it cannot be reached in time, with what was known before.
    """
    deadline = deadline or Deadline(desk.schedule.budget.total_seconds())
    sheet = await _load(desk, event, installation)
    if sheet is None:
        if await begun_elsewhere(desk, installation, event.transaction.id):
            return not_ours(event)
        return await initialize(desk, event, installation, deadline)
    create = sheet.create
    if create.state.final or create.id is None or _being_created(desk, sheet):
        return await as_recorded(desk, installation, event.transaction.id)
    await look(desk, create.id, deadline, answering=True)
    return await as_recorded(desk, installation, event.transaction.id)


def _being_created(desk: Desk, sheet: Sheet) -> bool:
    """Another webhook is asking the gateway right now: looking the order up would only disturb it."""
    create = sheet.create
    return create.state is State.INTENT and desk.now() < desk.schedule.after_intent(create.updated_at)


async def _load(desk: Desk, event: TransactionProcessSession, installation: OpenInstallation) -> Sheet | None:
    async with desk.database.transaction() as session:
        return await load_by_transaction(session, installation.id, event.transaction.id)
