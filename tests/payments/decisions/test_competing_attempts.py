"""Why a payment must not begin beside others of the same debt: on paper."""

from decimal import Decimal

import pytest

from app.core.ids import PaymentRowId
from app.core.payment import Payment, PaymentAggregate
from app.core.vocabulary import Flow, Mode, State
from app.rules.decisions.competing_attempts import (
    attempt_of,
    flag_double_payment,
    is_above_debt,
    refusal_code,
    state_double_payment,
)
from app.rules.problems import PAID_TWICE, find_problem, problem_text
from app.rules.refusal import RefusalCode
from saleor_app_sdk.events import TransactionProcessSession
from saleor_app_sdk.transaction_source import TransactionSource
from tests.payments.aggregates import HUNDRED, NOON, an_aggregate
from tests.payments.shop import session_event, source_object


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


@pytest.fixture
def both() -> list[PaymentAggregate]:
    """Return two payments of all of the same 100.00, of which staff have been told; Saleor is not to be asked."""
    attempts = [an_aggregate(Flow.CHARGE, State.SUCCESS) for _ in range(2)]
    for number, attempt in enumerate(attempts):
        attempt.payment.id, attempt.payment.to_pay = PaymentRowId(number), HUNDRED
    flag_double_payment([(attempt, HUNDRED) for attempt in attempts], HUNDRED, NOON)
    for attempt in attempts:
        attempt.payment.next_order_poll_at = None
    return attempts


@pytest.mark.law(12)
def test_of_what_is_left_of_a_double_payment_saleor_is_asked_and_of_nothing_else(both: list[PaymentAggregate]) -> None:
    flag_double_payment([(both[0], Decimal(0)), (both[1], HUNDRED)], HUNDRED, NOON)
    assert [find_problem(attempt.payment, PAID_TWICE) for attempt in both] == [None, None]
    assert [attempt.payment.next_order_poll_at is not None for attempt in both] == [False, True]
    both[1].payment.next_order_poll_at = None
    flag_double_payment([(both[0], Decimal(0)), (both[1], HUNDRED)], HUNDRED, NOON)  # its end is known
    assert both[1].payment.next_order_poll_at is None


@pytest.mark.law(12)
def test_what_saleor_does_not_state_changes_nothing_of_what_staff_were_told(both: list[PaymentAggregate]) -> None:
    told = [problem_text(attempt.payment) for attempt in both]
    state_double_payment(both, TransactionSource(checkout_id="Q2hlY2tvdXQ6MQ==", excess=None), NOON)
    assert [problem_text(attempt.payment) for attempt in both] == told
    state_double_payment(both, TransactionSource(checkout_id="Q2hlY2tvdXQ6MQ==", excess=Decimal(150)), NOON)
    for attempt in both:
        assert "200.00 UAH was paid or authorized for 50.00 UAH" in (problem_text(attempt.payment) or "")


@pytest.mark.law(7, 12)
def test_a_payment_whose_success_is_contradicted_counts_once() -> None:
    """Counted once more as perhaps paid, it would make staff refund what nobody has paid twice."""
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    aggregate.create.contradicted = True
    counted = attempt_of(aggregate)
    assert (counted.paid, counted.perhaps_paid, counted.covered) == (HUNDRED, Decimal(0), HUNDRED)


@pytest.mark.law(12)
@pytest.mark.parametrize(("asked", "above"), [("100.00", False), ("100.01", True)])
def test_only_a_session_for_more_than_is_left_has_the_other_pages_compared(asked: str, *, above: bool) -> None:
    """Every shopper who asks how it stands would otherwise wait for the locks of all payments of the same debt."""
    total = {"gross": {"amount": HUNDRED, "currency": "UAH"}}
    members = session_event("transaction", amount=asked, sourceObject=source_object(totalPrice=total))
    assert is_above_debt(TransactionProcessSession.model_validate(members)) is above
