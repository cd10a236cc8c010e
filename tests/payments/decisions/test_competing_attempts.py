"""Why a payment must not begin beside others of the same debt: on paper."""

from decimal import Decimal

import pytest

from app.core.payment import Payment
from app.core.vocabulary import Flow, Mode, State
from app.rules.decisions.competing_attempts import attempt_of, refusal_code
from app.rules.refusal import RefusalCode
from tests.payments.aggregates import HUNDRED, an_aggregate


def a_payment(to_pay: Decimal | None) -> Payment:
    """Return a new payment of 100.00."""
    payment = an_aggregate(Flow.CHARGE, State.INTENT).payment
    payment.to_pay = to_pay
    return payment


@pytest.mark.law(12)
@pytest.mark.parametrize(
    ("other", "to_pay", "code"),
    [
        (State.SUCCESS, "100.00", RefusalCode.ALREADY_PAID),
        (State.SUCCESS, "199.99", RefusalCode.ALREADY_PAID),
        (State.SUCCESS, None, RefusalCode.ALREADY_PAID),
        (State.SUCCESS, "200.00", RefusalCode.PAYMENT_IN_PROGRESS),
        (State.PENDING, "100.00", RefusalCode.PAYMENT_IN_PROGRESS),
        (State.PENDING, "99.99", RefusalCode.PAYMENT_IN_PROGRESS),
    ],
)
def test_a_debt_is_paid_already_only_if_what_was_paid_leaves_too_little(
    other: State, to_pay: str | None, code: RefusalCode
) -> None:
    """What is at the bank may still fail: then the shopper can pay. None: Saleor has not said how much is owed."""
    others = [an_aggregate(Flow.CHARGE, other, amount=HUNDRED)]
    assert refusal_code(others, a_payment(None if to_pay is None else Decimal(to_pay))) is code


@pytest.mark.law(12)
@pytest.mark.parametrize(
    ("mode", "state", "covered"),
    [
        (Mode.DIRECT, State.INTENT, "100.00"),
        (Mode.DIRECT, State.UNKNOWN, "100.00"),
        (Mode.DIRECT, State.SUCCESS, "100.00"),  # and not once more as an outcome that is waited for
        (Mode.DIRECT, State.FAILURE, "0.00"),  # a declined card leaves the debt to be paid
        (Mode.HOSTED, State.UNKNOWN, "0.00"),
    ],
)
def test_a_card_covers_its_debt_until_it_is_known_to_be_declined(mode: Mode, state: State, covered: str) -> None:
    aggregate = an_aggregate(Flow.CHARGE, state, amount=HUNDRED)
    aggregate.payment.mode = mode
    assert attempt_of(aggregate).covered == Decimal(covered)
