"""What Saleor's history, or its refusal, says about an answer: on paper."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from app.core.ids import EventRowId, PspReference
from app.core.payment import Operation, PaymentAggregate, SaleorEvent
from app.core.vocabulary import EventState, Flow, Kind, State
from app.rules.decisions.answer_confirmation import (
    AwaitedAnswer,
    Confirmation,
    HistoryNotRead,
    HistoryRead,
    RefundRerequested,
    awaited_answer,
)
from app.rules.decisions.answer_window import events_of
from saleor_app_sdk.errors import SaleorUnreachableError
from saleor_app_sdk.history import REFUND_ALREADY_PROCESSED, REFUND_IS_PENDING, HistoryEntry
from saleor_app_sdk.responses import EventType
from tests.payments.aggregates import HUNDRED, NOON, an_aggregate, an_operation, decision_context

FAILED = EventType.REFUND_FAILURE
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
WINDOW = decision_context().schedule.answer_window


def an_event(number: int, operation: Operation, state: EventState) -> SaleorEvent:
    """Return the report, due at noon, that a refund of 100.00 has failed."""
    return SaleorEvent(
        id=EventRowId(number),
        operation_id=operation.id,
        type=FAILED.value,
        psp_reference=PspReference("the-refund"),
        amount=HUNDRED,
        state=state,
        attempts=1,
        next_attempt_at=NOON,
        created_at=NOON,
    )


@pytest.fixture
def refund() -> Operation:
    return an_operation(
        Kind.REFUND,
        State.FAILURE,
        psp_reference="the-refund",
        saleor_requests=[{"key": "key", "digest": "digest"}],
        answer_awaited_until=NOON,
    )


@pytest.fixture
def aggregate(refund: Operation) -> PaymentAggregate:
    """A payment whose refund has failed, and the failure is not reported yet."""
    held = an_aggregate(Flow.CHARGE, State.SUCCESS, refund)
    held.events = [an_event(1, refund, EventState.WAITING)]
    return held


def awaited(aggregate: PaymentAggregate) -> AwaitedAnswer:
    found = awaited_answer(aggregate, aggregate.events[0])
    assert found is not None
    return found


def entry(kind: str, amount: str = "100.00", **more: str) -> HistoryEntry:
    members = {"type": kind, "pspReference": "the-refund", "amount": {"amount": amount}}
    return HistoryEntry.model_validate(members | more)


UNREAD = entry("REFUND_REQUEST", pspReference="", idempotencyKey="key")


@pytest.mark.law(5)
def test_events_of_an_operation_are_those_that_are_linked_to_it(aggregate: PaymentAggregate, refund: Operation) -> None:
    """One without a row yet has none, although a note of the payment has no operation either."""
    other = an_operation(Kind.REFUND, State.FAILURE)
    note = an_event(2, an_operation(Kind.REFUND, State.FAILURE, id=None), EventState.WAITING)
    aggregate.events += [an_event(3, other, EventState.WAITING), note]
    assert [event.id for event in events_of(aggregate, refund)] == [1]
    assert events_of(aggregate, an_operation(Kind.REFUND, State.INTENT, id=None)) == []


@pytest.mark.law(5)
@pytest.mark.parametrize("state", EventState)
def test_only_a_waiting_failure_counts_as_delivered_that_saleor_has_with_another_amount(
    aggregate: PaymentAggregate, state: EventState
) -> None:
    """Saleor would refuse it. What was superseded or refused has not become a delivery by that."""
    aggregate.events.append(an_event(2, aggregate.operations[-1], state))
    history = [entry("REFUND_REQUEST"), entry(FAILED.value, "99.00")]
    HistoryRead(awaited(aggregate), history, decision_context()).decide(aggregate)
    assert aggregate.events[1].state is (EventState.DELIVERED if state is EventState.WAITING else state)


def test_what_saleor_refuses_to_show_holds_nothing_back(aggregate: PaymentAggregate, refund: Operation) -> None:
    assert HistoryRead(awaited(aggregate), None, decision_context()).decide(aggregate) == Confirmation()
    assert refund.answer_awaited_until is None
    assert aggregate.events[0].state is EventState.WAITING


@pytest.mark.law(9)
@pytest.mark.parametrize("is_taken", [False, True])
def test_the_reference_of_saleors_request_is_the_operations_unless_it_is_anothers(
    aggregate: PaymentAggregate, refund: Operation, *, is_taken: bool
) -> None:
    """Of two requests at the same moment each can have the reference of the other's answer."""
    other = an_operation(Kind.REFUND, State.SUCCESS, psp_reference="saleors" if is_taken else "another")
    aggregate.operations.append(other)
    history = [entry("REFUND_REQUEST", pspReference="saleors", idempotencyKey="key")]
    found = HistoryRead(awaited(aggregate), history, decision_context()).decide(aggregate)
    assert found.reference == (None if is_taken else "saleors")
    assert (refund.answer_awaited_until is None) is not is_taken
    expected = "the-refund" if is_taken else "saleors"
    assert (refund.psp_reference, aggregate.events[0].psp_reference) == (expected, expected)


