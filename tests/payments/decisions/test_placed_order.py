"""How often Saleor is asked for the order of a paid checkout: on paper."""

from datetime import timedelta

import pytest

from app.core.vocabulary import Flow, State
from app.rules.decisions.placed_order import OrderNotAsked
from tests.payments.aggregates import NOON, an_aggregate


@pytest.mark.parametrize(("polls", "left"), [(2, 1), (1, 0), (0, 0)])
def test_poll_that_saleor_did_not_let_the_app_make_is_made_an_hour_later_and_not_counted(polls: int, left: int) -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    aggregate.payment.order_polls = polls
    OrderNotAsked(NOON).decide(aggregate)
    assert aggregate.payment.order_polls == left
    assert aggregate.payment.next_order_poll_at == NOON + timedelta(hours=1)
