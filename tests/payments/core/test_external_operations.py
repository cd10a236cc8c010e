"""What others do to a payment is compared with what was left of it."""

from dataclasses import replace
from decimal import Decimal

import pytest

from app.core.payment import Payment
from app.core.vocabulary import Flow, Kind, State
from app.rules.apply import apply
from app.rules.external_operations import (
    amount_left_for,
    flag_partial_release,
    leaves_rest,
    payer_fee_on,
    waits_for_charge,
)
from app.rules.issues import IssueCode, issue_from_json
from app.rules.problems import open_problems
from app.store.tables import MerchantAccount
from tests.payments.aggregates import HUNDRED, NOON, POS, an_aggregate, an_operation, decision_context, observation


@pytest.mark.law(10)
@pytest.mark.parametrize(("released_by", "leaves"), [("gateway:void", True), ("ours", False), (None, False)])
def test_a_rest_is_left_only_by_a_release_of_others(released_by: str | None, *, leaves: bool) -> None:
    """A rest of what is charged in parts is still to be charged."""
    captured = an_operation(Kind.CAPTURE, State.SUCCESS, Decimal("40.00"), keeps_rest=True)
    aggregate = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS, captured)
    if released_by is not None:
        release = an_operation(Kind.VOID, State.SUCCESS, Decimal("30.00"), idempotency_key=released_by)
        aggregate.operations.append(release)
    assert leaves_rest(aggregate) is leaves


@pytest.mark.law(10)
@pytest.mark.parametrize(
    ("state", "keeps_rest", "leaves"),
    [(State.SUCCESS, True, True), (State.SUCCESS, False, False), (State.FAILURE, False, True)],
)
def test_rest_of_a_release_by_others_is_released_only_by_a_capture_that_was_made(
    state: State, *, keeps_rest: bool, leaves: bool
) -> None:
    capture = an_operation(Kind.CAPTURE, state, Decimal("40.00"), keeps_rest=keeps_rest)
    release = an_operation(Kind.VOID, State.SUCCESS, Decimal("30.00"), idempotency_key="gateway:void")
    assert leaves_rest(an_aggregate(Flow.AUTHORIZATION, State.SUCCESS, capture, release)) is leaves


@pytest.mark.law(10)
def test_staff_see_a_release_by_others_that_leaves_a_rest_until_that_is_charged() -> None:
    release = an_operation(Kind.VOID, State.SUCCESS, Decimal("30.00"), idempotency_key="gateway:void")
    aggregate = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS, release)
    flag_partial_release(aggregate, NOON)
    apply(aggregate, POS, [], decision_context())
    assert _issues(aggregate.payment) == [IssueCode.RECORDED_AMOUNT]
    aggregate.operations.append(an_operation(Kind.CAPTURE, State.PENDING, Decimal("70.00"), keeps_rest=True))
    apply(aggregate, POS, [observation(Kind.CAPTURE, State.SUCCESS, Decimal("70.00"), "capture")], decision_context())
    assert _issues(aggregate.payment) == []


@pytest.mark.law(10)
@pytest.mark.parametrize(
    ("key", "state", "charge_id", "is_single", "waits"),
    [
        ("gateway:refund", State.SUCCESS, None, True, True),
        ("gateway:refund", State.SUCCESS, None, False, False),
        ("gateway:refund", State.PENDING, None, True, False),
        ("gateway:refund", State.SUCCESS, "a-later-charge", True, False),
        ("ours", State.SUCCESS, None, True, False),  # Saleor has requested it, and awaits its outcome
    ],
)
def test_only_a_refund_by_others_waits_for_the_notification_of_its_charge(
    key: str, state: State, charge_id: str | None, *, is_single: bool, waits: bool
) -> None:
    refund = an_operation(Kind.REFUND, state, idempotency_key=key, charge_id=charge_id)
    aggregate = an_aggregate(Flow.CHARGE, State.PENDING, refund)
    context = replace(decision_context(), is_single_record=is_single)
    assert waits_for_charge(aggregate, refund, context) is waits


