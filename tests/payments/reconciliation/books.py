"""A payment on paper, and the lines that a gateway's books have of it."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from app.core.ids import GatewayOperationId, PspReference
from app.core.payment import Operation, PaymentAggregate, SaleorEvent
from app.core.vocabulary import EventState, Flow, Kind, State
from app.flows.reconciliation.entries import BookLine
from app.rules.mapper import event_type_of
from tests.payments.aggregates import HUNDRED, NOON, ORDER, an_aggregate, an_operation

PAYMENT = "36c59597-f4c4-456e-8f6e-91af30f1df96"
METHODS = {Kind.CAPTURE: "capture", Kind.VOID: "void", Kind.REFUND: "refund", Kind.DISPUTE: "dispute"}


def line(method: str = "purchase", status: str | None = "success", amount: object = "100.00", **more: Any) -> BookLine:
    """Return a line about the payment on paper; ``amount`` is without the payer's fee, unless both are told."""
    members: dict[str, Any] = {
        "order_id": ORDER,
        "payment_id": PAYMENT,
        "method": method,
        "status": status,
        "at": datetime(2026, 11, 21, 12, 0, 1, tzinfo=UTC),
        "amount" if "original_amount" in more else "original_amount": Decimal(str(amount)),
        "currency": "UAH",
    }
    return BookLine(**(members | more))


def ended_operation(kind: Kind, amount: object = "100.00", state: State = State.SUCCESS, **more: Any) -> Operation:
    """Return an operation that has ended, as the gateway said."""
    operation = an_operation(kind, state, Decimal(str(amount)), **more)
    operation.operation_id = GatewayOperationId(f"operation-{operation.id}")
    operation.psp_reference = PspReference(operation.operation_id)
    return operation


def payment(
    *operations: Operation, flow: Flow = Flow.CHARGE, state: State = State.SUCCESS, amount: Decimal = HUNDRED
) -> PaymentAggregate:
    """Return a payment of which Saleor was told everything."""
    aggregate = an_aggregate(flow, state, *operations, amount=amount)
    aggregate.create.operation_id = GatewayOperationId(PAYMENT)
    for operation in aggregate.operations:
        type_ = event_type_of(operation.kind, flow, operation.state)
        if type_ is not None:
            aggregate.events.append(event_of(operation, type_.value))
    return aggregate


def event_of(operation: Operation, type_: str, state: EventState = EventState.DELIVERED) -> SaleorEvent:
    """Return the event by which Saleor was told of an operation."""
    return SaleorEvent(
        type=type_,
        psp_reference=PspReference(operation.psp_reference or ""),
        amount=operation.amount,
        state=state,
        created_at=NOON,
    )


def split(aggregate: PaymentAggregate, operation: Operation, **shares: object) -> None:
    """Let parts of an operation belong to sub-merchants."""
    assert operation in aggregate.operations
    operation.shares |= {name: Decimal(str(amount)) for name, amount in shares.items()}


def lines_of(aggregate: PaymentAggregate) -> list[BookLine]:
    """Return what a gateway's books have of a payment if it agrees with us."""
    found = []
    for operation in aggregate.operations:
        first = "purchase" if aggregate.payment.flow is Flow.CHARGE else "auth"
        said = line(METHODS.get(operation.kind, first), operation.state.value, operation.amount)
        shares = operation.shares
        found += [_receiving(said, name, amount) for name, amount in shares.items()] or [said]
    return found


def _receiving(said: BookLine, name: str, amount: Decimal) -> BookLine:
    return line(
        said.method or "", said.status or "", said.original_amount, at=said.at, receiver=name, receiver_amount=amount
    )
