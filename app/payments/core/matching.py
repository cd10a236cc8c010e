"""Whose a record of the gateway is: an operation of ours, or something that others did (laws of money, 10). Pure."""

from app.db.aggregates import PaymentAggregate
from app.db.tables import Kind, Operation, State
from app.payments.core.mapper import Observation

OTHERS = "gateway:"
"""With this begins the key of an operation that is merely seen."""


def is_ours(operation: Operation) -> bool:
    """Return whether we asked for it, and do not merely see that it was done."""
    return not operation.idempotency_key.startswith(OTHERS)


def owner_of(aggregate: PaymentAggregate, seen: Observation, answering: int | None) -> Operation | None:
    """Return the operation that ``seen`` is about; None: others did it. ``answering``: see ``Posting``."""
    if seen.kind is Kind.CREATE:
        return aggregate.create
    same_kind = [each for each in aggregate.operations if each.kind is seen.kind]
    for operation in same_kind:
        if operation.operation_id == seen.gateway_id:
            return operation
    if seen.kind is Kind.DISPUTE:
        # One that was known only by the payment's own id, and is told by an id of its own now.
        unnamed = (each for each in same_kind if each.operation_id == aggregate.create.operation_id)
        return next((each for each in unnamed if each.amount == seen.amount), None)
    open_ones = [
        each
        for each in same_kind
        if each.operation_id is None
        and (each.state in {State.INTENT, State.UNKNOWN} or each.inferred)
        and (seen.kind is Kind.VOID or each.amount == seen.amount)
    ]
    # The one being answered first; then one that is in flight; what we gave up for silence comes last.
    return min(open_ones, key=lambda each: (each.id != answering, each.inferred), default=None)


def reference_of_others(aggregate: PaymentAggregate, seen: Observation) -> str:
    """Return the reference under which Saleor is told what others did: the gateway's id, if no operation has it."""
    taken = {each.psp_reference for each in aggregate.operations} | {each.operation_id for each in aggregate.operations}
    return f"{seen.gateway_id}-{seen.kind.value}" if seen.gateway_id in taken else seen.gateway_id
