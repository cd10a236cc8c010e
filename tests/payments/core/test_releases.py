"""Releases that turn out otherwise.

More of an authorization is charged after its rest was reported as released: that is taken back (law 10). And a failure
of a reservation is believed without a question only if all of it was released, and none was charged.
"""

from decimal import Decimal

import pytest

from app.core.payment import PaymentAggregate, SaleorEvent
from app.core.vocabulary import EventState, Flow, Kind, State
from app.rules.references import reference_of_release
from app.rules.releases import correct_released_rest, is_failure_of_released
from tests.payments.aggregates import NOON, an_aggregate, an_operation, decision_context, observation

FORTY, HUNDRED = Decimal("40.00"), Decimal("100.00")


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


@pytest.mark.law(7)
@pytest.mark.parametrize(
    ("used", "believed"),
    [
        ([(Kind.VOID, HUNDRED)], True),
        ([], False),
        ([(Kind.VOID, FORTY)], False),
        ([(Kind.CAPTURE, FORTY), (Kind.VOID, HUNDRED)], False),
    ],
    ids=["released whole", "neither", "released in part", "charged in part"],
)
def test_failure_of_a_reservation_is_believed_once_it_was_released(
    used: list[tuple[Kind, Decimal]], *, believed: bool
) -> None:
    done = [an_operation(kind, State.SUCCESS, amount) for kind, amount in used]
    aggregate = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS, *done)
    failed = observation(Kind.CREATE, State.FAILURE)
    aggregate.create.operation_id = failed.gateway_id
    assert is_failure_of_released(aggregate, failed, []) is believed
