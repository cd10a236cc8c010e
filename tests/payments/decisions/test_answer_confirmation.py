"""What Saleor's history, or its refusal, says about an answer: on paper."""

from datetime import datetime, timedelta

import pytest

from app.core.payment import Operation, PaymentAggregate, SaleorEvent
from app.core.vocabulary import EventState, Flow, Kind, State
from app.rules.decisions.answer_confirmation import (
    AwaitedAnswer,
    HistoryNotRead,
    HistoryRead,
    RefundRerequested,
    awaited_answer,
)
from saleor_app_sdk.errors import SaleorUnreachableError
from saleor_app_sdk.history import REFUND_ALREADY_PROCESSED, REFUND_IS_PENDING, HistoryEntry
from saleor_app_sdk.responses import EventType
from tests.payments.aggregates import HUNDRED, NOON, an_aggregate, an_operation, decision_context

FAILED = EventType.REFUND_FAILURE
WINDOW = decision_context().schedule.answer_window


def an_event(number: int, operation: Operation, state: EventState) -> SaleorEvent:
    """Return the report, due at noon, that a refund of 100.00 has failed."""
    return SaleorEvent(
        id=number,
        operation_id=operation.id,
        type=FAILED.value,
        psp_reference="the-refund",
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


def entry(kind: str, amount: str = "100.00") -> HistoryEntry:
    return HistoryEntry.model_validate({"type": kind, "pspReference": "the-refund", "amount": {"amount": amount}})


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
    HistoryNotRead(1, SaleorUnreachableError("Saleor is down"), NOON).decide(aggregate)
    event = aggregate.events[0]
    assert (event.last_error, event.attempts) == ("Saleor is down", 0)
    assert event.next_attempt_at == NOON + timedelta(seconds=1)
