"""What waits to be reported, and what takes its place. Pure."""

import pytest

from app.core.ids import OperationRowId, PspReference
from app.core.payment import SaleorEvent
from app.core.vocabulary import EventState, Flow, Kind, State
from app.rules.apply import apply
from app.rules.decision_context import enqueue_note, raise_problem
from app.rules.event_queue import should_delay_success, supersede_failures
from app.rules.issues import Issue, IssueCode
from app.rules.problems import UNREADABLE
from saleor_app_sdk.responses import EventType
from tests.payments.aggregates import HUNDRED, NOON, an_aggregate, an_operation, decision_context, observation


@pytest.mark.law(5)
def test_what_a_payment_has_become_takes_the_place_of_a_note_and_not_of_a_problem() -> None:
    """Neither is reported yet: the note is outdated, and the problem is still to be seen in Saleor."""
    aggregate = an_aggregate(Flow.CHARGE, State.INIT)
    enqueue_note(aggregate, "Waiting for the shopper", decision_context())
    raise_problem(aggregate, Issue(IssueCode.UNREADABLE_RECORDS), NOON, cause=UNREADABLE)
    apply(aggregate, [observation(Kind.CREATE, State.SUCCESS)], decision_context())
    assert [(event.type, event.state) for event in aggregate.events] == [
        ("INFO", EventState.SUPERSEDED),
        ("INFO", EventState.WAITING),
        ("CHARGE_SUCCESS", EventState.WAITING),
    ]


@pytest.mark.law(5)
@pytest.mark.parametrize(
    ("kind", "reference", "operation_id", "state", "delays"),
    [
        (EventType.REFUND_FAILURE, "the-refund", None, EventState.WAITING, True),
        (EventType.REFUND_FAILURE, "the-refund", None, EventState.DELIVERED, False),
        (EventType.REFUND_FAILURE, "another", None, EventState.WAITING, False),
        (EventType.REFUND_SUCCESS, "the-refund", None, EventState.WAITING, False),
        (EventType.REFUND_REVERSE, "before", 7, EventState.WAITING, True),
        (EventType.REFUND_REVERSE, "before", 8, EventState.WAITING, False),
        (EventType.REFUND_SUCCESS, "before", 7, EventState.WAITING, False),
    ],
)
def test_success_is_not_answered_while_a_failure_or_a_reversal_of_the_same_operation_waits(
    kind: EventType, reference: str, operation_id: OperationRowId | None, state: EventState, *, delays: bool
) -> None:
    refund = an_operation(Kind.REFUND, State.SUCCESS, id=7, psp_reference="the-refund")
    event = SaleorEvent(
        type=kind.value,
        psp_reference=PspReference(reference),
        amount=HUNDRED,
        operation_id=operation_id,
        state=state,
        created_at=NOON,
    )
    assert should_delay_success(refund, [event]) is delays


@pytest.mark.law(5)
@pytest.mark.parametrize(
    ("state", "attempts", "kind", "reference", "is_superseded"),
    [
        (EventState.WAITING, 0, EventType.REFUND_FAILURE, "the-refund", True),
        (EventState.REFUSED, 0, EventType.REFUND_FAILURE, "the-refund", True),
        (EventState.REFUSED, 3, EventType.REFUND_FAILURE, "the-refund", True),
        (EventState.WAITING, 1, EventType.REFUND_FAILURE, "the-refund", False),
        (EventState.DELIVERED, 1, EventType.REFUND_FAILURE, "the-refund", False),
        (EventState.DELIVERED, 0, EventType.REFUND_FAILURE, "the-refund", False),
        (EventState.WAITING, 0, EventType.REFUND_FAILURE, "another", False),
        (EventState.WAITING, 0, EventType.CHARGE_FAILURE, "the-refund", False),
    ],
)
def test_success_supersedes_the_failures_of_the_same_operation_that_saleor_does_not_have(
    state: EventState, attempts: int, kind: EventType, reference: str, *, is_superseded: bool
) -> None:
    """One with a delivery attempt may be on its way."""
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    event = SaleorEvent(
        type=kind.value,
        psp_reference=PspReference(reference),
        amount=HUNDRED,
        state=state,
        attempts=attempts,
        created_at=NOON,
    )
    aggregate.events.append(event)
    supersede_failures(aggregate, EventType.REFUND_SUCCESS, PspReference("the-refund"), NOON)
    assert event.state is (EventState.SUPERSEDED if is_superseded else state)
