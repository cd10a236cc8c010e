"""What others do to a payment is compared with what was left of it."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from app.core.ids import GatewayOperationId
from app.core.payment import Operation, Payment, PaymentAggregate
from app.core.vocabulary import Flow, Kind, Origin, State
from app.rules.apply import apply
from app.rules.external_operations import (
    amount_left_for,
    clear_overdrawn,
    flag_made_after_all,
    flag_overdrawn,
    flag_overdrawn_by_others,
    flag_partial_release,
    flag_rounded_by_saleor,
    flag_unknown_status,
    leaves_rest,
    new_external_operation,
    payer_fee_on,
    waits_for_charge,
)
from app.rules.issues import IssueCode, issue_from_json
from app.rules.problems import open_problems
from app.store.tables import MerchantAccount
from tests.payments.aggregates import HUNDRED, NOON, an_aggregate, an_operation, decision_context, observation


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
@pytest.mark.parametrize(
    ("flow", "state", "released", "release", "leaves"),
    [
        (Flow.AUTHORIZATION, State.SUCCESS, "99.99", (Kind.VOID, State.SUCCESS), True),
        (Flow.AUTHORIZATION, State.SUCCESS, "100.00", (Kind.VOID, State.SUCCESS), False),
        (Flow.AUTHORIZATION, State.SUCCESS, "99.99", (Kind.VOID, State.FAILURE), False),
        (Flow.AUTHORIZATION, State.SUCCESS, "99.99", (Kind.REFUND, State.SUCCESS), False),
        (Flow.AUTHORIZATION, State.PENDING, "99.99", (Kind.VOID, State.SUCCESS), False),
        (Flow.CHARGE, State.SUCCESS, "99.99", (Kind.VOID, State.SUCCESS), False),
    ],
)
def test_rest_is_what_a_release_by_others_left_of_a_reservation(
    flow: Flow, state: State, released: str, release: tuple[Kind, State], *, leaves: bool
) -> None:
    assert leaves_rest(an_aggregate(flow, state, _theirs(*release, released))) is leaves


@pytest.mark.law(10)
def test_staff_see_a_release_by_others_that_leaves_a_rest_until_that_is_charged() -> None:
    release = an_operation(Kind.VOID, State.SUCCESS, Decimal("30.00"), idempotency_key="gateway:void")
    aggregate = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS, release)
    flag_partial_release(aggregate, NOON)
    apply(aggregate, [], decision_context())
    assert _issues(aggregate.payment) == [IssueCode.RECORDED_AMOUNT]
    aggregate.operations.append(an_operation(Kind.CAPTURE, State.PENDING, Decimal("70.00"), keeps_rest=True))
    apply(aggregate, [observation(Kind.CAPTURE, State.SUCCESS, Decimal("70.00"), "capture")], decision_context())
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


@pytest.mark.law(10)
@pytest.mark.parametrize(
    ("flow", "kind", "waits"),
    [
        (Flow.AUTHORIZATION, Kind.REFUND, True),
        (Flow.AUTHORIZATION, Kind.DISPUTE, True),
        (Flow.AUTHORIZATION, Kind.VOID, False),  # nothing is charged before a release
        (Flow.PAYOUT, Kind.REFUND, False),  # nor by a payout
    ],
)
def test_only_what_gives_a_charge_back_waits_for_it(flow: Flow, kind: Kind, *, waits: bool) -> None:
    theirs = _theirs(kind, State.SUCCESS)
    context = replace(decision_context(), is_single_record=True)
    assert waits_for_charge(an_aggregate(flow, State.SUCCESS, theirs), theirs, context) is waits


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


@pytest.mark.law(8, 10)
@pytest.mark.parametrize(
    ("kind", "state", "left"),
    [
        (Kind.DISPUTE, State.PENDING, "199.00"),
        (Kind.DISPUTE, State.SUCCESS, "199.00"),
        (Kind.REFUND, State.PENDING, "170.00"),
        (Kind.REFUND, State.SUCCESS, None),
        (Kind.VOID, State.PENDING, None),
    ],
)
def test_what_others_give_back_of_a_later_charge_is_compared_with_that_charge(
    kind: Kind, state: State, left: str | None
) -> None:
    """It may be over more than the payment that began the subscription, of which other money is left."""
    of = GatewayOperationId("second")
    charges = [
        an_operation(Kind.RECURRING, State.SUCCESS, Decimal(amount), operation_id=GatewayOperationId(name))
        for name, amount in (("second", "200.00"), ("third", "100.00"))
    ]
    done = ((Kind.REFUND, "30.00", of), (Kind.DISPUTE, "1.00", of), (Kind.REFUND, "7.00", None))
    others = [an_operation(other, State.SUCCESS, Decimal(amount), charge_id=about) for other, amount, about in done]
    theirs = _theirs(kind, state, charge_id=of)
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, *charges, *others, theirs)
    assert amount_left_for(aggregate, theirs) == (None if left is None else Decimal(left))


@pytest.mark.law(8, 10)
@pytest.mark.parametrize("kind", [Kind.REFUND, Kind.DISPUTE])
@pytest.mark.parametrize(("said", "is_booked"), [("40.00", True), ("40.01", False)])
def test_more_than_a_later_charge_took_is_not_given_back_of_it(kind: Kind, said: str, *, is_booked: bool) -> None:
    """Nor a fee on top of it, where the payer has paid one with the first payment."""
    charge = an_operation(
        Kind.RECURRING, State.SUCCESS, Decimal("40.00"), operation_id=GatewayOperationId("second"), psp_reference="2"
    )
    aggregate = _with_fee(an_aggregate(Flow.CHARGE, State.SUCCESS, charge))
    aggregate.payment.recurring_id = "subscription"
    aggregate.create.operation_id = GatewayOperationId("the-payment")
    seen = observation(kind, State.SUCCESS, Decimal(said), "theirs", payment_id="second")
    apply(aggregate, [seen], decision_context())
    assert (IssueCode.MORE_THAN_LEFT in _issues(aggregate.payment)) is not is_booked
    assert [event.amount for event in aggregate.events if event.type != "INFO"] == ([Decimal(said)] * is_booked)


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
    apply(aggregate, [made], decision_context())
    assert given_up.state is State.SUCCESS
    assert _issues(aggregate.payment) == ([IssueCode.MADE_AFTER_ALL] if is_repeated else [])


@pytest.mark.law(10)
@pytest.mark.parametrize(("state", "issues"), [(State.SUCCESS, [IssueCode.OTHER_PAYMENT]), (State.PENDING, [])])
def test_whole_order_is_looked_up_after_a_refund_of_a_payment_that_is_not_known(
    state: State, issues: list[IssueCode]
) -> None:
    """It may be of a later charge whose notification is late; it is booked nowhere meanwhile."""
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    aggregate.create.operation_id = GatewayOperationId("the-payment")
    context = replace(decision_context(), is_single_record=True)
    refund = observation(Kind.REFUND, state, HUNDRED, "theirs", payment_id="another")
    apply(aggregate, [refund], context)
    assert aggregate.create.next_poll_at == context.schedule.next_order_look_up(NOON)
    assert _issues(aggregate.payment) == issues
    read = [issue_from_json(problem.message) for problem in open_problems(aggregate.payment)]
    assert {issue.facts["payment"] for issue in read if issue is not None} <= {"another"}
    assert [operation.kind for operation in aggregate.operations] == [Kind.CREATE]


def _theirs(kind: Kind, state: State, amount: str = "10.00", **more: Any) -> Operation:
    return an_operation(kind, state, Decimal(amount), **{"idempotency_key": "gateway:theirs", **more})


def _with_fee(aggregate: PaymentAggregate) -> PaymentAggregate:
    account = aggregate.payment.account
    assert isinstance(account, MerchantAccount)
    account.payer_fee_percent = Decimal(2)
    return aggregate


@pytest.mark.law(8, 10)
@pytest.mark.parametrize(
    ("flow", "kind", "changed", "left"),
    [
        (Flow.CHARGE, Kind.REFUND, {}, "65.00"),
        (Flow.CHARGE, Kind.REFUND, {"state": State.FAILURE}, None),  # the gateway may turn what it has said
        (Flow.CHARGE, Kind.REFUND, {"state": State.FAILURE, "contradicted": True}, "65.00"),
        (Flow.CHARGE, Kind.REFUND, {"state": State.FAILURE, "decision": {"by": "staff"}}, "65.00"),
        (Flow.CHARGE, Kind.REFUND, {"state": State.SUCCESS}, None),
        (Flow.CHARGE, Kind.REFUND, {"idempotency_key": "ours"}, None),
        (Flow.CHARGE, Kind.REFUND, {"charge_id": "a-later-charge"}, None),
        (Flow.CHARGE, Kind.RECURRING, {}, None),
        (Flow.CHARGE, Kind.CAPTURE, {}, "0"),
        (Flow.CHARGE, Kind.VOID, {}, "0"),
        (Flow.CHARGE, Kind.DISPUTE, {}, "99.00"),
        (Flow.AUTHORIZATION, Kind.REFUND, {}, "65.00"),
        (Flow.AUTHORIZATION, Kind.CAPTURE, {}, "55.00"),
        (Flow.AUTHORIZATION, Kind.VOID, {}, "55.00"),
        (Flow.AUTHORIZATION, Kind.DISPUTE, {}, "39.00"),
        (Flow.PAYOUT, Kind.REFUND, {}, "64.00"),
        (Flow.PAYOUT, Kind.VOID, {}, "64.00"),
        (Flow.PAYOUT, Kind.CAPTURE, {}, "0"),
    ],
)
def test_what_others_do_is_compared_with_what_was_left_for_it(
    flow: Flow, kind: Kind, changed: dict[str, Any], left: str | None
) -> None:
    done = ((Kind.CAPTURE, "40.00"), (Kind.VOID, "5.00"), (Kind.REFUND, "30.00"), (Kind.DISPUTE, "1.00"))
    others = [an_operation(other, State.SUCCESS, Decimal(amount)) for other, amount in done]
    others += [an_operation(other, State.PENDING, Decimal("0.50")) for other, _ in done]
    others += [an_operation(other, State.SUCCESS, Decimal("0.50"), charge_id="a-later-charge") for other, _ in done]
    theirs = _theirs(kind, **{"state": State.PENDING, **changed})
    aggregate = an_aggregate(flow, State.SUCCESS, *others, theirs)
    assert amount_left_for(aggregate, theirs) == (None if left is None else Decimal(left))


@pytest.mark.law(8)
@pytest.mark.parametrize(("state", "left"), [(State.SUCCESS, "90.00"), (State.PENDING, "100.00")])
def test_what_was_paid_is_left_once_it_is_known(state: State, left: str) -> None:
    theirs = _theirs(Kind.REFUND, State.PENDING)
    aggregate = an_aggregate(Flow.CHARGE, state, theirs)
    aggregate.create.amount = Decimal("90.00")
    assert amount_left_for(aggregate, theirs) == Decimal(left)


@pytest.mark.law(8, 10)
@pytest.mark.parametrize(
    ("kind", "refunded", "said", "amount"),
    [
        (Kind.REFUND, "0.00", "102.00", "100.00"),
        (Kind.REFUND, "0.00", "102.01", "102.01"),
        (Kind.REFUND, "0.00", "100.00", "100.00"),
        (Kind.REFUND, "0.00", "50.00", "50.00"),
        (Kind.REFUND, "100.00", "2.00", "2.00"),  # nothing is left that it could be with
        (Kind.CAPTURE, "0.00", "1.00", "1.00"),
        (Kind.CAPTURE, "0.00", "101.00", "101.00"),
        (Kind.REFUND, "0.00", "0.001", "0.00"),
    ],
)
def test_payers_fee_is_no_part_of_a_refund_by_others(kind: Kind, refunded: str, said: str, amount: str) -> None:
    known = [an_operation(Kind.REFUND, State.SUCCESS, Decimal(refunded))] if Decimal(refunded) else []
    flow = Flow.AUTHORIZATION if kind is Kind.CAPTURE else Flow.CHARGE
    aggregate = _with_fee(an_aggregate(flow, State.SUCCESS, *known))
    seen = observation(kind, State.SUCCESS, Decimal(said), "theirs")
    assert new_external_operation(aggregate, seen, decision_context()).amount == Decimal(amount)


@pytest.mark.law(10)
@pytest.mark.parametrize("kind", [Kind.CAPTURE, Kind.REFUND])
def test_operation_of_others_is_known_as_theirs(kind: Kind) -> None:
    aggregate = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS)
    account = aggregate.payment.account
    assert isinstance(account, MerchantAccount)
    account.dialect = "interface"
    found = new_external_operation(aggregate, observation(kind, State.SUCCESS, gateway_id="theirs"), decision_context())
    assert (found.requester, found.asked_by_saleor, found.operation_id) == (Origin.GATEWAY, False, "theirs")
    assert found.keeps_rest is (kind is Kind.CAPTURE)


@pytest.mark.law(8)
@pytest.mark.parametrize(("refunded", "is_with_fee"), [("10.00", True), ("9.99", False)])
def test_payers_fee_comes_back_with_a_refund_by_others_of_all_that_is_left(refunded: str, *, is_with_fee: bool) -> None:
    theirs = _theirs(Kind.REFUND, State.PENDING, "90.00")
    before = an_operation(Kind.REFUND, State.SUCCESS, Decimal(refunded))
    aggregate = _with_fee(an_aggregate(Flow.CHARGE, State.SUCCESS, before, theirs))
    assert payer_fee_on(aggregate, theirs) == (Decimal("2.00") if is_with_fee else 0)
    theirs.idempotency_key = "ours"
    assert payer_fee_on(aggregate, theirs) == 0
    assert payer_fee_on(aggregate, aggregate.create) == Decimal("2.00")


@pytest.mark.law(10)
@pytest.mark.parametrize(
    ("flow", "kind", "key", "later", "found"),
    [
        (Flow.CHARGE, Kind.REFUND, "ours", {}, [IssueCode.MADE_AFTER_ALL]),
        (Flow.CHARGE, Kind.REFUND, "gateway:one", {}, []),
        (Flow.CHARGE, Kind.REFUND, "ours", {"idempotency_key": "gateway:two"}, []),
        (Flow.CHARGE, Kind.REFUND, "ours", {"charge_id": "a-later-charge"}, []),
        (Flow.CHARGE, Kind.REFUND, "ours", {"state": State.FAILURE}, []),
        (Flow.CHARGE, Kind.REFUND, "ours", {"state": State.FAILURE, "contradicted": True}, [IssueCode.MADE_AFTER_ALL]),
        (Flow.CHARGE, Kind.REFUND, "ours", {"amount": Decimal("60.00")}, []),
        (Flow.CHARGE, Kind.REFUND, "ours", {"kind": Kind.DISPUTE}, []),
        (Flow.CHARGE, Kind.DISPUTE, "ours", {"kind": Kind.DISPUTE}, []),
    ],
)
def test_staff_see_what_was_made_after_all_if_we_may_have_repeated_it(
    flow: Flow, kind: Kind, key: str, later: dict[str, Any], found: list[IssueCode]
) -> None:
    made = an_operation(kind, State.SUCCESS, Decimal("40.00"), idempotency_key=key)
    members = {"kind": kind, "state": State.SUCCESS, "amount": Decimal("40.00"), **later}
    again = an_operation(members.pop("kind"), members.pop("state"), members.pop("amount"), **members)
    aggregate = an_aggregate(flow, State.SUCCESS, made, again)
    flag_made_after_all(aggregate, made, NOON)
    assert _issues(aggregate.payment) == found


@pytest.mark.law(10)
@pytest.mark.parametrize(("kind", "found"), [(Kind.CREATE, [IssueCode.MADE_AFTER_ALL]), (Kind.REFUND, [])])
def test_payout_that_was_made_after_all_may_have_been_repeated(kind: Kind, found: list[IssueCode]) -> None:
    refund = an_operation(Kind.REFUND, State.SUCCESS, Decimal("40.00"))
    aggregate = an_aggregate(Flow.PAYOUT, State.SUCCESS, refund)
    flag_made_after_all(aggregate, aggregate.create if kind is Kind.CREATE else refund, NOON)
    assert _issues(aggregate.payment) == found


def test_what_was_made_after_all_and_overdraws_is_told_once() -> None:
    made, again = (an_operation(Kind.REFUND, State.SUCCESS, Decimal("60.00")) for _ in range(2))
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, made, again)
    flag_made_after_all(aggregate, made, NOON)
    assert _issues(aggregate.payment) == [IssueCode.OVERDRAWN]


@pytest.mark.law(16)
@pytest.mark.parametrize(
    ("flow", "kind", "state", "refunded", "is_told"),
    [
        (Flow.CHARGE, Kind.CREATE, State.SUCCESS, "99.99", True),
        (Flow.CHARGE, Kind.CREATE, State.SUCCESS, "100.00", False),
        (Flow.CHARGE, Kind.CREATE, State.PENDING, "0.01", False),
        (Flow.CHARGE, Kind.REFUND, State.SUCCESS, "100.00", True),
        (Flow.CHARGE, Kind.REFUND, State.PENDING, "100.00", False),
        (Flow.PAYOUT, Kind.CREATE, State.SUCCESS, "99.99", True),
        (Flow.PAYOUT, Kind.CREATE, State.SUCCESS, "100.00", False),
    ],
)
def test_status_that_is_not_known_is_for_staff_while_something_is_left(
    flow: Flow, kind: Kind, state: State, refunded: str, *, is_told: bool
) -> None:
    """What gave all of a payment back may have changed the status of its record."""
    refund = an_operation(Kind.REFUND, state if kind is Kind.REFUND else State.SUCCESS, Decimal(refunded))
    aggregate = an_aggregate(flow, state, refund)
    operation = aggregate.create if kind is Kind.CREATE else refund
    flag_unknown_status(aggregate, operation, observation(kind, state), NOON)
    assert _issues(aggregate.payment) == []
    flag_unknown_status(aggregate, operation, observation(kind, state, unknown_status="reversed"), NOON)
    assert _issues(aggregate.payment) == [IssueCode.UNKNOWN_STATUS] * is_told


@pytest.mark.law(8)
@pytest.mark.parametrize(
    ("kind", "key", "amount", "is_trial", "is_told"),
    [
        (Kind.REFUND, "gateway:one", "10.50", False, True),
        (Kind.REFUND, "gateway:one", "10.00", False, False),
        (Kind.REFUND, "ours", "10.50", False, False),
        (Kind.CREATE, "ours", "10.50", False, True),  # the payer has chosen it
        (Kind.REFUND, "gateway:one", "10.50", True, False),
    ],
)
def test_amount_that_saleor_rounds_is_for_staff_unless_we_have_chosen_it(
    kind: Kind, key: str, amount: str, *, is_trial: bool, is_told: bool
) -> None:
    operation = an_operation(kind, State.SUCCESS, Decimal(amount), idempotency_key=key, currency="JPY")
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, operation)
    aggregate.payment.trial = is_trial
    flag_rounded_by_saleor(aggregate, operation, NOON)
    assert _issues(aggregate.payment) == [IssueCode.ROUNDED_BY_SALEOR] * is_told


@pytest.mark.law(10)
@pytest.mark.parametrize(
    ("amount", "more", "found"),
    [
        ("60.00", [], [IssueCode.OVERDRAWN]),
        ("40.00", [], []),
        ("60.00", [(Kind.REFUND, State.UNKNOWN, "ours")], []),  # its end will tell
        ("60.00", [(Kind.DISPUTE, State.SUCCESS, "gateway:dispute")], [IssueCode.OVERDRAWN]),
    ],
)
def test_staff_see_once_what_others_did_with_more_than_there_was(
    amount: str, more: list[tuple[Kind, State, str]], found: list[IssueCode]
) -> None:
    ours = an_operation(Kind.REFUND, State.SUCCESS, Decimal("60.00"))
    others = [_theirs(kind, state, "1.00", idempotency_key=key) for kind, state, key in more]
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, ours, _theirs(Kind.REFUND, State.SUCCESS, amount), *others)
    for _ in range(2):
        flag_overdrawn_by_others(aggregate, NOON)
    assert _issues(aggregate.payment) == found


@pytest.mark.law(10)
def test_what_only_we_have_overdrawn_is_not_put_to_staff_as_done_by_others() -> None:
    ours = [an_operation(Kind.REFUND, State.SUCCESS, Decimal("60.00")) for _ in range(2)]
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, *ours)
    flag_overdrawn_by_others(aggregate, NOON)
    assert _issues(aggregate.payment) == []


@pytest.mark.law(10)
@pytest.mark.parametrize("state", [State.SUCCESS, State.PENDING])
def test_refund_beyond_what_was_left_says_nothing_of_the_others(state: State) -> None:
    beyond = _theirs(Kind.REFUND, State.FAILURE, "60.00", contradicted=True)
    theirs = _theirs(Kind.REFUND, State.SUCCESS, "60.00", idempotency_key="gateway:first")
    aggregate = an_aggregate(Flow.CHARGE, state, theirs, beyond)
    flag_overdrawn_by_others(aggregate, NOON)
    assert _issues(aggregate.payment) == ([] if state is State.SUCCESS else [IssueCode.OVERDRAWN])


@pytest.mark.law(10)
@pytest.mark.parametrize(
    ("kind", "state"), [(Kind.DISPUTE, State.SUCCESS), (Kind.REFUND, State.FAILURE), (Kind.DISPUTE, State.PENDING)]
)
def test_staff_see_the_last_refund_by_others_that_was_made(kind: Kind, state: State) -> None:
    """Not what the bank took back, and not what failed after it."""
    made = _theirs(Kind.REFUND, State.SUCCESS, "60.00", idempotency_key="gateway:made")
    others = [_theirs(Kind.REFUND, State.SUCCESS, "60.00", idempotency_key="gateway:first"), made]
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, *others, _theirs(kind, state))
    flag_overdrawn_by_others(aggregate, NOON)
    assert [problem.operation_id for problem in open_problems(aggregate.payment)] == [made.id]


def _two_refunds() -> list[Operation]:
    """Return two refunds by others that together are more than the payment."""
    keys = ("gateway:one", "gateway:two")
    return [_theirs(Kind.REFUND, State.SUCCESS, "60.00", idempotency_key=key) for key in keys]


@pytest.mark.law(10)
def test_staff_who_know_of_one_refund_by_others_see_no_second() -> None:
    theirs = _two_refunds()
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, *theirs)
    flag_overdrawn(aggregate, theirs[0], NOON)
    flag_overdrawn_by_others(aggregate, NOON)
    assert [problem.operation_id for problem in open_problems(aggregate.payment)] == [theirs[0].id]


@pytest.mark.law(10)
@pytest.mark.parametrize(("state", "is_over"), [(State.SUCCESS, False), (State.FAILURE, True)])
def test_what_was_overdrawn_is_for_staff_until_one_of_it_has_failed(state: State, *, is_over: bool) -> None:
    theirs = _two_refunds()
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, *theirs)
    flag_overdrawn(aggregate, theirs[1], NOON)
    theirs[0].state = state
    clear_overdrawn(aggregate, NOON)
    assert _issues(aggregate.payment) == ([] if is_over else [IssueCode.OVERDRAWN])


@pytest.mark.law(10)
@pytest.mark.parametrize(("before", "waits"), [("60.00", False), ("60.01", True)])
def test_refund_by_others_waits_if_more_comes_back_with_it_than_is_known_to_be_charged(
    before: str, *, waits: bool
) -> None:
    captured = an_operation(Kind.CAPTURE, State.SUCCESS, Decimal("70.00"), keeps_rest=True)
    earlier = an_operation(Kind.REFUND, State.SUCCESS, Decimal(before))
    theirs = _theirs(Kind.REFUND, State.SUCCESS, "10.00")
    aggregate = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS, captured, earlier, theirs)
    context = replace(decision_context(), is_single_record=True)
    assert waits_for_charge(aggregate, theirs, context) is waits
