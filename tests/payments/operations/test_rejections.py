"""A refusal says how the payment stands, with amounts, and what to do instead. Pure."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.payment import Operation
from app.core.vocabulary import Flow, Kind, State
from app.rules.balance import balance
from app.rules.decisions.action import step_for
from app.rules.decisions.rejections import rejection_message
from app.rules.refusal import RefusalError
from saleor_app_sdk.responses import AvailableAction
from tests.payments.aggregates import HUNDRED, an_operation

CHARGE, REFUND, CANCEL = AvailableAction.CHARGE, AvailableAction.REFUND, AvailableAction.CANCEL
Standing = tuple[Flow, State, list[Operation]]
ActionRequest = tuple[AvailableAction, str]
AT_ONCE, FIRST = Flow.CHARGE, Flow.AUTHORIZATION


def op(kind: Kind, state: State, amount: str = "100.00") -> Operation:
    return an_operation(kind, state, Decimal(amount))


TAKEN_IN_PART = op(Kind.CAPTURE, State.SUCCESS, "60.00")
BEING_TAKEN = op(Kind.CAPTURE, State.PENDING, "60.00")
RELEASED = op(Kind.VOID, State.SUCCESS)
BEING_RELEASED = op(Kind.VOID, State.UNKNOWN)
TWO_REFUNDS = [op(Kind.REFUND, State.SUCCESS, "30.00"), op(Kind.REFUND, State.WAITING, "50.00")]
BEING_CLOSED = op(Kind.CANCEL, State.UNKNOWN, "0.00")

TAKEN_ONCE = (
    "60.00 UAH of this authorization has already been charged, and the gateway can charge an authorization only "
    "once: ask the shopper for a new payment."
)
PARTLY_GONE = (
    "20.01 UAH cannot be refunded: 100.00 UAH was charged, 30.00 UAH has already been refunded, 50.00 UAH is "
    "being refunded. Refund at most 20.00 UAH."
)
FINDING_OUT = (
    "It is not yet known whether the payment page was opened, and the app is checking: there is nothing to cancel."
)


@pytest.mark.parametrize(
    ("standing", "asked", "words"),
    [
        ((FIRST, State.SUCCESS, []), (CHARGE, "100.01"),
          "100.01 UAH cannot be charged: 100.00 UAH is authorized. Charge at most 100.00 UAH."),
        ((FIRST, State.SUCCESS, [TAKEN_IN_PART]), (CHARGE, "40.00"), TAKEN_ONCE),
        ((FIRST, State.SUCCESS, [TAKEN_IN_PART]), (CHARGE, "0"), TAKEN_ONCE),
        ((FIRST, State.SUCCESS, [BEING_TAKEN]), (CHARGE, "40.00"),
          ("60.00 UAH of this authorization is being charged right now, and the gateway can charge an "
          "authorization only once.")),
        ((FIRST, State.SUCCESS, [RELEASED]), (CHARGE, "1.00"),
          "The authorization of 100.00 UAH was released: nothing can be charged."),
        ((FIRST, State.SUCCESS, [BEING_RELEASED]), (CHARGE, "1.00"),
          "The authorization of 100.00 UAH is being released right now: nothing can be charged."),
        ((FIRST, State.SUCCESS, [RELEASED, op(Kind.DISPUTE, State.PENDING)]), (CHARGE, "1.00"),
          "The authorization of 100.00 UAH was released: nothing can be charged."),
        ((AT_ONCE, State.SUCCESS, []), (CHARGE, "1.00"),
          "100.00 UAH was charged immediately: there is no authorization to charge."),
        ((FIRST, State.INIT, []), (CHARGE, "1.00"),
          "The shopper has not paid yet: there is no authorization to charge."),
        ((FIRST, State.PENDING, []), (CHARGE, "1.00"),
          "The bank is still processing the payment: there is no authorization to charge."),
        ((AT_ONCE, State.INIT, []), (REFUND, "1.00"),
          "The shopper has not paid yet: cancel the payment instead."),
        ((AT_ONCE, State.INIT, [BEING_CLOSED]), (REFUND, "1.00"),
          "The shopper has not paid yet: nothing can be refunded."),
        ((AT_ONCE, State.PENDING, []), (REFUND, "1.00"),
          "The bank is still processing the payment: nothing can be refunded."),
        ((AT_ONCE, State.FAILURE, []), (REFUND, "1.00"),
          "The payment did not go through, and nothing was charged: nothing can be refunded."),
        ((FIRST, State.SUCCESS, []), (REFUND, "1.00"),
          "100.00 UAH is authorized, and nothing has been charged yet: cancel the authorization instead."),
        ((FIRST, State.SUCCESS, [RELEASED]), (REFUND, "1.00"),
          "The authorization of 100.00 UAH was released: nothing was charged, and nothing can be refunded."),
        ((FIRST, State.SUCCESS, [BEING_TAKEN]), (REFUND, "1.00"),
          "60.00 UAH is being charged right now: refund it when that is done."),
        ((FIRST, State.SUCCESS, [TAKEN_IN_PART]), (REFUND, "60.01"),
          "60.01 UAH cannot be refunded: 60.00 UAH was charged. Refund at most 60.00 UAH."),
        ((FIRST, State.SUCCESS, [TAKEN_IN_PART]), (REFUND, "1708.5"),
          "1708.50 UAH cannot be refunded: 60.00 UAH was charged. Refund at most 60.00 UAH."),
        ((AT_ONCE, State.SUCCESS, TWO_REFUNDS), (REFUND, "20.01"), PARTLY_GONE),
        ((AT_ONCE, State.SUCCESS, [op(Kind.REFUND, State.SUCCESS)]), (REFUND, "0"),
          "100.00 UAH was charged, 100.00 UAH has already been refunded: nothing is left to refund."),
        ((AT_ONCE, State.SUCCESS, []), (CANCEL, "0"),
          "100.00 UAH has already been charged: refund it instead."),
        ((FIRST, State.SUCCESS, [TAKEN_IN_PART]), (CANCEL, "0"),
          "60.00 UAH has already been charged: refund it instead."),
        ((AT_ONCE, State.SUCCESS, [op(Kind.REFUND, State.UNKNOWN)]), (CANCEL, "0"),
          "100.00 UAH was charged and has been or is being returned: there is nothing to cancel."),
        ((FIRST, State.SUCCESS, [BEING_TAKEN]), (CANCEL, "0"),
          "60.00 UAH is being charged right now: refund it when that is done."),
        ((FIRST, State.SUCCESS, [RELEASED]), (CANCEL, "0"),
          "The authorization of 100.00 UAH was released: there is nothing to cancel."),
        ((AT_ONCE, State.INIT, [BEING_CLOSED]), (CANCEL, "0"),
          "The payment page is already being closed."),
        ((AT_ONCE, State.PENDING, []), (CANCEL, "0"),
          "The bank is still processing the payment: nothing can be cancelled until it has decided."),
        ((AT_ONCE, State.FAILURE, []), (CANCEL, "0"),
          "The payment did not go through, and nothing was charged: there is nothing to cancel."),
        ((AT_ONCE, State.UNKNOWN, []), (CANCEL, "0"), FINDING_OUT),
    ],
)  # fmt: skip
def test_a_refusal_says_why_and_what_to_do(standing: Standing, asked: ActionRequest, words: str) -> None:
    flow, state, others = standing
    action, amount = asked
    now = balance(flow, [op(Kind.CREATE, state), *others])
    with pytest.raises(RefusalError) as refused:
        step_for(action, Decimal(amount), now)
    assert refused.value.message == words


@given(
    flow=st.sampled_from(list(Flow)),
    state=st.sampled_from(list(State)),
    others=st.lists(st.builds(op, st.sampled_from(list(Kind)[1:]), st.sampled_from(list(State))), max_size=4),
    action=st.sampled_from(list(AvailableAction)),
)
def test_there_are_words_for_every_standing(
    flow: Flow, state: State, others: list[Operation], action: AvailableAction
) -> None:
    now = balance(flow, [an_operation(Kind.CREATE, state, HUNDRED), *others])
    if action not in now.actions:
        assert rejection_message(action, HUNDRED, now).endswith(".")


@pytest.mark.law(14)
def test_a_part_of_yen_is_whole_unless_what_is_left_is_not() -> None:
    """Saleor rounds the report of 50.50 JPY to 50: the books would part without a word."""
    whole, odd = (
        balance(AT_ONCE, [replace(op(Kind.CREATE, State.SUCCESS, amount), currency="JPY")])
        for amount in ("100.00", "100.50")
    )
    with pytest.raises(RefusalError, match="JPY have no decimals"):
        step_for(REFUND, Decimal("50.50"), whole)
    assert step_for(REFUND, Decimal("50.00"), whole).amount == 50
    assert step_for(REFUND, Decimal("100.50"), odd).amount == Decimal("100.50")
