"""Which records are of a newer try on the page of a payment that was declined. Pure."""

import pytest

from app.core.ids import GatewayOperationId
from app.core.vocabulary import Flow, Kind, Mode, State
from app.rules.apply import apply
from tests.payments.aggregates import an_aggregate, decision_context, observation

pytestmark = pytest.mark.law(7, 12)


@pytest.mark.parametrize(
    ("mode", "declined", "newer"),
    [(Mode.HOSTED, "first", "second"), (Mode.DIRECT, "first", None), (Mode.HOSTED, None, None)],
    ids=["on the page", "there is no page", "nothing was declined"],
)
def test_another_card_can_be_tried_where_one_was_declined_on_a_page(
    mode: Mode, declined: str | None, newer: str | None
) -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.FAILURE)
    aggregate.payment.mode = mode
    aggregate.create.operation_id = None if declined is None else GatewayOperationId(declined)
    apply(aggregate, [observation(Kind.CREATE, State.PENDING, gateway_id="second")], decision_context())
    assert aggregate.create.newer_try == newer
    assert aggregate.create.state is State.FAILURE
    assert (aggregate.create.next_poll_at is None) is (newer is None)
