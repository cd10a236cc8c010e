"""What nobody looks at: no operation may be so (laws of money, 13)."""

from app.core.payment import Operation, PaymentAggregate
from app.core.vocabulary import State
from app.rules.balance import balance
from app.rules.problems import open_problems


def unattended_operations(aggregate: PaymentAggregate) -> list[Operation]:
    """Return the operations that are open, at which nobody will look, and of which no person is told."""
    told = bool(open_problems(aggregate.payment))
    waits_for_another = balance(aggregate.payment.flow, aggregate.operations).in_flight
    return [
        operation
        for operation in aggregate.operations
        if not operation.state.final
        and operation.next_poll_at is None
        and not told
        and not (operation.state is State.WAITING and waits_for_another)
    ]
