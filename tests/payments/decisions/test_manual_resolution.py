"""What staff can settle by hand, and what not: on paper."""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from app.core.ids import GatewayOperationId
from app.core.vocabulary import Flow, Kind, State
from app.rules.decisions.manual_resolution import Decision, OperationSettled
from app.rules.refusal import RefusalError
from tests.payments.aggregates import NOON, an_aggregate, an_operation, decision_context
from tests.payments.split.people import POTTER

SECOND = timedelta(seconds=1)
FAILED = OperationSettled(None, Decision(State.FAILURE, by="anna@shop.test", reason="not paid"), decision_context())


@pytest.mark.law(12)
@pytest.mark.parametrize("expires_at", [None, NOON, NOON - SECOND])
def test_a_page_that_nobody_can_pay_any_more_can_be_settled_as_failed(expires_at: datetime | None) -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.INIT)
    aggregate.payment.expires_at = expires_at
    FAILED.decide(aggregate)
    assert aggregate.create.state is State.FAILURE


@pytest.mark.law(12)
def test_a_page_that_the_shopper_can_still_pay_cannot_be_settled_as_failed() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.INIT)
    aggregate.payment.expires_at = NOON + SECOND
    with pytest.raises(RefusalError, match="can still pay"):
        FAILED.decide(aggregate)
    assert aggregate.create.state is State.INIT


def test_a_reservation_can_be_settled_as_released_and_only_as_a_whole() -> None:
    void = an_operation(Kind.VOID, State.UNKNOWN, psp_reference="void-1")
    aggregate = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS, void)
    released = Decision(State.SUCCESS, by="anna@shop.test", reason="seen in the portal")
    with pytest.raises(RefusalError, match="released as a whole"):
        OperationSettled(None, replace(released, amount=Decimal("99.99")), decision_context()).decide(aggregate)
    OperationSettled(None, released, decision_context()).decide(aggregate)
    assert [event.type for event in aggregate.events] == ["CANCEL_SUCCESS"]


def test_a_split_refund_can_be_settled_only_over_what_was_requested() -> None:
    """Nobody knows from which sub-merchants the gateway has taken another amount."""
    refund = an_operation(Kind.REFUND, State.UNKNOWN, Decimal("40.00"), shares={POTTER: Decimal("40.00")})
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refund)
    made = Decision(State.SUCCESS, by="anna@shop.test", reason="seen in the portal")
    with pytest.raises(RefusalError, match="split among sub-merchants"):
        OperationSettled(None, replace(made, amount=Decimal("39.99")), decision_context()).decide(aggregate)
    OperationSettled(None, replace(made, amount=Decimal("40.00")), decision_context()).decide(aggregate)
    assert refund.state is State.SUCCESS


@pytest.mark.law(7)
def test_a_charge_that_had_failed_can_be_settled_as_made_while_its_money_is_still_reserved() -> None:
    capture = an_operation(Kind.CAPTURE, State.FAILURE, psp_reference="capture-1")
    aggregate = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS, capture)
    made = Decision(State.SUCCESS, by="anna@shop.test", reason="seen in the portal")
    OperationSettled(capture.id, made, decision_context()).decide(aggregate)
    assert [event.type for event in aggregate.events] == ["CHARGE_SUCCESS"]
    again = an_operation(Kind.CAPTURE, State.FAILURE, psp_reference="capture-2")
    aggregate.operations.append(again)
    with pytest.raises(RefusalError, match="by another operation"):
        OperationSettled(again.id, made, decision_context()).decide(aggregate)


@pytest.mark.law(3)
@pytest.mark.parametrize(("of_first", "of_second", "left"), [("100.00", "10.00", "30.00"), ("10.00", "30.00", "10.00")])
def test_refund_of_a_later_charge_that_had_failed_is_settled_over_what_is_left_of_that_charge(
    of_first: str, of_second: str, left: str
) -> None:
    """The first payment of the subscription may be given back, or not: that is other money."""
    second = GatewayOperationId("second")
    charge = an_operation(Kind.RECURRING, State.SUCCESS, Decimal("40.00"), operation_id=second)
    failed = an_operation(Kind.REFUND, State.FAILURE, Decimal("40.00"), charge_id=second, psp_reference="refund-1")
    others = [
        an_operation(Kind.REFUND, State.SUCCESS, Decimal(amount), charge_id=of)
        for of, amount in ((None, of_first), (second, of_second))
    ]
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, charge, *others, failed)
    made = Decision(State.SUCCESS, by="anna@shop.test", reason="seen in the portal")
    with pytest.raises(RefusalError, match=f"{left} of this charge"):
        OperationSettled(failed.id, made, decision_context()).decide(aggregate)
    OperationSettled(failed.id, replace(made, amount=Decimal(left)), decision_context()).decide(aggregate)
    assert (failed.state, failed.amount) == (State.SUCCESS, Decimal(left))
