"""What is left of a payment, and what may be asked next (laws of money, 3). Pure."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.ids import GatewayOperationId
from app.core.payment import Operation
from app.core.vocabulary import Flow, Kind, PaymentStatus, State
from app.rules.balance import ZERO, Balance, balance, is_in_flight, is_overdrawn, status_of
from app.rules.decisions.action import Step, step_for
from app.rules.refusal import RefusalCode, RefusalError
from saleor_app_sdk.responses import AvailableAction
from tests.payments.aggregates import HUNDRED, an_operation

CHARGE, REFUND, CANCEL = AvailableAction.CHARGE, AvailableAction.REFUND, AvailableAction.CANCEL
OPEN = [State.WAITING, State.INTENT, State.UNKNOWN, State.INIT, State.PENDING]
amounts = st.integers(1, 20000).map(lambda hundredths: hundredths * Decimal("0.01"))
operations = st.lists(
    st.builds(
        an_operation,
        st.sampled_from([Kind.CAPTURE, Kind.VOID, Kind.REFUND, Kind.CANCEL]),
        st.sampled_from(list(State)),
        amounts,
    ),
    max_size=5,
)


def create(state: State) -> Operation:
    return an_operation(Kind.CREATE, state, HUNDRED)


def step_or_refusal(action: AvailableAction, amount: Decimal, now: Balance) -> Step | RefusalCode:
    try:
        return step_for(action, amount, now)
    except RefusalError as refusal:
        return refusal.code


@pytest.mark.parametrize("state", [State.INTENT, State.UNKNOWN, State.PENDING, State.FAILURE])
@pytest.mark.parametrize("flow", list(Flow))
def test_a_payment_that_is_not_there_offers_nothing(flow: Flow, state: State) -> None:
    now = balance(flow, [create(state)])
    assert (now.authorized, now.charged, now.capturable, now.refundable) == (ZERO,) * 4
    assert now.actions == ()


@pytest.mark.parametrize("flow", list(Flow))
def test_a_page_that_waits_for_its_shopper_can_be_closed(flow: Flow) -> None:
    now = balance(flow, [create(State.INIT)])
    assert now.actions == (CANCEL,)
    assert step_for(CANCEL, Decimal(0), now) == Step(Kind.CANCEL, Decimal(0))


@pytest.mark.parametrize("state", OPEN)
def test_a_page_that_is_being_closed_is_not_closed_twice(state: State) -> None:
    assert balance(Flow.CHARGE, [create(State.INIT), an_operation(Kind.CANCEL, state, Decimal(0))]).actions == ()


def test_a_reservation_can_be_taken_or_voided() -> None:
    now = balance(Flow.AUTHORIZATION, [create(State.SUCCESS)])
    assert now.actions == (CHARGE, CANCEL)
    assert step_for(CHARGE, Decimal("0.01"), now) == Step(Kind.CAPTURE, Decimal("0.01"))
    assert step_for(CANCEL, Decimal(0), now) == Step(Kind.VOID, HUNDRED)  # always as a whole


@pytest.mark.parametrize("kind", [Kind.CAPTURE, Kind.VOID])
@pytest.mark.parametrize("state", [*OPEN, State.SUCCESS])
def test_a_reservation_that_is_being_used_is_not_promised_again(kind: Kind, state: State) -> None:
    now = balance(Flow.AUTHORIZATION, [create(State.SUCCESS), an_operation(kind, state, Decimal("40.00"))])
    assert now.capturable == 0
    for action in (CHARGE, CANCEL):
        with pytest.raises(RefusalError) as refused:
            step_for(action, Decimal("1.00"), now)
        assert refused.value.code is RefusalCode.NOT_POSSIBLE


def test_a_reservation_whose_capture_failed_can_be_taken_again() -> None:
    failed = an_operation(Kind.CAPTURE, State.FAILURE, HUNDRED)
    assert balance(Flow.AUTHORIZATION, [create(State.SUCCESS), failed]).actions == (CHARGE, CANCEL)


def test_what_was_captured_can_be_refunded() -> None:
    now = balance(
        Flow.AUTHORIZATION, [create(State.SUCCESS), an_operation(Kind.CAPTURE, State.SUCCESS, Decimal("40.00"))]
    )
    assert (now.charged, now.refundable) == (Decimal("40.00"), Decimal("40.00"))
    assert now.actions == (REFUND,)


@pytest.mark.parametrize("state", OPEN)
def test_a_refund_on_its_way_counts_as_made(state: State) -> None:
    now = balance(Flow.CHARGE, [create(State.SUCCESS), an_operation(Kind.REFUND, state, Decimal("60.00"))])
    assert (now.refunded, now.refundable) == (ZERO, Decimal("40.00"))
    assert step_for(REFUND, Decimal("40.00"), now) == Step(Kind.REFUND, Decimal("40.00"))
    with pytest.raises(RefusalError, match=r"60\.00 UAH is being refunded\. Refund at most 40\.00 UAH\."):
        step_for(REFUND, Decimal("40.01"), now)


@pytest.mark.parametrize(
    ("state", "counts"),
    [
        (State.WAITING, False),
        (State.INTENT, True),
        (State.UNKNOWN, True),
        (State.INIT, True),
        (State.PENDING, True),
        (State.SUCCESS, False),
        (State.FAILURE, False),
    ],
)
def test_what_is_in_flight(state: State, counts: bool) -> None:
    assert is_in_flight(an_operation(Kind.REFUND, state)) is counts
    assert not is_in_flight(create(state))  # the payment itself blocks nothing


@given(flow=st.sampled_from(list(Flow)), state=st.sampled_from(list(State)), others=operations)
def test_the_books_never_promise_more_than_there_is(flow: Flow, state: State, others: list[Operation]) -> None:
    now = balance(flow, [create(state), *others])
    counted = sum(
        (
            operation.amount
            for operation in others
            if operation.kind is Kind.REFUND and operation.state is not State.FAILURE
        ),
        Decimal(0),
    )
    assert now.refundable >= 0
    assert now.refundable == 0 or now.refundable + counted == now.charged
    assert now.capturable in {0, now.authorized}
    assert not (now.capturable and now.charged)
    assert (CHARGE in now.actions) is (now.capturable > 0)
    assert (REFUND in now.actions) is (now.refundable > 0)


@pytest.mark.law(3, 14)
@given(
    flow=st.sampled_from(list(Flow)),
    state=st.sampled_from(list(State)),
    others=operations,
    action=st.sampled_from(list(AvailableAction)),
    amount=st.decimals(min_value=-10, max_value=300, places=3),
)
def test_a_step_is_always_within_what_is_possible(
    flow: Flow, state: State, others: list[Operation], action: AvailableAction, amount: Decimal
) -> None:
    """For every balance and every amount."""
    now = balance(flow, [create(state), *others])
    step = step_or_refusal(action, amount, now)
    if isinstance(step, RefusalCode):
        assert step in {RefusalCode.NOT_POSSIBLE, RefusalCode.INVALID_AMOUNT, RefusalCode.AMOUNT_NOT_ACCEPTED}
        return
    assert action in now.actions
    match step.kind:
        case Kind.CAPTURE:
            assert 0 < step.amount == amount <= now.capturable
        case Kind.REFUND:
            assert 0 < step.amount == amount <= now.refundable
        case Kind.VOID:
            assert step.amount == now.capturable
        case _:
            assert now.unpaid
    assert step.amount == step.amount.quantize(Decimal("0.01"))


@pytest.mark.law(14)
@pytest.mark.parametrize("action", [CHARGE, REFUND])
@pytest.mark.parametrize(
    ("amount", "words"),
    [("0", "no authorization|nothing is"), ("-1", "no authorization|nothing is"), ("0.001", "two decimal places")],
)
def test_what_is_no_amount_of_money_is_refused(action: AvailableAction, amount: str, words: str) -> None:
    now = balance(Flow.CHARGE, [create(State.SUCCESS)])
    with pytest.raises(RefusalError, match=words) as refused:
        step_for(action, Decimal(amount), now)
    code = RefusalCode.AMOUNT_NOT_ACCEPTED if Decimal(amount) > 0 else RefusalCode.INVALID_AMOUNT
    assert (refused.value.code, refused.value.field) == (code, "amount")


def test_a_payment_that_is_refused_has_failed_and_one_that_nobody_paid_is_canceled() -> None:
    failed = create(State.FAILURE)
    failed.status_code = "1004"
    assert status_of(Flow.CHARGE, [failed]) is PaymentStatus.FAILED
    failed.status_code = "6007"  # the page was closed before anybody had paid
    assert status_of(Flow.CHARGE, [failed]) is PaymentStatus.CANCELED
    failed.status_code = "no such code"
    assert status_of(Flow.CHARGE, [failed]) is PaymentStatus.FAILED


@pytest.mark.parametrize("flow", list(Flow))
@pytest.mark.parametrize("state", OPEN)
def test_a_payment_that_is_open_is_pending(flow: Flow, state: State) -> None:
    assert status_of(flow, [create(state)]) is PaymentStatus.PENDING


@pytest.mark.parametrize(
    ("flow", "done", "status"),
    [
        (Flow.CHARGE, [], PaymentStatus.PAID),
        (Flow.AUTHORIZATION, [], PaymentStatus.AUTHORIZED),
        (Flow.AUTHORIZATION, [Kind.CAPTURE], PaymentStatus.PAID),
        (Flow.AUTHORIZATION, [Kind.VOID], PaymentStatus.CANCELED),
        (Flow.CHARGE, [Kind.REFUND], PaymentStatus.REFUNDED),
        (Flow.AUTHORIZATION, [Kind.CAPTURE, Kind.REFUND], PaymentStatus.REFUNDED),
        (Flow.CHARGE, [Kind.DISPUTE], PaymentStatus.PAID),
        (Flow.CHARGE, [Kind.RECURRING], PaymentStatus.PAID),
    ],
)
def test_what_was_done_with_a_payment_is_its_status(flow: Flow, done: list[Kind], status: PaymentStatus) -> None:
    paid = create(State.SUCCESS)
    assert status_of(flow, [paid, *(an_operation(kind, State.SUCCESS, HUNDRED) for kind in done)]) is status
    for state in [*OPEN, State.FAILURE]:  # what is asked, or has failed, changes nothing
        asked = [an_operation(kind, state, HUNDRED) for kind in (Kind.CAPTURE, Kind.VOID, Kind.REFUND)]
        assert status_of(flow, [paid, *asked]) is status_of(flow, [paid])


@pytest.mark.parametrize("state", [state for state in State if state is not State.SUCCESS])
def test_a_later_charge_that_took_nothing_is_not_offered_for_refund(state: State) -> None:
    declined = an_operation(Kind.RECURRING, state, HUNDRED, operation_id="second")
    now = balance(Flow.CHARGE, [create(State.SUCCESS), declined])
    assert (now.recurring, now.taken) == ((), HUNDRED)
    with pytest.raises(RefusalError, match="no such charge"):
        step_for(REFUND, HUNDRED, now, charge_id=GatewayOperationId("second"))


@pytest.mark.law(7)
def test_a_later_charge_that_has_perhaps_failed_after_all_offers_nothing_to_refund() -> None:
    doubtful = an_operation(Kind.RECURRING, State.SUCCESS, HUNDRED, operation_id="second", contradicted=True)
    [charge] = balance(Flow.CHARGE, [create(State.SUCCESS), doubtful]).recurring
    assert (charge.charged, charge.refundable) == (HUNDRED, ZERO)


@pytest.mark.parametrize("gone", [Kind.REFUND, Kind.DISPUTE])
@pytest.mark.parametrize("state", [*OPEN, State.SUCCESS])
def test_each_charge_of_a_subscription_gives_back_its_own_money(gone: Kind, state: State) -> None:
    charges = [an_operation(Kind.RECURRING, State.SUCCESS, HUNDRED, operation_id=name) for name in ("second", "third")]
    back = an_operation(gone, state, Decimal("60.00"), charge_id="third")
    now = balance(Flow.CHARGE, [create(State.SUCCESS), *charges, back])
    assert now.refundable == HUNDRED
    assert {recurring_charge.id: recurring_charge.refundable for recurring_charge in now.recurring} == {
        "second": HUNDRED,
        "third": Decimal("40.00"),
    }


@pytest.mark.parametrize("state", [State.SUCCESS, State.PENDING, State.FAILURE])
def test_later_charges_and_their_refunds_count_in_what_a_subscription_took_and_gave_back(state: State) -> None:
    charges = [an_operation(Kind.RECURRING, State.SUCCESS, Decimal("30.00"), operation_id=name) for name in "ab"]
    refunds = [an_operation(Kind.REFUND, state, Decimal("20.00"), charge_id=charge_id) for charge_id in (None, "a")]
    now = balance(Flow.CHARGE, [create(State.SUCCESS), *charges, *refunds])
    assert (now.taken, now.returned) == (Decimal("160.00"), Decimal("40.00") if state is State.SUCCESS else ZERO)


def test_nothing_is_refunded_of_a_later_charge_that_is_refunded_already() -> None:
    """Not even nothing: staff read what has become of it."""
    charge = an_operation(Kind.RECURRING, State.SUCCESS, HUNDRED, operation_id="second")
    refund = an_operation(Kind.REFUND, State.SUCCESS, HUNDRED, charge_id="second")
    now = balance(Flow.CHARGE, [create(State.SUCCESS), charge, refund])
    for amount in (ZERO, Decimal("0.01")):
        with pytest.raises(RefusalError) as refused:
            step_for(REFUND, amount, now, charge_id=GatewayOperationId("second"))
        assert refused.value.code is RefusalCode.NOT_POSSIBLE


def test_what_a_subscription_gave_back_later_is_not_of_its_first_payment() -> None:
    refund = an_operation(Kind.REFUND, State.SUCCESS, HUNDRED)
    refund.charge_id = GatewayOperationId("a later charge")
    assert status_of(Flow.CHARGE, [create(State.SUCCESS), refund]) is PaymentStatus.PAID


@pytest.mark.law(7)
@pytest.mark.parametrize("doubtful", [Kind.CREATE, Kind.CAPTURE])
def test_money_of_which_the_gateway_has_said_two_things_is_promised_to_nobody(doubtful: Kind) -> None:
    """One doubt is enough, whatever is known of the rest."""
    paid, captured = create(State.SUCCESS), an_operation(Kind.CAPTURE, State.SUCCESS, Decimal("40.00"), keeps_rest=True)
    assert set(balance(Flow.AUTHORIZATION, [paid, captured]).actions) == {REFUND, CHARGE, CANCEL}
    (paid if doubtful is Kind.CREATE else captured).contradicted = True
    now = balance(Flow.AUTHORIZATION, [paid, captured])
    assert (now.in_doubt, now.capturable, now.refundable, now.actions) == (True, ZERO, ZERO, ())


@pytest.mark.law(7)
@pytest.mark.parametrize("state", [State.SUCCESS, State.FAILURE])
def test_release_in_doubt_leaves_the_reservation_in_doubt_if_it_failed(state: State) -> None:
    """If it succeeded, nothing is left that could be in doubt."""
    release = an_operation(Kind.VOID, state, HUNDRED, contradicted=True)
    now = balance(Flow.AUTHORIZATION, [create(State.SUCCESS), release])
    assert (now.in_doubt, now.capturable) == (state is State.FAILURE, ZERO)


@pytest.mark.parametrize(("kind", "voiding"), [(Kind.VOID, True), (Kind.CAPTURE, False), (Kind.REFUND, False)])
def test_only_a_void_under_way_releases_the_reservation(kind: Kind, voiding: bool) -> None:
    assert balance(Flow.AUTHORIZATION, [create(State.SUCCESS), an_operation(kind, State.PENDING)]).voiding is voiding
    assert not balance(Flow.AUTHORIZATION, [create(State.SUCCESS), an_operation(kind, State.FAILURE)]).voiding


@pytest.mark.law(10)
@pytest.mark.parametrize("second", [Kind.CAPTURE, Kind.VOID])
@pytest.mark.parametrize(("state", "overdrawn"), [(State.SUCCESS, True), (State.FAILURE, False)])
def test_a_reservation_that_was_used_twice_is_overdrawn(second: Kind, state: State, overdrawn: bool) -> None:
    uses = [an_operation(Kind.CAPTURE, State.SUCCESS, HUNDRED), an_operation(second, state, HUNDRED)]
    assert is_overdrawn(Flow.AUTHORIZATION, [create(State.SUCCESS), *uses]) is overdrawn


@pytest.mark.parametrize(("state", "overdrawn"), [(State.SUCCESS, True), (State.FAILURE, False)])
def test_a_payout_of_which_something_was_charged_is_overdrawn(state: State, overdrawn: bool) -> None:
    """Nothing is ever charged of money that was paid out."""
    charge = an_operation(Kind.CAPTURE, state, Decimal("1.00"))
    assert is_overdrawn(Flow.PAYOUT, [create(State.SUCCESS), charge]) is overdrawn


@pytest.mark.law(10)
@pytest.mark.parametrize(("second", "overdrawn"), [("40.00", False), ("40.01", True)])
def test_a_payout_is_overdrawn_of_which_more_came_back_than_was_paid_out(second: str, *, overdrawn: bool) -> None:
    back = [an_operation(Kind.REFUND, State.SUCCESS, Decimal(amount)) for amount in ("60.00", second)]
    assert is_overdrawn(Flow.PAYOUT, [create(State.SUCCESS), *back]) is overdrawn
