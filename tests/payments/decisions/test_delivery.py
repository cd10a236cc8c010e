"""What staff ask to be reported again, and under which reference Saleor has it already: on paper."""

from dataclasses import replace
from datetime import timedelta

import pytest

from app.core.ids import EventRowId, PspReference
from app.core.payment import PaymentAggregate, SaleorEvent
from app.core.vocabulary import EventState, Flow, Kind, State
from app.rules.decisions.delivery import EventDue, EventReported, FoundInHistory, ResendRequested, find_ready_event
from saleor_app_sdk.errors import SaleorUnreachableError
from saleor_app_sdk.responses import EventType
from tests.payments.aggregates import HUNDRED, NOON, an_aggregate, an_operation, decision_context


def event(state: EventState, actions: list[str] | None, row_id: int = 1) -> SaleorEvent:
    return SaleorEvent(
        id=EventRowId(row_id),
        type=EventType.REFUND_SUCCESS,
        psp_reference=PspReference(f"refund-{row_id}"),
        amount=HUNDRED,
        available_actions=actions,
        state=state,
        created_at=NOON,
    )


@pytest.mark.law(5)
@pytest.mark.parametrize(
    ("later", "kept"), [(None, ["CHARGE"]), ([], None), (["REFUND"], None)], ids=["no others", "nothing", "a refund"]
)
def test_what_is_reported_again_offers_nothing_that_later_events_have_withdrawn(
    later: list[str] | None, kept: list[str] | None
) -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    refused = event(EventState.REFUSED, ["CHARGE"])
    aggregate.events += [refused, event(EventState.DELIVERED, later, row_id=2)]
    assert ResendRequested(EventRowId(1), NOON).decide(aggregate)
    assert (refused.state, refused.next_attempt_at) == (EventState.WAITING, NOON)
    assert refused.available_actions == kept


def by_others(state: EventState) -> PaymentAggregate:
    refund = an_operation(Kind.REFUND, State.SUCCESS, idempotency_key="gateway:1", psp_reference="refund-1")
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refund)
    aggregate.events.append(event(state, None))
    return aggregate


@pytest.mark.law(9)
@pytest.mark.parametrize("state", EventState)
def test_only_what_waits_takes_the_reference_over_that_saleor_has(state: EventState) -> None:
    """While the history was read, the event was told: Saleor has it under our own reference, too."""
    aggregate = by_others(state)
    is_found = FoundInHistory(EventRowId(1), PspReference("earlier"), NOON).decide(aggregate)
    assert is_found is (state is EventState.WAITING)
    reference = "earlier" if is_found else "refund-1"
    assert {aggregate.events[0].psp_reference, aggregate.operations[1].psp_reference} == {reference}


@pytest.mark.law(9)
def test_reference_of_what_was_requested_here_stays() -> None:
    aggregate = by_others(EventState.WAITING)
    aggregate.operations[1].idempotency_key = "ours"
    assert not FoundInHistory(EventRowId(1), PspReference("earlier"), NOON).decide(aggregate)
    assert aggregate.events[0].state is EventState.WAITING


@pytest.mark.law(5)
def test_a_refused_failure_is_not_reported_again_before_the_success_that_is_under_way() -> None:
    """Saleor would take the refund for failed, and staff would make it once more."""
    failure, success = event(EventState.REFUSED, None), event(EventState.WAITING, None, row_id=2)
    failure.type, failure.psp_reference = EventType.REFUND_FAILURE, success.psp_reference
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    aggregate.events += [failure, success]
    assert not ResendRequested(EventRowId(1), NOON).decide(aggregate)
    assert failure.state is EventState.SUPERSEDED


@pytest.mark.law(5, 9)
def test_an_event_waits_until_saleor_must_have_read_the_answer_to_its_request() -> None:
    read_by = NOON + timedelta(seconds=1)
    refund = an_operation(Kind.REFUND, State.SUCCESS, psp_reference="refund-1", answer_awaited_until=read_by)
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refund)
    told = event(EventState.WAITING, None)
    told.operation_id = refund.id
    aggregate.events.append(told)
    window = timedelta(seconds=25)
    early = EventDue(EventRowId(1), NOON, window).decide(aggregate)
    assert (early.event, early.awaited, told.next_attempt_at) == (None, None, read_by)
    assert EventDue(EventRowId(1), read_by, window).decide(aggregate).awaited is not None


@pytest.mark.law(5)
@pytest.mark.parametrize(("actions", "is_ready"), [(None, True), ([], False)])
def test_note_is_reported_until_a_later_event_has_the_actions(actions: list[str] | None, *, is_ready: bool) -> None:
    """What is not ready is prepared under the lock, where it is superseded."""
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    note = replace(event(EventState.WAITING, ["CHARGE"]), type=EventType.INFO)
    aggregate.events += [note, event(EventState.WAITING, actions, row_id=2)]
    assert (find_ready_event(aggregate, EventRowId(1)) is not None) is is_ready
    assert (EventDue(EventRowId(1), NOON, timedelta(0)).decide(aggregate).event is note) is is_ready


@pytest.mark.law(5)
@pytest.mark.parametrize(
    ("pause", "attempts", "seconds"),
    [(None, 1, 1), (0.0, 1, 1), (40.0, 1, 40), (2.0, 5, 16), (3600.0, 1, 300)],
    ids=["none stated", "for no time", "longer than ours", "shorter than ours", "longer than our longest"],
)
def test_a_report_waits_as_long_as_saleor_says_that_it_has_no_time(
    pause: float | None, attempts: int, seconds: int
) -> None:
    error = SaleorUnreachableError("too many requests")
    error.pause = pause
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    waiting = event(EventState.WAITING, None)
    waiting.attempts = attempts
    aggregate.events.append(waiting)
    EventReported(EventRowId(1), error, decision_context()).decide(aggregate)
    assert (waiting.state, waiting.next_attempt_at) == (EventState.WAITING, NOON + timedelta(seconds=seconds))
