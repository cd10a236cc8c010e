"""What is released of a reservation: all of it, or the rest after a part was captured.

Saleor is told nothing of a rest, unless the dialect says that capturing a part releases it. What a gateway is assumed
to do is corrected as soon as it does otherwise (laws of money, 10).

What the record of a reservation says once all of it was released is not shown by the interface: it may say failure.
Nothing was charged then, so no money has moved, and none is in doubt. Pure.
"""

from collections.abc import Sequence
from datetime import datetime

from app.core.payment import Operation, PaymentAggregate
from app.core.vocabulary import EventState, Flow, Kind, State
from app.i18n.messages import Money
from app.rules.balance import ZERO, balance, status_of
from app.rules.decision_context import DecisionContext, raise_problem, report_operation
from app.rules.event_queue import supersede
from app.rules.issues import Issue, IssueCode
from app.rules.mapper import Observation
from app.rules.observation import Observations, is_ours
from app.rules.problems import cause_of_mismatch, cause_of_operation_mismatch, end_problem, find_mismatch
from app.rules.references import is_release, reference_of_release
from gateway_client.statuses import WRONG_STATE
from saleor_app_sdk.responses import EventType

_NOT_RELEASED, _NOT_KEPT = Issue(IssueCode.REST_NOT_RELEASED), Issue(IssueCode.REST_NOT_KEPT)


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


def correct_released_rest(aggregate: PaymentAggregate, context: DecisionContext) -> None:
    """Take back that the rest of a reservation was released, once more of it is captured (laws of money, 10).

    The gateway then does otherwise than its dialect says, for this payment at least: staff are told.
    """
    captures = _successful(aggregate, Kind.CAPTURE)
    if len(captures) < 2 or all(capture.keeps_rest for capture in captures):
        return
    for capture in captures:
        capture.keeps_rest = True
    releases = [event for event in aggregate.events if is_release(event.psp_reference)]
    for release in releases:
        if release.state is EventState.WAITING and release.attempts == 0:
            supersede(aggregate.payment, release, context.now)
        else:
            report_operation(
                aggregate,
                captures[-1],
                EventType.CANCEL_FAILURE,
                context,
                amount=release.amount,
                message="The rest of the authorization was not released: more of it was charged",
                reference=release.psp_reference,
            )
    cause = cause_of_operation_mismatch(_NOT_RELEASED, captures[-1])
    raise_problem(aggregate, _NOT_RELEASED, context.now, cause=cause)


def release_unkept_rest(aggregate: PaymentAggregate, shown: Observations, context: DecisionContext) -> None:
    """Count a rest as released that the gateway neither charges nor releases, once the whole order explains no more.

    After one part was charged it says that the reservation is not in a state for that. It then does otherwise than its
    dialect says: staff are told, and should they charge the rest in its portal after all, that is corrected too. One
    that has charged several parts has shown that it keeps the rest: its refusal has another reason.
    """
    captures = _successful(aggregate, Kind.CAPTURE)
    has_rest = balance(aggregate.payment.flow, aggregate.operations).capturable > ZERO
    if len(captures) == 1 and has_rest and _refused_for_its_state(aggregate, shown) is not None:
        captures[0].keeps_rest = False
        raise_problem(aggregate, _NOT_KEPT, context.now, cause=cause_of_mismatch(_NOT_KEPT, captures[0].id, ""))
        report_released_rest(aggregate, context)


def doubt_refused_release(aggregate: PaymentAggregate, shown: Observations, context: DecisionContext) -> None:
    """Put a release in doubt that the gateway refused for the state of a reservation that nothing else has used.

    It has perhaps lapsed, or was released without a record: only staff can find out, in the gateway's portal (7).
    """
    current = balance(aggregate.payment.flow, aggregate.operations)
    operation = _refused_for_its_state(aggregate, shown)
    is_untouched = ZERO < current.capturable == current.authorized
    if is_untouched and operation is not None and operation.kind is Kind.VOID and operation.decision is None:
        operation.contradicted = True
        amount = Money(operation.amount, operation.currency)
        issue = Issue(IssueCode.RELEASE_IN_DOUBT, sum=amount)
        raise_problem(aggregate, issue, context.now, cause=cause_of_mismatch(issue, operation.id, ""), actions=[])


def report_released_rest(aggregate: PaymentAggregate, context: DecisionContext) -> None:
    """Report to Saleor that a partial capture released the rest of the reservation, where the dialect says so.

    Computed from the whole aggregate, because the record of the capture can arrive before that of the reservation.
    """
    captures = _successful(aggregate, Kind.CAPTURE)
    if all(capture.keeps_rest for capture in captures):
        return
    references = [reference_of_release(capture.psp_reference) for capture in captures if capture.psp_reference]
    used = [operation.amount for operation in (*captures, *_successful(aggregate, Kind.VOID))]
    reported = [event.amount for event in aggregate.events if event.psp_reference in references]
    rest = balance(aggregate.payment.flow, aggregate.operations).authorized - sum((*used, *reported), ZERO)
    if references and rest > ZERO:
        report_operation(
            aggregate,
            captures[-1],
            EventType.CANCEL_SUCCESS,
            context,
            amount=rest,
            message="The rest of the authorization was released",
            reference=references[-1],
        )


def take_over_release(aggregate: PaymentAggregate, operation: Operation) -> None:
    """Let the gateway's own release of a rest have the reference under which Saleor was told of it: it is told once."""
    if operation.kind is not Kind.VOID or operation.state is not State.SUCCESS or is_ours(operation):
        return
    if all(capture.keeps_rest for capture in _successful(aggregate, Kind.CAPTURE)):
        return
    taken = {known.psp_reference for known in aggregate.operations}
    for event in aggregate.events:
        if is_release(event.psp_reference) and event.psp_reference not in taken and operation.amount <= event.amount:
            operation.psp_reference = event.psp_reference
            return


def _is_released(aggregate: PaymentAggregate, records: Sequence[Observation] = ()) -> bool:
    create = aggregate.create
    if aggregate.payment.flow is not Flow.AUTHORIZATION or create.state is not State.SUCCESS:
        return False
    succeeded = (known for known in aggregate.operations if known.state is State.SUCCESS and not known.contradicted)
    ours = [(known.kind, known.amount) for known in succeeded]
    theirs = [(seen.kind, seen.amount) for seen in records if seen.state is State.SUCCESS]
    is_charged = any(kind is Kind.CAPTURE for kind, _ in (*ours, *theirs))
    return not is_charged and (Kind.VOID, create.amount) in (*ours, *theirs)


def _refused_for_its_state(aggregate: PaymentAggregate, shown: Observations) -> Operation | None:
    """Return our charge or release of a reservation that the gateway refused because of the state it is in.

    None if anything explains it, or may: what was done with the reservation after it, or a part of the order that is
    not shown or cannot be read.
    """
    used = {Kind.CREATE, *(capture.kind for capture in _successful(aggregate, Kind.CAPTURE))}
    is_whole = used <= {seen.kind for seen in shown if seen.state is State.SUCCESS}
    uses = [operation for operation in aggregate.operations if operation.kind in {Kind.CAPTURE, Kind.VOID}]
    if not uses or not is_whole or shown.unreadable or shown.unexplained:
        return None
    return uses[-1] if is_ours(uses[-1]) and uses[-1].status_code == WRONG_STATE else None


def _successful(aggregate: PaymentAggregate, kind: Kind) -> list[Operation]:
    return [
        operation for operation in aggregate.operations if operation.kind is kind and operation.state is State.SUCCESS
    ]
