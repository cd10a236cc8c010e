"""What is left to whom while refunds wait for one another: on paper."""

from decimal import Decimal

import pytest

from app.core.vocabulary import Flow, Kind, State
from app.rules.split.standing import standing_of
from tests.payments.aggregates import an_aggregate, an_operation
from tests.payments.split.people import MARKET, POTTER, SMITH

TEN, FORTY = Decimal("10.00"), Decimal("40.00")


@pytest.mark.law(3)
def test_what_waits_counts_except_for_the_one_before_it_whose_turn_has_come() -> None:
    made, first, second = (
        an_operation(Kind.REFUND, state, TEN, shares={POTTER: TEN})
        for state in (State.SUCCESS, State.WAITING, State.WAITING)
    )
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, made, first, second)
    aggregate.create.shares = {POTTER: FORTY, SMITH: Decimal("60.00")}
    assert standing_of(aggregate).left[POTTER] == TEN
    assert standing_of(aggregate, with_waiting=False).left[POTTER] == Decimal("30.00")


@pytest.mark.law(8)
def test_captures_of_others_give_nobody_more_than_was_allocated() -> None:
    """Each is rounded towards what is left of the shares: cents that always go to the same one add up."""
    captures = [an_operation(Kind.CAPTURE, State.SUCCESS, TEN) for _ in range(10)]
    aggregate = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS, *captures)
    aggregate.create.shares = {MARKET: Decimal("33.34"), POTTER: Decimal("33.33"), SMITH: Decimal("33.33")}
    assert standing_of(aggregate).left == aggregate.create.shares
