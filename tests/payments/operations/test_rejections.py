"""A refusal says how the payment stands, with amounts, and what to do instead. Pure."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.db.tables import Flow, Kind, Operation, State
from app.payments.core.balance import balance
from app.payments.core.refusal import RefusalError
from app.payments.operations.actions import step_for
from app.payments.operations.rejections import why_not
from app.saleor.answers import AvailableAction
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
    "60.00 UAH of this reservation has been taken already, and the gateway takes a reservation once: "
    "ask the shopper for a new payment."
)
PARTLY_GONE = (
    "20.01 UAH cannot be refunded: 100.00 UAH was taken, 30.00 UAH is refunded already, 50.00 UAH "
    "is being refunded. Refund at most 20.00 UAH."
)
FINDING_OUT = (
    "It is not known yet whether the payment page was opened, and the app is finding out: there is nothing to cancel."
)


@pytest.mark.parametrize(
    ("standing", "asked", "words"),
    [
        ((FIRST, State.SUCCESS, []), (CHARGE, "100.01"),
          "100.01 UAH cannot be charged: 100.00 UAH is reserved. Charge at most 100.00 UAH."),
        ((FIRST, State.SUCCESS, [TAKEN_IN_PART]), (CHARGE, "40.00"), TAKEN_ONCE),
        ((FIRST, State.SUCCESS, [TAKEN_IN_PART]), (CHARGE, "0"), TAKEN_ONCE),
        ((FIRST, State.SUCCESS, [BEING_TAKEN]), (CHARGE, "40.00"),
          "60.00 UAH of this reservation is being charged at this moment, and the gateway takes a reservation once."),
        ((FIRST, State.SUCCESS, [RELEASED]), (CHARGE, "1.00"),
          "The reservation of 100.00 UAH was released: nothing can be charged."),
        ((FIRST, State.SUCCESS, [BEING_RELEASED]), (CHARGE, "1.00"),
          "The reservation of 100.00 UAH is being released at this moment: nothing can be charged."),
        ((FIRST, State.SUCCESS, [RELEASED, op(Kind.DISPUTE, State.PENDING)]), (CHARGE, "1.00"),
          "The reservation of 100.00 UAH was released: nothing can be charged."),
        ((AT_ONCE, State.SUCCESS, []), (CHARGE, "1.00"),
          "100.00 UAH was taken at once: nothing is reserved that could be charged."),
        ((FIRST, State.INIT, []), (CHARGE, "1.00"),
          "The shopper has not paid yet: nothing is reserved that could be charged."),
        ((FIRST, State.PENDING, []), (CHARGE, "1.00"),
          "The payment is still at the bank: nothing is reserved that could be charged."),
        ((AT_ONCE, State.INIT, []), (REFUND, "1.00"),
          "The shopper has not paid yet: cancel the payment instead."),
        ((AT_ONCE, State.INIT, [BEING_CLOSED]), (REFUND, "1.00"),
          "The shopper has not paid yet: nothing can be refunded."),
        ((AT_ONCE, State.PENDING, []), (REFUND, "1.00"),
          "The payment is still at the bank: nothing can be refunded."),
        ((AT_ONCE, State.FAILURE, []), (REFUND, "1.00"),
          "The payment did not go through, and nothing was taken: nothing can be refunded."),
        ((FIRST, State.SUCCESS, []), (REFUND, "1.00"),
          "100.00 UAH is reserved, and nothing is taken yet: cancel the reservation instead."),
        ((FIRST, State.SUCCESS, [RELEASED]), (REFUND, "1.00"),
          "The reservation of 100.00 UAH was released: nothing was taken, and nothing can be refunded."),
        ((FIRST, State.SUCCESS, [BEING_TAKEN]), (REFUND, "1.00"),
          "60.00 UAH is being charged at this moment: refund it when that is done."),
        ((FIRST, State.SUCCESS, [TAKEN_IN_PART]), (REFUND, "60.01"),
          "60.01 UAH cannot be refunded: 60.00 UAH was taken. Refund at most 60.00 UAH."),
        ((AT_ONCE, State.SUCCESS, TWO_REFUNDS), (REFUND, "20.01"), PARTLY_GONE),
        ((AT_ONCE, State.SUCCESS, [op(Kind.REFUND, State.SUCCESS)]), (REFUND, "0"),
          "100.00 UAH was taken, 100.00 UAH is refunded already: nothing is left to refund."),
        ((AT_ONCE, State.SUCCESS, []), (CANCEL, "0"),
          "100.00 UAH has been taken already: refund it instead."),
        ((FIRST, State.SUCCESS, [TAKEN_IN_PART]), (CANCEL, "0"),
          "60.00 UAH has been taken already: refund it instead."),
        ((AT_ONCE, State.SUCCESS, [op(Kind.REFUND, State.UNKNOWN)]), (CANCEL, "0"),
          "100.00 UAH was taken and goes back already: there is nothing to cancel."),
        ((FIRST, State.SUCCESS, [BEING_TAKEN]), (CANCEL, "0"),
          "60.00 UAH is being charged at this moment: refund it when that is done."),
        ((FIRST, State.SUCCESS, [RELEASED]), (CANCEL, "0"),
          "The reservation of 100.00 UAH was released: there is nothing to cancel."),
        ((AT_ONCE, State.INIT, [BEING_CLOSED]), (CANCEL, "0"),
          "The payment page is being closed already."),
        ((AT_ONCE, State.PENDING, []), (CANCEL, "0"),
          "The payment is still at the bank: there is nothing to cancel before it has decided."),
        ((AT_ONCE, State.FAILURE, []), (CANCEL, "0"),
          "The payment did not go through, and nothing was taken: there is nothing to cancel."),
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
        assert why_not(action, HUNDRED, now).endswith(".")
