"""Whose a record is where one order has many charges: the payment's, a later charge's or somebody else's. Pure."""

from datetime import timedelta

import pytest

from app.core.ids import GatewayOperationId
from app.core.payment import PaymentAggregate
from app.core.vocabulary import Flow, Kind, State
from app.rules.subscription import (
    Subscription,
    has_running_subscription,
    is_later_charge,
    is_of_unknown_payment,
    update_subscription,
)
from tests.payments.aggregates import NOON, an_aggregate

LATER = NOON + timedelta(days=30)
MONTHLY = Subscription("monthly", "active")

_FIRST = GatewayOperationId("first")


def begun(state: State = State.SUCCESS, operation_id: GatewayOperationId | None = _FIRST) -> PaymentAggregate:
    """Return the payment that began a subscription."""
    aggregate = an_aggregate(Flow.CHARGE, state)
    aggregate.payment.recurring_id = MONTHLY.recurring_id
    aggregate.create.operation_id, aggregate.create.booked_at = operation_id, NOON
    return aggregate


def test_only_what_began_a_subscription_has_one_that_runs() -> None:
    assert has_running_subscription(begun().payment)
    assert not has_running_subscription(an_aggregate(Flow.CHARGE, State.SUCCESS).payment)


@pytest.mark.law(7)
@pytest.mark.parametrize(
    ("known", "seen", "becomes"),
    [
        (None, "init", "init"),
        ("init", "active", "active"),
        ("active", "init", "active"),
        ("active", "canceled", "canceled"),
        ("canceled", "active", "canceled"),
        ("init", "of tomorrow", "of tomorrow"),
        ("canceled", None, "canceled"),
    ],
)
def test_status_of_a_subscription_only_goes_forward(known: str | None, seen: str | None, becomes: str) -> None:
    """A status that is not known says nothing about what is past."""
    payment = begun().payment
    payment.recurring_status = known
    update_subscription(payment, Subscription("another", "canceled"))
    update_subscription(payment, Subscription("monthly", seen))
    assert payment.recurring_status == becomes


@pytest.mark.law(10)
@pytest.mark.parametrize("state", [State.SUCCESS, State.FAILURE])
def test_a_later_charge_is_another_payment_after_the_first_has_succeeded(state: State) -> None:
    assert is_later_charge(begun(), "second", MONTHLY, LATER, state)
    assert not is_later_charge(begun(), "first", MONTHLY, LATER, state)
    assert not is_later_charge(begun(), "second", MONTHLY, NOON - timedelta(minutes=1), state)
    assert not is_later_charge(begun(), "second", Subscription("another"), LATER, state)
    assert not is_later_charge(begun(), "second", None, LATER, state)
    assert not is_later_charge(begun(State.PENDING), "second", MONTHLY, LATER, state)
    assert not is_later_charge(begun(operation_id=None), "second", MONTHLY, LATER, state)


@pytest.mark.law(10)
@pytest.mark.parametrize(
    ("state", "operation_id", "is_unknown"),
    [(State.SUCCESS, "first", True), (State.SUCCESS, None, False), (State.PENDING, "first", False)],
)
def test_a_refund_of_another_payment_is_unknown_once_ours_is_known(
    state: State, operation_id: GatewayOperationId | None, is_unknown: bool
) -> None:
    aggregate = begun(state, operation_id)
    aggregate.payment.recurring_id = None
    assert is_of_unknown_payment(aggregate, "another", Kind.REFUND) is is_unknown
    assert not is_of_unknown_payment(aggregate, "another", Kind.DISPUTE)
    assert not is_of_unknown_payment(aggregate, operation_id, Kind.REFUND)
