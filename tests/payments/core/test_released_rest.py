"""More of an authorization is charged after its rest was reported as released: that is taken back (law 10)."""

from decimal import Decimal

import pytest

from app.core.payment import PaymentAggregate, SaleorEvent
from app.core.vocabulary import EventState, Flow, Kind, State
from app.rules.references import reference_of_release
from app.rules.released_rest import correct_released_rest
from tests.payments.aggregates import NOON, an_aggregate, an_operation, decision_context

FORTY = Decimal("40.00")


def charged_twice(release: EventState, attempts: int) -> PaymentAggregate:
    captures = [
        an_operation(Kind.CAPTURE, State.SUCCESS, FORTY, psp_reference=name, operation_id=name)
        for name in ("first", "second")
    ]
    aggregate = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS, *captures)
    event = SaleorEvent(
        type="CANCEL_SUCCESS",
        psp_reference=reference_of_release("first"),
        amount=Decimal("60.00"),
        state=release,
        attempts=attempts,
        created_at=NOON,
    )
    aggregate.events.append(event)
    return aggregate


def taken_back(aggregate: PaymentAggregate) -> list[tuple[str, Decimal]]:
    correct_released_rest(aggregate, decision_context())
    return [(event.psp_reference, event.amount) for event in aggregate.events if event.type == "CANCEL_FAILURE"]


@pytest.mark.law(5)
def test_a_release_that_was_not_tried_yet_is_superseded() -> None:
    aggregate = charged_twice(EventState.WAITING, 0)
    assert taken_back(aggregate) == []
    assert aggregate.events[0].state is EventState.SUPERSEDED


@pytest.mark.law(5)
@pytest.mark.parametrize(("release", "attempts"), [(EventState.DELIVERED, 1), (EventState.WAITING, 1)])
def test_a_release_that_saleor_may_have_is_taken_back(release: EventState, attempts: int) -> None:
    aggregate = charged_twice(release, attempts)
    assert taken_back(aggregate) == [(reference_of_release("first"), Decimal("60.00"))]
    assert aggregate.events[0].state is release
