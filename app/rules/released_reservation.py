"""The record of a reservation that was released: the interface does not show what it says then, so it may say failure.

Nothing of such a reservation was charged: no money has moved, and none is in doubt. Pure.
"""

from collections.abc import Sequence
from datetime import datetime

from app.core.payment import PaymentAggregate
from app.core.vocabulary import Flow, Kind, State
from app.rules.balance import status_of
from app.rules.issues import IssueCode
from app.rules.mapper import Observation
from app.rules.problems import end_problem, find_mismatch


def is_failure_of_released(aggregate: PaymentAggregate, seen: Observation, records: Sequence[Observation]) -> bool:
    """Return True for a failure of a reservation that was released, by our records or by the others of the gateway."""
    create = aggregate.create
    if (seen.kind, seen.state, seen.gateway_id) != (Kind.CREATE, State.FAILURE, create.operation_id):
        return False
    return _is_released(aggregate, records)


def end_doubt_of_released(aggregate: PaymentAggregate, now: datetime) -> None:
    """End the doubt about a reservation that was reported as failed before its release was."""
    payment, create = aggregate.payment, aggregate.create
    failed = find_mismatch(payment, IssueCode.FAILED_AFTER_SUCCESS, create) if create.contradicted else None
    if failed is None or not _is_released(aggregate):
        return
    create.contradicted = False
    end_problem(payment, failed, now)
    payment.status = status_of(payment.flow, aggregate.operations)
    if payment.has_rivals:
        payment.attempts_due_at = now


def _is_released(aggregate: PaymentAggregate, records: Sequence[Observation] = ()) -> bool:
    create = aggregate.create
    if aggregate.payment.flow is not Flow.AUTHORIZATION or create.state is not State.SUCCESS:
        return False
    succeeded = (known for known in aggregate.operations if known.state is State.SUCCESS and not known.contradicted)
    ours = [(known.kind, known.amount) for known in succeeded]
    theirs = [(seen.kind, seen.amount) for seen in records if seen.state is State.SUCCESS]
    is_charged = any(kind is Kind.CAPTURE for kind, _ in (*ours, *theirs))
    return not is_charged and (Kind.VOID, create.amount) in (*ours, *theirs)