@pytest.mark.law(5)
@pytest.mark.parametrize("meanwhile", ["nothing", "repeated", "found"])
def test_an_event_whose_answer_is_not_read_yet_waits_without_counting_an_attempt(
    aggregate: PaymentAggregate, refund: Operation, meanwhile: str
) -> None:
    """So does one whose request Saleor has repeated since, or whose answer was found to be read by somebody else."""
    asked = awaited(aggregate)
    if meanwhile == "repeated":
        refund.saleor_requests = [*refund.saleor_requests, {"key": "again", "digest": "again"}]
    elif meanwhile == "found":
        refund.answer_awaited_until = None
    before = refund.answer_awaited_until
    assert HistoryRead(asked, [UNREAD], decision_context()).decide(aggregate) == Confirmation()
    event = aggregate.events[0]
    assert (event.next_attempt_at, event.attempts, event.state) == (NOON + SECOND, 0, EventState.WAITING)
    assert refund.answer_awaited_until == before


@pytest.mark.law(9)
@pytest.mark.parametrize(
    ("failed_after", "is_over"), [((1, 6), True), ((1,), False), ((-1, 1), False)], ids=["both", "one", "one before"]
)
def test_answers_to_requests_that_look_alike_are_given_up_once_saleor_has_failed_each(
    aggregate: PaymentAggregate, refund: Operation, failed_after: tuple[int, ...], *, is_over: bool
) -> None:
    """A failure without a reference may be that of either request, and may be older than the later one."""
    requests = [
        entry("REFUND_REQUEST", pspReference="", idempotencyKey=key, createdAt=(NOON + minutes * MINUTE).isoformat())
        for key, minutes in (("key", 0), ("another", 5))
    ]
    failures = [
        entry(FAILED.value, pspReference="", createdAt=(NOON + minutes * MINUTE).isoformat())
        for minutes in failed_after
    ]
    refund.granted_refund_id, refund.state = "grant", State.SUCCESS
    found = HistoryRead(awaited(aggregate), [*requests, *failures], decision_context()).decide(aggregate)
    assert found == Confirmation(granted="grant" if is_over else None)


@pytest.mark.law(9)
@pytest.mark.parametrize(
    ("changed", "is_requested"),
    [
        ({}, True),
        ({"asked_anew": 2}, True),
        ({"asked_anew": 3}, False),  # reported under a reference of ours, which is better than not at all
        ({"granted_refund_id": None}, False),
        ({"state": State.FAILURE}, False),
        ({"state": State.FAILURE, "contradicted": True}, True),
    ],
)
def test_a_granted_refund_whose_answer_was_never_read_is_requested_again_unless_it_has_failed(
    aggregate: PaymentAggregate, refund: Operation, changed: dict[str, Any], *, is_requested: bool
) -> None:
    for name, value in {"state": State.SUCCESS, "granted_refund_id": "grant", **changed}.items():
        setattr(refund, name, value)
    context = decision_context(now=NOON + decision_context().schedule.unread_timeout)
    found = HistoryRead(awaited(aggregate), [UNREAD], context).decide(aggregate)
    assert found == Confirmation(granted="grant" if is_requested else None)
    event = aggregate.events[0]
    waits = (context.now + 60 * SECOND, 0) if is_requested else (NOON, 1)
    assert (event.next_attempt_at, event.attempts) == waits
    assert (refund.answer_awaited_until is None) is not is_requested


@pytest.mark.law(9)
@pytest.mark.parametrize(
    ("code", "awaited_until", "next_attempt_at"),
    [
        (None, NOON + WINDOW, NOON + WINDOW),
        (REFUND_IS_PENDING, NOON, NOON + WINDOW),
        (REFUND_ALREADY_PROCESSED, None, NOON),
    ],
)
def test_a_refund_requested_again_waits_for_its_webhook_unless_saleor_refuses(
    aggregate: PaymentAggregate,
    refund: Operation,
    code: str | None,
    awaited_until: datetime | None,
    next_attempt_at: datetime,
) -> None:
    RefundRerequested(awaited(aggregate), decision_context(), code).decide(aggregate)
    assert (refund.answer_awaited_until, refund.asked_anew) == (awaited_until, 1)
    assert aggregate.events[0].next_attempt_at == next_attempt_at


def test_an_event_whose_history_could_not_be_read_says_why_it_waits(aggregate: PaymentAggregate) -> None:
    HistoryNotRead(EventRowId(1), SaleorUnreachableError("Saleor is down"), NOON).decide(aggregate)
    event = aggregate.events[0]
    assert (event.last_error, event.attempts) == ("Saleor is down", 0)
    assert event.next_attempt_at == NOON + SECOND


@pytest.mark.parametrize(("pause", "waits"), [(None, 1), (0.0, 1), (40.0, 40), (3600.0, 300)])
def test_an_event_waits_as_long_as_saleor_says_before_its_history_is_read_again(
    aggregate: PaymentAggregate, pause: float | None, waits: int
) -> None:
    error = SaleorUnreachableError("too many requests")
    error.pause = pause
    HistoryNotRead(EventRowId(1), error, NOON).decide(aggregate)
    assert aggregate.events[0].next_attempt_at == NOON + waits * SECOND
