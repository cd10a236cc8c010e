"""The one mapper: what follows from the gateway's word (laws of money, 7, 8, 14). Pure."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.vocabulary import Flow, Kind, State
from app.i18n.messages import Money
from app.rules.details import Details
from app.rules.issues import Issue, IssueCode
from app.rules.mapper import (
    Transition,
    compute_transition,
    event_type_of,
    expectation_of,
    largest_payer_fee,
    update_shopper_turn,
)
from app.store.tables import MerchantAccount
from integration_base.amounts import is_amount
from tests.payments.aggregates import HUNDRED, ORDER, POS, an_aggregate, an_operation, known_operation, observation

kinds = st.sampled_from(list(Kind))
kinds_that_do_not_turn = st.sampled_from([kind for kind in Kind if kind is not Kind.DISPUTE])
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
@given(kind=kinds_that_do_not_turn, before=states, after=said_states, inferred=st.booleans())
def test_forward_only(kind: Kind, before: State, after: State, inferred: bool) -> None:
    """Forward, and towards money: only a success is never taken back."""
    inferred = inferred and before is State.FAILURE
    transition = compute_transition(known_operation(kind, before, inferred=inferred), observation(kind, after))
    if transition.state is not None:
        assert transition.state is after
        assert after.rank > before.rank or inferred or (before, after) == (State.FAILURE, State.SUCCESS)
    if before is after:
        assert transition == (Transition(state=after) if inferred else Transition())
    undone = (before, after) == (State.SUCCESS, State.FAILURE)
    assert (transition.problem is not None, transition.contradicted) == (undone, undone)
    if before is State.SUCCESS:
        assert transition.state is None


@pytest.mark.law(7)
@pytest.mark.parametrize(
    ("seen", "amount", "turns"),
    [
        (State.SUCCESS, "100.00", False),
        (State.SUCCESS, "60.00", True),
        (State.FAILURE, "100.00", True),
        (State.PENDING, "100.00", False),
        (State.PENDING, "60.00", False),
    ],
)
def test_a_lost_dispute_turns_by_another_word_and_not_by_the_same(seen: State, amount: str, turns: bool) -> None:
    known = known_operation(Kind.DISPUTE, State.SUCCESS, requested_amount=None, amount=HUNDRED)
    transition = compute_transition(known, observation(Kind.DISPUTE, seen, Decimal(amount)))
    assert transition.state is (seen if turns else None)


@pytest.mark.law(7)
@given(kind=kinds, inferred=st.booleans(), paid=st.none() | st.just(Decimal("99.99")))
def test_a_success_after_a_failure_is_booked(kind: Kind, inferred: bool, paid: Decimal | None) -> None:
    """A shopper has tried another card on the same page; or a bank has carried out what it had refused."""
    transition = compute_transition(
        known_operation(kind, State.FAILURE, inferred=inferred), observation(kind, State.SUCCESS, paid=paid)
    )
    assert transition == Transition(
        state=State.SUCCESS,
        amount=HUNDRED if paid is None else paid,
        event=event_type_of(kind, Flow.CHARGE, State.SUCCESS),
    )


@pytest.mark.law(7)
@pytest.mark.parametrize(
    ("known", "seen", "contradicted"),
    [
        (State.FAILURE, State.SUCCESS, True),
        (State.INIT, State.SUCCESS, True),
        (State.UNKNOWN, State.SUCCESS, True),
        (State.SUCCESS, State.SUCCESS, False),
        (State.INIT, State.PENDING, False),
        (State.FAILURE, State.PENDING, False),
    ],
)
def test_a_success_that_cannot_be_booked_has_perhaps_moved_money(known: State, seen: State, contradicted: bool) -> None:
    """Another amount than requested (8): neither "paid" nor "nothing was taken" would be true."""
    transition = compute_transition(
        known_operation(Kind.CREATE, known), observation(Kind.CREATE, seen, Decimal("99.99"))
    )
    assert (transition.state, transition.contradicted) == (None, contradicted)


@pytest.mark.law(7)
def test_a_failure_after_a_success_that_was_not_booked_does_not_settle_it() -> None:
    known = known_operation(Kind.CREATE, State.INIT, contradicted=True)
    transition = compute_transition(known, observation(Kind.CREATE, State.FAILURE))
    assert (transition.state, transition.event, transition.contradicted) == (None, None, True)
    assert transition.problem == Issue(IssueCode.FAILED_AFTER_SUCCESS)


@pytest.mark.law(12)
def test_a_second_payment_of_the_same_order_is_for_a_person_to_look_at() -> None:
    known = known_operation(Kind.CREATE, State.SUCCESS, gateway_id="the-payment")
    assert compute_transition(known, observation(Kind.CREATE, State.SUCCESS)) == Transition()
    second = compute_transition(known, observation(Kind.CREATE, State.SUCCESS, gateway_id="another"))
    assert second.problem == Issue(IssueCode.SECOND_PAYMENT, sum=Money(Decimal("100.00"), "UAH"))
    assert (second.state, second.event, second.contradicted) == (None, None, False)


def test_a_refund_under_another_id_is_no_second_payment() -> None:
    """Only a payment has one id for ever; what was done to it is matched before this is asked."""
    known = known_operation(Kind.REFUND, State.SUCCESS, gateway_id="refund-1")
    assert compute_transition(known, observation(Kind.REFUND, State.SUCCESS, gateway_id="refund-2")).problem is None


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
    assert transition.problem.message.endswith(".")


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


@pytest.mark.law(8)
@pytest.mark.parametrize(
    ("amount", "matches"),
    [("99.99", False), ("100.00", True), ("100.01", True), ("101.50", True), ("101.51", False)],
)
def test_a_payer_pays_what_was_requested_and_at_most_the_fee_on_top(amount: str, matches: bool) -> None:
    known = known_operation(Kind.CREATE, State.INIT, payer_fee=Decimal("1.50"))
    followed = compute_transition(known, observation(Kind.CREATE, State.SUCCESS, Decimal(amount)))
    assert (followed.state, followed.amount) == ((State.SUCCESS, HUNDRED) if matches else (None, None))
    assert (followed.problem is None) is matches


@pytest.mark.law(8)
@pytest.mark.parametrize(
    ("paid", "fee", "is_other"),
    [
        (None, "0", False),
        ("100.00", "0", False),
        ("99.99", "0", True),
        ("101.00", "0", True),
        ("101.00", "1.50", False),
        ("101.51", "1.50", True),
    ],
)
def test_another_amount_paid_than_is_booked_is_for_a_person_to_look_at(
    paid: str | None, fee: str, *, is_other: bool
) -> None:
    """By a record that repeats the success: what Saleor was told is not what was paid."""
    known = known_operation(Kind.CREATE, State.SUCCESS, payer_fee=Decimal(fee))
    said = None if paid is None else Decimal(paid)
    transition = compute_transition(known, observation(Kind.CREATE, State.SUCCESS, paid=said))
    ours = Money(HUNDRED, "UAH")
    issue = Issue(IssueCode.RECORDED_AMOUNT, what=Kind.CREATE, said=Money(said or HUNDRED, "UAH"), ours=ours)
    assert transition == Transition(problem=issue if is_other else None)


def problem_of(transition: Transition) -> IssueCode | None:
    return None if transition.problem is None else transition.problem.code


@pytest.mark.law(8)
@pytest.mark.parametrize(("kind", "requested"), [(Kind.CREATE, "100.00"), (Kind.REFUND, "40.00"), (Kind.DISPUTE, None)])
def test_record_is_compared_with_what_is_known_of_its_operation(kind: Kind, requested: str | None) -> None:
    """Nobody here has requested a dispute, and a payer may have paid another amount than was requested."""
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    operation = an_operation(kind, State.FAILURE, Decimal("40.00"), operation_id="one", inferred=True)
    aggregate.payment.saved_card_mask = "424242******4242"
    known = expectation_of(aggregate.payment, operation, payer_fee=Decimal("1.50"), left=Decimal("9.00"))
    assert (known.requested_amount, known.amount) == (requested and Decimal(requested), Decimal("40.00"))
    assert (known.flow, known.kind, known.state) == (Flow.CHARGE, kind, State.FAILURE)
    assert (known.inferred, known.contradicted, known.gateway_id) == (True, False, "one")
    assert (known.currency, known.pos_id, known.order_id) == ("UAH", POS, ORDER)
    assert (known.payer_fee, known.left, known.card_mask) == (Decimal("1.50"), Decimal("9.00"), None)


@pytest.mark.parametrize(("kind", "mask"), [(Kind.CREATE, "424242******4242"), (Kind.REFUND, None)])
def test_only_a_payout_goes_to_the_card_that_was_chosen(kind: Kind, mask: str | None) -> None:
    aggregate = an_aggregate(Flow.PAYOUT, State.INIT)
    aggregate.payment.saved_card_mask = "424242******4242"
    operation = an_operation(kind, State.INIT)
    assert expectation_of(aggregate.payment, operation, payer_fee=Decimal(0)).card_mask == mask


@pytest.mark.law(8, 14)
@pytest.mark.parametrize(
    ("flow", "percent", "fee"),
    [(Flow.CHARGE, "1.501", "1.51"), (Flow.CHARGE, None, "0"), (Flow.PAYOUT, "1.501", "0")],
)
def test_fee_on_top_is_at_most_the_accounts_rounded_up(flow: Flow, percent: str | None, fee: str) -> None:
    payment = an_aggregate(flow, State.INIT).payment
    account = payment.account
    assert isinstance(account, MerchantAccount)
    account.payer_fee_percent = None if percent is None else Decimal(percent)
    assert largest_payer_fee(payment) == Decimal(fee)


@pytest.mark.law(8, 14)
@pytest.mark.parametrize(
    ("currency", "amount", "fee"), [("JPY", "569.00", "9.00"), ("JPY", "569.50", "8.55"), ("UAH", "569.00", "8.54")]
)
def test_fee_on_top_is_rounded_up_to_what_can_be_paid_in_the_currency(currency: str, amount: str, fee: str) -> None:
    """Nobody pays a part of a yen. Of 569, 1.5 % are 8.535."""
    payment = an_aggregate(Flow.CHARGE, State.INIT, amount=Decimal(amount)).payment
    account = payment.account
    assert isinstance(account, MerchantAccount)
    account.payer_fee_percent, payment.currency = Decimal("1.5"), currency
    assert largest_payer_fee(payment) == Decimal(fee)


def test_point_of_sale_is_the_same_in_capitals() -> None:
    for ours, theirs in ((POS, POS.upper()), (POS.upper(), POS)):
        known = known_operation(Kind.CREATE, State.INIT, pos_id=ours)
        assert compute_transition(known, observation(Kind.CREATE, State.SUCCESS, pos_id=theirs)).state is State.SUCCESS


@pytest.mark.law(8)
@pytest.mark.parametrize(
    ("ours", "theirs", "is_other"),
    [
        ("424242******4242", "424242******4242", False),
        ("424242******4242", "42424200****4242", False),  # it shows more
        ("42424200****4242", "424242******4242", False),
        ("424242******4242", "424242******4243", True),
        ("424242******4242", "424242*****4242", True),
        ("424242******4242", "424242******42424", True),
        (None, "424242******4243", False),
        ("424242******4242", None, False),
    ],
)
@pytest.mark.parametrize("state", [State.SUCCESS, State.FAILURE])
def test_payout_to_another_card_is_for_a_person_to_look_at(
    ours: str | None, theirs: str | None, state: State, *, is_other: bool
) -> None:
    known = known_operation(Kind.CREATE, State.INIT, Flow.PAYOUT, card_mask=ours)
    seen = observation(Kind.CREATE, state, details=Details(card_mask=theirs))
    is_told = is_other and state is State.SUCCESS
    assert problem_of(compute_transition(known, seen)) is (IssueCode.OTHER_CARD if is_told else None)


@pytest.mark.law(8)
@pytest.mark.parametrize(
    ("paid", "currency", "is_other"),
    [("99.00", None, False), ("99.00", "UAH", False), ("99.00", "EUR", True), (None, "EUR", False)],
)
def test_what_was_paid_in_another_currency_is_no_amount_of_the_payment(
    paid: str | None, currency: str | None, *, is_other: bool
) -> None:
    said = None if paid is None else Decimal(paid)
    seen = observation(Kind.CREATE, State.SUCCESS, paid=said, paid_currency=currency)
    problem = problem_of(compute_transition(known_operation(Kind.CREATE, State.INIT), seen))
    assert problem is (IssueCode.PAID_IN_OTHER_CURRENCY if is_other else None)


@pytest.mark.law(8)
@pytest.mark.parametrize(
    ("state", "left", "problem"),
    [
        (State.SUCCESS, "99.99", IssueCode.MORE_THAN_LEFT),
        (State.SUCCESS, "100.00", None),
        (State.SUCCESS, None, None),
        (State.PENDING, "99.99", None),
        (State.SUCCESS, "0", IssueCode.MORE_THAN_LEFT),
    ],
)
@pytest.mark.parametrize(("kind", "requested"), [(Kind.REFUND, HUNDRED), (Kind.DISPUTE, None)])
def test_others_move_at_most_what_was_left(
    kind: Kind, requested: Decimal | None, state: State, left: str | None, problem: IssueCode | None
) -> None:
    most = None if left is None else Decimal(left)
    known = known_operation(kind, State.INTENT, left=most, requested_amount=requested)
    assert problem_of(compute_transition(known, observation(kind, state))) is problem


@pytest.mark.law(8)
@pytest.mark.parametrize(
    ("left", "said", "amount"), [("98.50", "100.00", "98.50"), ("98.49", "100.00", None), ("0", "1.00", None)]
)
def test_bank_takes_the_payers_fee_back_too(left: str, said: str, amount: str | None) -> None:
    """With all that was charged: the store loses what it had."""
    known = known_operation(
        Kind.DISPUTE, State.INTENT, left=Decimal(left), requested_amount=None, payer_fee=Decimal("1.50")
    )
    transition = compute_transition(known, observation(Kind.DISPUTE, State.SUCCESS, Decimal(said)))
    assert transition.amount == (None if amount is None else Decimal(amount))


def test_what_others_did_without_an_amount_is_not_compared_with_one() -> None:
    known = known_operation(Kind.REFUND, State.INTENT, requested_amount=Decimal(0))
    assert compute_transition(known, observation(Kind.REFUND, State.SUCCESS)).state is State.SUCCESS


@pytest.mark.law(12)
@pytest.mark.parametrize(
    ("flow", "code"),
    [
        (Flow.CHARGE, IssueCode.SECOND_PAYMENT),
        (Flow.AUTHORIZATION, IssueCode.SECOND_AUTHORIZATION),
        (Flow.PAYOUT, IssueCode.SECOND_PAYOUT),
    ],
)
def test_second_payment_is_one_whose_first_has_a_name(flow: Flow, code: IssueCode) -> None:
    for first, problem in ((None, None), ("another", code), ("the-payment", None)):
        known = known_operation(Kind.CREATE, State.SUCCESS, flow, gateway_id=first)
        assert problem_of(compute_transition(known, observation(Kind.CREATE, State.SUCCESS))) is problem


@pytest.mark.law(7)
@pytest.mark.parametrize(
    ("kind", "seen", "state"),
    [
        (Kind.CREATE, State.INIT, None),
        (Kind.CREATE, State.PENDING, State.PENDING),
        (Kind.REFUND, State.INIT, State.INIT),
        (Kind.REFUND, State.FAILURE, State.FAILURE),
    ],
)
def test_failure_that_we_concluded_gives_way_to_all_but_an_unpaid_page(
    kind: Kind, seen: State, state: State | None
) -> None:
    known = known_operation(kind, State.FAILURE, inferred=True)
    assert compute_transition(known, observation(kind, seen)).state is state


@pytest.mark.parametrize(
    ("known", "seen", "waited", "waits", "url", "becomes"),
    [
        (State.PENDING, State.PENDING, False, True, None, False),  # late: it cannot begin the turn again
        (State.PENDING, State.PENDING, False, True, "https://bank.example/2", True),
        (State.PENDING, State.PENDING, True, True, None, True),
        (State.PENDING, State.PENDING, True, False, None, False),
        (State.PENDING, State.INIT, True, False, None, True),
        (State.SUCCESS, State.SUCCESS, True, False, None, True),
    ],
)
def test_turn_of_the_shopper_begins_with_an_address_and_ends_without(
    known: State, seen: State, url: str | None, *, waited: bool, waits: bool, becomes: bool
) -> None:
    aggregate = an_aggregate(Flow.CHARGE, known)
    payment, create = aggregate.payment, aggregate.create
    payment.redirect_url, create.waits_for_shopper, create.message = "https://bank.example/1", waited, "before"
    told = observation(
        Kind.CREATE,
        seen,
        waits_for_shopper=waits,
        action_url=url,
        message="now",
        status_code="2102",
        shopper_message="Go.",
    )
    update_shopper_turn(payment, create, told)
    assert create.waits_for_shopper is becomes
    assert payment.redirect_url == (url or "https://bank.example/1")
    changed = ("now", "2102", "Go.") if becomes is not waited else ("before", None, None)
    assert (create.message, create.status_code, create.shopper_message) == changed


@pytest.mark.law(7)
def test_repeated_success_over_the_amount_that_was_paid_is_no_turn() -> None:
    """Only a dispute turns by another amount."""
    known = known_operation(Kind.CREATE, State.SUCCESS, amount=Decimal("99.99"))
    assert compute_transition(known, observation(Kind.CREATE, State.SUCCESS, paid=Decimal("99.99"))) == Transition()


@pytest.mark.law(7)
def test_page_that_is_shown_unpaid_is_open() -> None:
    for before in (State.INTENT, State.UNKNOWN):
        transition = compute_transition(known_operation(Kind.CREATE, before), observation(Kind.CREATE, State.INIT))
        assert transition == Transition(state=State.INIT)


@pytest.mark.law(7)
def test_failure_of_what_had_failed_contradicts_nothing_any_more() -> None:
    known = known_operation(Kind.CREATE, State.FAILURE, contradicted=True)
    assert compute_transition(known, observation(Kind.CREATE, State.FAILURE)) == Transition()
