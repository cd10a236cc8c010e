"""The one mapper: what follows from the gateway's word (laws of money, 7, 8, 14). Pure."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.amounts import is_amount
from app.db.tables import Flow, Kind, State
from app.payments.core.mapper import Transition, compute_transition, event_type_of
from tests.payments.aggregates import HUNDRED, known_operation, observation

kinds = st.sampled_from(list(Kind))
states = st.sampled_from(list(State))
said_states = st.sampled_from([State.INIT, State.PENDING, State.SUCCESS, State.FAILURE])
amounts = st.decimals(min_value="-1000", max_value="1000", places=3)


@pytest.mark.parametrize(
    ("kind", "flow", "success", "failure"),
    [
        (Kind.CREATE, Flow.CHARGE, "CHARGE_SUCCESS", "CHARGE_FAILURE"),
        (Kind.CREATE, Flow.AUTHORIZATION, "AUTHORIZATION_SUCCESS", "AUTHORIZATION_FAILURE"),
        (Kind.CAPTURE, Flow.AUTHORIZATION, "CHARGE_SUCCESS", "CHARGE_FAILURE"),
        (Kind.VOID, Flow.AUTHORIZATION, "CANCEL_SUCCESS", "CANCEL_FAILURE"),
        (Kind.CANCEL, Flow.CHARGE, "CANCEL_SUCCESS", "CANCEL_FAILURE"),
        (Kind.REFUND, Flow.CHARGE, "REFUND_SUCCESS", "REFUND_FAILURE"),
    ],
)
def test_what_saleor_hears_of_an_end(kind: Kind, flow: Flow, success: str, failure: str) -> None:
    assert event_type_of(kind, flow, State.SUCCESS) == success
    assert event_type_of(kind, flow, State.FAILURE) == failure


@given(kind=kinds, flow=st.sampled_from(list(Flow)), state=states.filter(lambda state: not state.final))
def test_saleor_hears_nothing_of_the_way_there(kind: Kind, flow: Flow, state: State) -> None:
    assert event_type_of(kind, flow, state) is None


@pytest.mark.law(7)
@given(kind=kinds, before=states, after=said_states, inferred=st.booleans())
def test_forward_only(kind: Kind, before: State, after: State, inferred: bool) -> None:
    """Only our own conclusion from silence is ever taken back."""
    inferred = inferred and before is State.FAILURE
    transition = compute_transition(known_operation(kind, before, inferred=inferred), observation(kind, after))
    if transition.state is not None:
        assert transition.state is after
        assert after.rank > before.rank or inferred
    if before is after:
        assert transition == (Transition(state=after) if inferred else Transition())
    if before.final and not inferred:
        assert transition.state is None
        assert (transition.problem is not None) is (after.final and after is not before)


@pytest.mark.law(8)
@given(kind=kinds, before=states, amount=amounts, paid=st.none() | amounts, other=st.sampled_from(["", "pos", "order"]))
def test_a_success_says_what_was_asked_or_what_was_paid_and_nothing_else(
    kind: Kind, before: State, amount: Decimal, paid: Decimal | None, other: str
) -> None:
    """Over all amounts that a gateway could name."""
    more: dict[str, Any] = {"pos": {"pos_id": "another"}, "order": {"order_id": "another"}}.get(other, {})
    transition = compute_transition(
        known_operation(kind, before), observation(kind, State.SUCCESS, amount, paid=paid, **more)
    )
    if transition.event is not None:
        assert amount == HUNDRED
        assert transition.amount == (HUNDRED if paid is None else paid)
        assert transition.amount is not None
        assert is_amount(transition.amount)
        assert not more


@given(kind=kinds, before=states, amount=amounts, paid=st.none() | amounts)
def test_a_failure_never_changes_an_amount(kind: Kind, before: State, amount: Decimal, paid: Decimal | None) -> None:
    transition = compute_transition(known_operation(kind, before), observation(kind, State.FAILURE, amount, paid=paid))
    assert transition.amount is None


@pytest.mark.threat("tampered-amount")
@pytest.mark.parametrize(
    "wrong",
    [
        {"pos_id": "another"},
        {"order_id": "another"},
        {"currency": "USD"},
        {"flow": Flow.AUTHORIZATION},
        {"amount": Decimal("99.99")},
        {"amount": Decimal("100.01")},
        {"paid": Decimal("100.00"), "paid_currency": "USD"},
        {"paid": Decimal(0)},
        {"paid": Decimal("-100.00")},
        {"paid": Decimal("99.999")},
    ],
)
def test_whatever_does_not_agree_is_a_problem_in_words_and_no_success(wrong: dict[str, Any]) -> None:
    transition = compute_transition(
        known_operation(Kind.CREATE, State.INIT), observation(Kind.CREATE, State.SUCCESS, **wrong)
    )
    assert (transition.state, transition.event) == (None, None)
    assert transition.problem is not None
    assert transition.problem.endswith(".")


def test_what_nobody_of_ours_asked_for_may_have_any_amount_of_money() -> None:
    nobody = known_operation(Kind.REFUND, State.INTENT, requested_amount=None)
    assert compute_transition(nobody, observation(Kind.REFUND, State.SUCCESS, Decimal("12.34"))).amount == Decimal(
        "12.34"
    )
    assert compute_transition(nobody, observation(Kind.REFUND, State.SUCCESS, Decimal("12.345"))).problem is not None


@pytest.mark.parametrize(
    ("amount", "good"),
    [("0.01", True), ("100", True), ("1E+2", True), ("0", False), ("0.00", False), ("-1", False), ("1.001", False)],
)
def test_what_is_an_amount_of_money(amount: str, good: bool) -> None:
    assert is_amount(Decimal(amount)) is good
