"""A failure of a reservation is believed without a question only if all of it was released, and none was charged."""

from decimal import Decimal

import pytest

from app.core.vocabulary import Flow, Kind, State
from app.rules.released_reservation import is_failure_of_released
from tests.payments.aggregates import an_aggregate, an_operation, observation

FORTY, HUNDRED = Decimal("40.00"), Decimal("100.00")


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
