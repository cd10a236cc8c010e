"""What follows when Saleor has an external operation's event under a reference that was lost with a database. Pure."""

from dataclasses import dataclass
from datetime import datetime

from app.core.fact import Fact
from app.core.payment import Operation, PaymentAggregate, SaleorEvent
from app.core.vocabulary import EventState
from app.rules.decisions.answer_confirmation import mark_delivered
from app.rules.observation import is_ours
from saleor_app_sdk.responses import EventType

_BOOKED_TYPES = frozenset({EventType.CHARGE_SUCCESS, EventType.CANCEL_SUCCESS, EventType.REFUND_SUCCESS})


@dataclass(frozen=True, slots=True)
class FoundInHistory(Fact[bool]):
    """Saleor's history has an event under another ``reference``. Returns whether it is that of the operation."""

    event_id: int
    reference: str
    now: datetime

    def decide(self, aggregate: PaymentAggregate) -> bool:
        """Adopt the reference, under which Saleor has booked the operation (laws of money, 9)."""
        event = aggregate.event_by_id(self.event_id)
        operation = external_operation(aggregate, event)
        if event.state is not EventState.WAITING or operation is None:
            return False
        if self.reference in known_references(aggregate):
            return False
        old, operation.psp_reference = event.psp_reference, self.reference
        for other in aggregate.events:
            if other.psp_reference.startswith(f"{old}-"):  # the reference of its release is derived from it
                other.psp_reference = self.reference + other.psp_reference.removeprefix(old)
        event.psp_reference = self.reference
        mark_delivered(event, aggregate.payment, self.now)
        return True


def known_references(aggregate: PaymentAggregate) -> set[str | None]:
    """Return the references of all operations and events of a payment."""
    return {operation.psp_reference for operation in aggregate.operations} | {
        event.psp_reference for event in aggregate.events
    }


def external_operation(aggregate: PaymentAggregate, event: SaleorEvent) -> Operation | None:
    """Return the external operation that an event reports, if Saleor books it; None otherwise."""
    if event.type not in _BOOKED_TYPES:
        return None
    external = (operation for operation in aggregate.operations if not is_ours(operation))
    return next((operation for operation in external if operation.psp_reference == event.psp_reference), None)