@pytest.mark.law(8)
@pytest.mark.parametrize(("kind", "fee"), [(Kind.DISPUTE, "2.00"), (Kind.REFUND, "2.00"), (Kind.CAPTURE, "0")])
@pytest.mark.parametrize("charge_id", [None, "a-later-charge"])
def test_the_payers_fee_was_paid_with_the_payment_and_comes_back_with_all_of_it(
    kind: Kind, fee: str, charge_id: str | None
) -> None:
    """Not with a later charge of the subscription: nobody paid one on top of that."""
    theirs = an_operation(kind, State.PENDING, idempotency_key="gateway:one", charge_id=charge_id)
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, theirs)
    account = aggregate.payment.account
    assert isinstance(account, MerchantAccount)
    account.payer_fee_percent = Decimal(2)
    assert payer_fee_on(aggregate, theirs) == (Decimal(fee) if charge_id is None else 0)


@pytest.mark.law(10)
@pytest.mark.parametrize(("charge_id", "left"), [(None, "60.00"), ("a-later-charge", None)])
def test_dispute_is_compared_with_what_the_payment_took_unless_it_is_about_a_later_charge(
    charge_id: str | None, left: str | None
) -> None:
    """A later charge may be over more than the payment that began the subscription."""
    before, theirs = (
        an_operation(Kind.DISPUTE, state, Decimal(amount), idempotency_key=f"gateway:{amount}", charge_id=about)
        for state, amount, about in ((State.SUCCESS, "40.00", None), (State.PENDING, "70.00", charge_id))
    )
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, before, theirs)
    assert amount_left_for(aggregate, theirs) == (None if left is None else Decimal(left))


def _issues(payment: Payment) -> list[IssueCode]:
    read = [issue_from_json(problem.message) for problem in open_problems(payment)]
    return [issue.code for issue in read if issue is not None]


@pytest.mark.law(7, 10)
@pytest.mark.parametrize(
    ("amount", "state", "is_repeated"),
    [
        ("40.00", State.SUCCESS, True),
        ("40.00", State.WAITING, True),
        ("40.00", State.FAILURE, False),
        ("30.00", State.SUCCESS, False),
        (None, None, False),
    ],
)
def test_staff_see_a_refund_that_was_made_after_all_only_if_it_may_have_been_requested_again(
    amount: str | None, state: State | None, *, is_repeated: bool
) -> None:
    """The payer has perhaps been refunded twice, although there was enough left for both."""
    given_up = an_operation(Kind.REFUND, State.FAILURE, Decimal("40.00"), operation_id="refund-1")
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, given_up)
    if amount is not None and state is not None:
        aggregate.operations.append(an_operation(Kind.REFUND, state, Decimal(amount), operation_id="refund-2"))
    made = observation(Kind.REFUND, State.SUCCESS, Decimal("40.00"), "refund-1")
    apply(aggregate, POS, [made], decision_context())
    assert given_up.state is State.SUCCESS
    assert _issues(aggregate.payment) == ([IssueCode.MADE_AFTER_ALL] if is_repeated else [])


@pytest.mark.law(10)
@pytest.mark.parametrize(("state", "issues"), [(State.SUCCESS, [IssueCode.OTHER_PAYMENT]), (State.PENDING, [])])
def test_whole_order_is_looked_up_after_a_refund_of_a_payment_that_is_not_known(
    state: State, issues: list[IssueCode]
) -> None:
    """It may be of a later charge whose notification is late; it is booked nowhere meanwhile."""
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    aggregate.create.operation_id = "the-payment"
    context = replace(decision_context(), is_single_record=True)
    refund = observation(Kind.REFUND, state, HUNDRED, "theirs", payment_id="another")
    apply(aggregate, POS, [refund], context)
    assert aggregate.create.next_poll_at == context.schedule.next_order_look_up(NOON)
    assert _issues(aggregate.payment) == issues
    assert [operation.kind for operation in aggregate.operations] == [Kind.CREATE]
