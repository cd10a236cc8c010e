"""What staff ask to be reported again, and under which reference Saleor has it already: on paper."""

import pytest

from app.core.payment import PaymentAggregate, SaleorEvent
from app.core.vocabulary import EventState, Flow, Kind, State
from app.rules.decisions.delivery import FoundInHistory, ResendRequested
from saleor_app_sdk.responses import EventType
from tests.payments.aggregates import HUNDRED, NOON, an_aggregate, an_operation


def event(state: EventState, actions: list[str] | None, row_id: int = 1) -> SaleorEvent:
    return SaleorEvent(
        id=row_id,
        type=EventType.REFUND_SUCCESS,
        psp_reference=f"refund-{row_id}",
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
    assert ResendRequested(1, NOON).decide(aggregate)
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
    is_found = FoundInHistory(1, "earlier", NOON).decide(aggregate)
    assert is_found is (state is EventState.WAITING)
    reference = "earlier" if is_found else "refund-1"
    assert {aggregate.events[0].psp_reference, aggregate.operations[1].psp_reference} == {reference}


@pytest.mark.law(9)
def test_reference_of_what_was_requested_here_stays() -> None:
    aggregate = by_others(EventState.WAITING)
    aggregate.operations[1].idempotency_key = "ours"
    assert not FoundInHistory(1, "earlier", NOON).decide(aggregate)
    assert aggregate.events[0].state is EventState.WAITING
