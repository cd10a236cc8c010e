"""What Saleor was told before the database was lost: when a backup is put back, nothing of it is booked a second time.

What was done after the backup was made is found at the gateway, and looks like something that others did. Saleor may
have heard of it, under a reference that is lost. Then its history has a success of the same kind and amount under a
reference that nothing of the payment has: that is the operation's (laws of money, 9), and it has been told.
"""

from dataclasses import dataclass

import structlog

from app.db.aggregates import ByEvent, PaymentAggregate
from app.db.tables import EventState, Operation, SaleorEvent
from app.payments.core.observation import is_ours
from app.payments.services import Services
from app.saleor.answers import EventType
from app.saleor.errors import SaleorRefusedError
from app.saleor.graphql import SaleorClient
from app.saleor.history import transaction_history
from app.worker.read_answers import note_delivered

log = structlog.get_logger(__name__)

_BOOKED = frozenset({EventType.CHARGE_SUCCESS, EventType.CANCEL_SUCCESS, EventType.REFUND_SUCCESS})


@dataclass(frozen=True, slots=True)
class _Told:
    """An event that Saleor has under another ``reference``."""

    event_id: int
    reference: str


async def was_told_before(services: Services, saleor: SaleorClient, aggregate: PaymentAggregate, event_id: int) -> bool:
    """Return True when Saleor has an event of what others did already: then it is done with.

    Asks Saleor only where others have moved money, which is seldom. Raises SaleorError when Saleor cannot be asked.
    """
    event = aggregate.event(event_id)
    if _of_others(aggregate, event) is None:
        return False
    payment = aggregate.payment
    installation = await services.installations.get(payment.installation_id)
    try:
        history = await transaction_history(saleor, installation, payment.transaction_id)
    except SaleorRefusedError:
        history = None  # it will say so of the report as well, which becomes a problem for staff
    ours = _references(aggregate)
    alike = [each.psp_reference for each in history or () if (each.type, each.money) == (event.type, event.amount)]
    lost = [each for each in alike if each and each not in ours]
    if not lost or event.psp_reference in alike:
        return False
    told = _Told(event_id, lost[-1])
    return await services.payments.update(ByEvent(event_id), lambda locked: _adopt(services, locked, told))


def _adopt(services: Services, aggregate: PaymentAggregate, told: _Told) -> bool:
    event = aggregate.event(told.event_id)
    operation = _of_others(aggregate, event)
    if event.state is not EventState.WAITING or operation is None or told.reference in _references(aggregate):
        return False
    log.warning("Saleor was told before the backup was put back", payment=aggregate.payment.order_id, kind=event.type)
    old, operation.psp_reference = event.psp_reference, told.reference
    for each in aggregate.events:
        if each.psp_reference.startswith(f"{old}-"):  # what its release is told under is made of it
            each.psp_reference = told.reference + each.psp_reference.removeprefix(old)
    event.psp_reference = told.reference
    note_delivered(event, aggregate.payment, services.now())
    return True


def _references(aggregate: PaymentAggregate) -> set[str | None]:
    return {each.psp_reference for each in aggregate.operations} | {each.psp_reference for each in aggregate.events}


def _of_others(aggregate: PaymentAggregate, event: SaleorEvent) -> Operation | None:
    """Return the operation of others that an event tells of, if it is one that Saleor books."""
    if event.type not in _BOOKED:
        return None
    theirs = (each for each in aggregate.operations if not is_ours(each))
    return next((each for each in theirs if each.psp_reference == event.psp_reference), None)
