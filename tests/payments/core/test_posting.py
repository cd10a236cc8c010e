"""What a record changes in the operation that it is of, and what follows from it. Pure."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from pydantic import SecretStr

from app.core.ids import GatewayOperationId
from app.core.payment import Operation, PaymentAggregate
from app.core.vocabulary import CloseReason, EventState, Flow, Kind, PaymentStatus, State
from app.rules.apply import apply, conclude, withdraw_contradiction
from app.rules.details import Details
from app.rules.issues import IssueCode, issue_from_json
from app.rules.mapper import Observation
from app.rules.page_cancellation import CANCELLED
from app.rules.problems import open_problems
from app.rules.saved_cards import CardToken
from app.rules.subscription import Subscription
from tests.payments.aggregates import HUNDRED, NOON, an_aggregate, an_operation, decision_context, observation

CENT = Decimal("0.01")
SINGLE = replace(decision_context(), is_single_record=True)
LOOK_UP = SINGLE.schedule.next_order_look_up(NOON)
SUBSCRIPTION = Subscription("monthly", "active")


def issues(aggregate: PaymentAggregate) -> list[IssueCode]:
    """Return the codes of what staff must look at."""
    read = [issue_from_json(problem.message) for problem in open_problems(aggregate.payment)]
    return [issue.code for issue in read if issue is not None]


def of_others(kind: Kind, state: State, amount: Decimal = HUNDRED, gateway_id: str = "theirs") -> Operation:
    """Return a recorded operation that this app did not request."""
    key = f"gateway:{gateway_id}"
    return an_operation(kind, state, amount, operation_id=gateway_id, idempotency_key=key, psp_reference=gateway_id)


def test_record_says_whose_turn_it_is_and_where_the_shopper_goes() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.INTENT)
    words: dict[str, Any] = {"shopper_message": "Confirm it.", "status_code": "2102"}
    url = "https://bank.example/3ds"
    seen = observation(Kind.CREATE, State.PENDING, waits_for_shopper=True, action_url=url, **words)
    apply(aggregate, [seen], decision_context())
    create = aggregate.create
    assert (create.waits_for_shopper, create.shopper_message, create.status_code) == (True, "Confirm it.", "2102")
    assert aggregate.payment.redirect_url == url
    apply(aggregate, [observation(Kind.CREATE, State.SUCCESS)], decision_context())
    assert (create.waits_for_shopper, create.shopper_message, create.status_code) == (False, "Confirm it.", None)
    assert aggregate.payment.redirect_url == url


def test_payment_is_booked_with_the_amount_that_was_paid() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.INIT)
    apply(aggregate, [observation(Kind.CREATE, State.SUCCESS, paid=Decimal("99.99"))], decision_context())
    assert (aggregate.create.amount, aggregate.create.booked_at) == (Decimal("99.99"), NOON)
    assert aggregate.payment.status is PaymentStatus.PAID
    assert [event.amount for event in aggregate.events] == [Decimal("99.99")]


def test_repeat_of_the_same_state_replaces_details_that_are_known() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    aggregate.create.details = Details(bank="A Bank").to_row()
    repeated = observation(Kind.CREATE, State.SUCCESS, details=Details(bank="Another Bank"))
    apply(aggregate, [repeated], decision_context())
    assert Details.from_row(aggregate.create.details).bank == "Another Bank"


@pytest.mark.law(8)
def test_mismatch_ends_with_the_operation_and_not_before() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.INIT)
    apply(aggregate, [observation(Kind.CREATE, State.SUCCESS, Decimal("1.00"))], decision_context())
    for state, found in ((State.PENDING, [IssueCode.OTHER_AMOUNT]), (State.SUCCESS, [])):
        apply(aggregate, [observation(Kind.CREATE, state)], decision_context())
        assert issues(aggregate) == found


def test_page_that_we_closed_says_why_to_staff_and_to_saleor() -> None:
    closing = an_operation(
        Kind.CANCEL, State.PENDING, Decimal(0), asked_by_saleor=False, close_reason=CloseReason.BY_STAFF
    )
    aggregate = an_aggregate(Flow.CHARGE, State.INIT, closing)
    closed = observation(Kind.CREATE, State.FAILURE, status_code=CANCELLED, message="The gateway's words")
    apply(aggregate, [closed], decision_context())
    assert aggregate.create.message != "The gateway's words"
    assert [event.message for event in aggregate.events if event.type == "CHARGE_FAILURE"] == [aggregate.create.message]


@pytest.mark.parametrize(("before", "noted"), [(State.INIT, ["At the bank"]), (State.UNKNOWN, [])])
def test_payment_that_left_its_page_is_noted_in_the_gateways_words(before: State, noted: list[str]) -> None:
    aggregate = an_aggregate(Flow.CHARGE, before)
    apply(aggregate, [observation(Kind.CREATE, State.PENDING, message="At the bank")], decision_context())
    assert [event.message for event in aggregate.events] == noted


@pytest.mark.law(10)
def test_release_by_the_gateway_takes_the_place_of_the_one_that_was_assumed() -> None:
    aggregate = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS)
    apply(aggregate, [observation(Kind.CAPTURE, State.SUCCESS, Decimal("40.00"), "capture")], decision_context())
    apply(aggregate, [observation(Kind.VOID, State.SUCCESS, Decimal("60.00"), "release")], decision_context())
    [told] = [event for event in aggregate.events if event.type == "CANCEL_SUCCESS"]
    assert (told.amount, aggregate.operations[-1].psp_reference) == (Decimal("60.00"), told.psp_reference)


@pytest.mark.law(10)
def test_release_that_was_assumed_is_taken_back_when_more_is_captured() -> None:
    aggregate = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS)
    for name in ("first", "second"):
        apply(aggregate, [observation(Kind.CAPTURE, State.SUCCESS, Decimal("40.00"), name)], decision_context())
    [assumed] = [event for event in aggregate.events if event.type == "CANCEL_SUCCESS"]
    assert assumed.state is EventState.SUPERSEDED
    assert issues(aggregate) == [IssueCode.REST_NOT_RELEASED]


@pytest.mark.parametrize("is_by_staff", [True, False])
def test_lost_dispute_is_told_once_and_in_our_words(*, is_by_staff: bool) -> None:
    dispute = of_others(Kind.DISPUTE, State.PENDING)
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, dispute)
    if is_by_staff:
        conclude(aggregate, dispute, State.SUCCESS, decision_context(), message="their words")
    else:
        seen = observation(Kind.DISPUTE, State.SUCCESS, gateway_id="theirs", message="their words")
        apply(aggregate, [seen], decision_context())
    [told] = [event for event in aggregate.events if event.type == "CHARGE_BACK"]
    assert (told.amount, told.psp_reference) == (HUNDRED, "theirs")
    assert told.message != "their words"


class TestWhatWeConclude:
    def test_outcome_that_is_unknown_is_explained_and_looked_up(self) -> None:
        aggregate = an_aggregate(Flow.CHARGE, State.INTENT)
        context = decision_context(now=NOON + timedelta(seconds=1))
        conclude(aggregate, aggregate.create, State.UNKNOWN, context, message="no answer")
        create = aggregate.create
        assert (create.message, create.updated_at) == ("no answer", context.now)
        assert create.next_poll_at == context.now + context.schedule.first_settle

    @pytest.mark.parametrize(("said", "kept"), [(None, "4001"), ("4002", "4002")])
    def test_code_stays_unless_there_is_another(self, said: str | None, kept: str) -> None:
        aggregate = an_aggregate(Flow.CHARGE, State.PENDING)
        aggregate.create.status_code = "4001"
        conclude(aggregate, aggregate.create, State.FAILURE, decision_context(), message="failed", status_code=said)
        assert aggregate.create.status_code == kept
        assert (aggregate.payment.status, aggregate.create.ended_at) == (PaymentStatus.FAILED, NOON)

    @pytest.mark.law(7)
    @pytest.mark.parametrize("is_contradicted", [True, False])
    def test_contradiction_that_staff_end_is_told_with_what_is_possible(self, *, is_contradicted: bool) -> None:
        aggregate = an_aggregate(Flow.CHARGE, State.FAILURE)
        aggregate.create.contradicted = is_contradicted
        for _ in range(2):
            withdraw_contradiction(aggregate, aggregate.create, "It has failed", decision_context())
        assert not aggregate.create.contradicted
        assert [event.message for event in aggregate.events] == ["It has failed"] * is_contradicted
        if is_contradicted:
            assert aggregate.payment.status is PaymentStatus.FAILED


class TestMoneyThatIsNotExplained:
    @pytest.mark.law(16)
    @pytest.mark.parametrize(("state", "found"), [(State.SUCCESS, [IssueCode.UNEXPLAINED_MONEY]), (State.PENDING, [])])
    def test_later_charge_of_a_payment_without_a_subscription_is_for_staff(
        self, state: State, found: list[IssueCode]
    ) -> None:
        aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
        apply(aggregate, [observation(Kind.RECURRING, state, gateway_id="later")], decision_context())
        assert (issues(aggregate), len(aggregate.operations)) == (found, 1)

    @pytest.mark.law(16)
    @pytest.mark.parametrize(("word", "found"), [("reversed", [IssueCode.UNEXPLAINED_STATUS]), (None, [])])
    def test_other_card_of_a_paid_page_is_for_staff_if_its_status_is_unknown(
        self, word: str | None, found: list[IssueCode]
    ) -> None:
        aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
        aggregate.create.operation_id = GatewayOperationId("the-payment")
        other = observation(Kind.CREATE, State.PENDING, gateway_id="another", unknown_status=word)
        apply(aggregate, [other], decision_context())
        assert issues(aggregate) == found

    @pytest.mark.law(16)
    def test_unknown_status_of_what_had_succeeded_is_for_staff(self) -> None:
        aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
        apply(aggregate, [observation(Kind.CREATE, State.PENDING, unknown_status="reversed")], decision_context())
        assert issues(aggregate) == [IssueCode.UNKNOWN_STATUS]


@pytest.mark.law(10)
def test_payment_bound_to_a_later_charge_is_bound_to_the_first_when_that_is_reported() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    aggregate.payment.recurring_id = SUBSCRIPTION.recurring_id
    later = Details(created_at=NOON + timedelta(days=30), bank="A Bank")
    aggregate.create.operation_id, aggregate.create.details = GatewayOperationId("second"), later.to_row()
    aggregate.create.booked_at = later.created_at
    first = observation(
        Kind.CREATE,
        State.SUCCESS,
        gateway_id="first",
        subscription=SUBSCRIPTION,
        details=Details(created_at=NOON, processed_at=NOON),
    )
    apply(aggregate, [first], decision_context(now=NOON + timedelta(days=30)))
    [charge] = aggregate.operations[1:]
    assert aggregate.create.operation_id == "first"
    assert (charge.kind, charge.operation_id, charge.state, charge.amount) == (
        *(Kind.RECURRING, "second"),
        *(State.SUCCESS, HUNDRED),
    )
    assert Details.from_row(charge.details).bank == "A Bank"


@pytest.mark.law(10)
def test_problem_ends_when_it_is_reported_late_where_the_money_came_from() -> None:
    captured = an_operation(Kind.CAPTURE, State.SUCCESS, Decimal("60.00"), keeps_rest=True)
    refund = an_operation(Kind.REFUND, State.UNKNOWN)
    late = an_operation(Kind.CAPTURE, State.PENDING, Decimal("40.00"), keeps_rest=True, operation_id="late")
    aggregate = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS, captured, refund, late)
    conclude(aggregate, refund, State.SUCCESS, decision_context(), message="made")
    assert issues(aggregate) == [IssueCode.OVERDRAWN]
    apply(aggregate, [observation(Kind.CAPTURE, State.SUCCESS, Decimal("40.00"), "late")], decision_context())
    assert issues(aggregate) == []


def test_card_of_a_later_charge_is_not_the_one_whose_owner_agreed() -> None:
    charge = an_operation(Kind.RECURRING, State.PENDING, operation_id="later", idempotency_key="gateway:later")
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, charge)
    aggregate.payment.card_owner, aggregate.payment.recurring_id = "owner", SUBSCRIPTION.recurring_id
    card = CardToken(SecretStr("token"), "424242******4242")
    context = replace(decision_context(), seal_token=lambda *_sealed: "sealed")
    seen = observation(Kind.RECURRING, State.SUCCESS, gateway_id="later", card=card)
    apply(aggregate, [seen], context)
    assert (charge.state, aggregate.cards_to_save) == (State.SUCCESS, [])


@pytest.mark.law(7, 10)
class TestWhenTheWholeOrderIsLookedUp:
    """After a notification that leaves open what else has happened."""

    def looked_up(self, aggregate: PaymentAggregate, seen: Observation, *, is_single: bool = True) -> bool:
        """Return whether the whole order is looked up after a record of the last operation."""
        apply(aggregate, [seen], SINGLE if is_single else decision_context())
        return aggregate.operations[-1].next_poll_at == LOOK_UP

    def test_it_is_not_when_the_whole_order_was_shown(self) -> None:
        for is_single in (True, False):
            refund = an_operation(Kind.REFUND, State.PENDING, operation_id="refund-1")
            aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refund)
            seen = observation(Kind.REFUND, State.SUCCESS, gateway_id="refund-1")
            assert self.looked_up(aggregate, seen, is_single=is_single) is is_single

    @pytest.mark.parametrize(
        ("before", "subscription", "expected"),
        [
            (State.INIT, SUBSCRIPTION, True),
            (State.INIT, None, False),
            (State.SUCCESS, SUBSCRIPTION, False),
        ],
    )
    def test_payment_that_begins_a_subscription(
        self, before: State, subscription: Subscription | None, *, expected: bool
    ) -> None:
        """It may be a later charge whose first is reported after it."""
        seen = observation(Kind.CREATE, State.SUCCESS, subscription=subscription)
        assert self.looked_up(an_aggregate(Flow.CHARGE, before), seen) is expected

    def test_refund_by_others_that_succeeds_after_all_and_overdraws(self) -> None:
        """Once, and not at each repeat; nor where there was enough."""
        seen = observation(Kind.REFUND, State.SUCCESS, gateway_id="theirs")
        assert not self.looked_up(an_aggregate(Flow.CHARGE, State.SUCCESS, of_others(Kind.REFUND, State.FAILURE)), seen)
        refunded = an_operation(Kind.REFUND, State.SUCCESS, CENT)
        aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refunded, of_others(Kind.REFUND, State.FAILURE))
        assert self.looked_up(aggregate, seen)
        aggregate.operations[-1].next_poll_at = None
        assert not self.looked_up(aggregate, seen)

    @pytest.mark.parametrize("kind", [Kind.REFUND, Kind.DISPUTE])
    def test_more_was_moved_by_others_than_was_left(self, kind: Kind) -> None:
        amount = HUNDRED + CENT
        aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, of_others(kind, State.PENDING, amount))
        assert self.looked_up(aggregate, observation(kind, State.SUCCESS, amount, "theirs"))

    @pytest.mark.parametrize("kind", [Kind.REFUND, Kind.DISPUTE])
    @pytest.mark.parametrize("is_known", [True, False])
    @pytest.mark.parametrize(("charge", "expected"), [(State.PENDING, True), (State.SUCCESS, False)])
    def test_money_went_back_whose_charge_is_not_known(
        self, charge: State, kind: Kind, *, is_known: bool, expected: bool
    ) -> None:
        known = [of_others(kind, State.PENDING)] if is_known else []
        aggregate = an_aggregate(Flow.CHARGE, charge, *known)
        assert self.looked_up(aggregate, observation(kind, State.SUCCESS, gateway_id="theirs")) is expected

    def test_dispute_ends_for_the_first_time(self) -> None:
        """That is no turn."""
        aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, of_others(Kind.DISPUTE, State.PENDING))
        assert not self.looked_up(aggregate, observation(Kind.DISPUTE, State.SUCCESS, gateway_id="theirs"))

    @pytest.mark.parametrize(("before", "expected"), [([CENT], True), ([], False)])
    def test_refund_by_others_that_is_under_way_and_would_overdraw(
        self, before: list[Decimal], *, expected: bool
    ) -> None:
        refunded = [an_operation(Kind.REFUND, State.SUCCESS, amount) for amount in before]
        aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, *refunded)
        assert self.looked_up(aggregate, observation(Kind.REFUND, State.PENDING, gateway_id="theirs")) is expected

    def test_release_by_others_leaves_a_rest(self) -> None:
        seen = observation(Kind.VOID, State.SUCCESS, Decimal("30.00"), "theirs")
        assert self.looked_up(an_aggregate(Flow.AUTHORIZATION, State.SUCCESS), seen)

    def test_record_that_does_not_match_is_for_staff(self) -> None:
        """It names no operation of ours."""
        aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, an_operation(Kind.REFUND, State.UNKNOWN))
        seen = observation(Kind.REFUND, State.PENDING, gateway_id="refund-1", pos_id="another")
        assert not self.looked_up(aggregate, seen)
        assert issues(aggregate) == [IssueCode.OTHER_POINT_OF_SALE]


@pytest.mark.law(10)
def test_what_others_gave_back_is_told_of_them_and_not_of_the_payment_that_succeeds_later() -> None:
    """The money was there: it is they who have given back more than that."""
    theirs = [
        an_operation(Kind.REFUND, State.SUCCESS, Decimal("60.00"), idempotency_key=f"gateway:{name}", operation_id=name)
        for name in ("one", "two")
    ]
    aggregate = an_aggregate(Flow.CHARGE, State.PENDING, *theirs)
    apply(aggregate, [observation(Kind.CREATE, State.SUCCESS)], decision_context())
    assert [problem.operation_id for problem in open_problems(aggregate.payment)] == []


@pytest.mark.law(10)
def test_refund_by_others_without_words_of_the_gateway_is_told_to_saleor() -> None:
    theirs = an_operation(Kind.REFUND, State.SUCCESS, idempotency_key="gateway:one", operation_id="one", message=None)
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, theirs)
    apply(aggregate, [], decision_context())
    assert [(event.type, event.message) for event in aggregate.events] == [("REFUND_SUCCESS", "")]


@pytest.mark.law(12)
def test_closing_that_waits_for_its_moment_is_not_hurried_though_nothing_is_in_flight() -> None:
    """It is repeated until the gateway confirms it, in pauses that grow."""
    later = NOON + timedelta(minutes=5)
    closing = an_operation(Kind.CANCEL, State.WAITING, close_reason=CloseReason.COVERED, next_poll_at=later)
    aggregate = an_aggregate(Flow.CHARGE, State.INIT, closing)
    apply(aggregate, [observation(Kind.CREATE, State.INIT)], decision_context())
    assert closing.next_poll_at == later
