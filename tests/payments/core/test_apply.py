"""Records are posted: whatever the order and the repeats in which the gateway speaks, one story comes of it.

Pure: the aggregates are on paper. Saleor's side of the story is booked by Saleor's own rules.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from app.core.ids import GatewayOperationId, PspReference
from app.core.payment import PaymentAggregate
from app.core.vocabulary import Flow, Kind, State
from app.rules.apply import apply, conclude
from app.rules.balance import balance
from app.rules.decision_context import enqueue_note, raise_problem
from app.rules.decisions.action import step_for
from app.rules.details import Details, StatedSum
from app.rules.issues import IssueCode, issue_from_json
from app.rules.mapper import Observation
from app.rules.observation import find_matching_operation
from app.rules.problems import cause_of_mismatch, problem_text
from app.rules.refusal import RefusalError
from app.rules.saved_cards import CardToken
from saleor_app_sdk.responses import AvailableAction
from saleor_app_sdk.testing.records import Transaction
from saleor_app_sdk.testing.rules.reports import Report, record_report
from saleor_app_sdk.testing.vocabulary import EventType
from tests.payments.aggregates import (
    HUNDRED,
    NOON,
    ORDER,
    an_aggregate,
    an_operation,
    decision_context,
    observation,
)
from tests.payments.fake_saleor import FakeSaleor
from tests.payments.problems import issue_saying

PATHS = [
    (State.SUCCESS,),
    (State.INIT, State.SUCCESS),
    (State.PENDING, State.SUCCESS),
    (State.INIT, State.PENDING, State.SUCCESS),
    (State.FAILURE,),
    (State.PENDING, State.FAILURE),
]
SUCCESSFUL = PATHS[:4]
CENT = Decimal("0.01")
KINDS = {Kind.CAPTURE: "CHARGE", Kind.VOID: "CANCEL", Kind.REFUND: "REFUND"}


@dataclass(frozen=True)
class History:
    """All that the gateway has to say of one payment, in the order in which it happened."""

    flow: Flow
    words: tuple[Observation, ...]


def _words(kind: Kind, path: Sequence[State], amount: Decimal, name: str) -> list[Observation]:
    return [observation(kind, state, amount, name) for state in path]


@st.composite
def histories(draw: st.DrawFn) -> History:
    """A payment, perhaps taken in part or voided, perhaps refunded in parts of different amounts."""
    flow = draw(st.sampled_from([Flow.CHARGE, Flow.AUTHORIZATION]))
    path = draw(st.sampled_from(PATHS))
    words = _words(Kind.CREATE, path, HUNDRED, "the-payment")
    left = HUNDRED if path in SUCCESSFUL else Decimal(0)
    if flow is Flow.AUTHORIZATION and left:
        if draw(st.booleans()):
            part = draw(st.integers(1, 10000)) * CENT
            path = draw(st.sampled_from(PATHS))
            words += _words(Kind.CAPTURE, path, part, "the-capture")
            left = part if path in SUCCESSFUL else Decimal(0)
        else:
            words += _words(Kind.VOID, draw(st.sampled_from(PATHS)), HUNDRED, "the-void")
            left = Decimal(0)
    refunds = draw(st.lists(st.integers(1, 5000), max_size=3, unique=True))
    for number, hundredths in enumerate(refunds):
        path, amount = draw(st.sampled_from(PATHS)), hundredths * CENT
        if amount > left:
            continue
        words += _words(Kind.REFUND, path, amount, f"refund-{number}")
        left -= amount if path in SUCCESSFUL else Decimal(0)
    return History(flow, tuple(words))


@st.composite
def retellings(draw: st.DrawFn, history: History) -> list[list[Observation]]:
    """The same words in any order, each at least once, some again, in batches of any size."""
    words = list(history.words) + draw(st.lists(st.sampled_from(history.words), max_size=6))
    words = draw(st.permutations(words))
    batches, rest = [], list(words)
    while rest:
        size = draw(st.integers(1, len(rest)))
        batches.append(rest[:size])
        rest = rest[size:]
    return batches


def story(aggregate: PaymentAggregate) -> tuple[object, ...]:
    """Return what an aggregate says in the end, whatever the order in which it was told."""
    operations = {
        (operation.kind, operation.operation_id, operation.state, operation.amount)
        for operation in aggregate.operations
    }
    # Notes tell of the way, which may be heard of in another order, and not of the end.
    events = {(event.type, event.psp_reference, event.amount) for event in aggregate.events if event.type != "INFO"}
    return operations, events, balance(aggregate.payment.flow, aggregate.operations), problem_text(aggregate.payment)


def told_to_saleor(aggregate: PaymentAggregate, saleor: FakeSaleor, transaction: Transaction, already: int) -> None:
    """Report the new events of an aggregate. Raises when Saleor refuses one."""
    for event in aggregate.events[already:]:
        report = Report(
            type=EventType(event.type),
            psp_reference=event.psp_reference,
            amount=event.amount,
            message=event.message,
            actions=event.available_actions,
        )
        _, repeated = record_report(transaction, report, [transaction], saleor.event_clock)
        assert not repeated


def both_ledgers_agree(aggregate: PaymentAggregate, transaction: Transaction) -> None:
    standing, saleor = balance(aggregate.payment.flow, aggregate.operations), transaction.amounts
    voided = sum(
        (
            operation.amount
            for operation in aggregate.operations
            if operation.kind is Kind.VOID and operation.state is State.SUCCESS
        ),
        Decimal(0),
    )
    captured = standing.charged if aggregate.payment.flow is Flow.AUTHORIZATION else Decimal(0)
    released = standing.authorized - captured if captured else Decimal(0)
    assert saleor.charged == standing.charged - standing.refunded
    assert saleor.refunded == standing.refunded
    assert saleor.canceled == voided + released
    assert saleor.authorized == standing.authorized - voided - captured - released
    assert sorted(transaction.actions) == sorted(action.value for action in standing.actions)


@pytest.mark.law(7, 10)
@given(data=st.data(), history=histories())
def test_the_order_in_which_the_gateway_speaks_does_not_matter(data: st.DataObject, history: History) -> None:
    in_order = an_aggregate(history.flow, State.INIT)
    for word in history.words:
        apply(in_order, [word], decision_context())
    aggregate, saleor = an_aggregate(history.flow, State.INIT), FakeSaleor(lambda: NOON)
    transaction = saleor.new_transaction()
    ranks: dict[str | None, int] = {}
    for batch in data.draw(retellings(history)):
        already = len(aggregate.events)
        apply(aggregate, batch, decision_context())
        told_to_saleor(aggregate, saleor, transaction, already)
        for operation in aggregate.operations:
            assert operation.state.rank >= ranks.get(operation.operation_id, 0)
            ranks[operation.operation_id] = operation.state.rank
        names = [(event.type, event.psp_reference) for event in aggregate.events]
        assert len(names) == len(set(names))
        references = [operation.psp_reference for operation in aggregate.operations if operation.psp_reference]
        assert len(references) == len(set(references))  # law 9
    assert story(aggregate) == story(in_order)
    assert problem_text(aggregate.payment) is None
    if any(event.available_actions is not None for event in aggregate.events):
        both_ledgers_agree(aggregate, transaction)


CHARGED_BY_OTHERS = {
    Flow.CHARGE: observation(Kind.CREATE, State.SUCCESS, HUNDRED, "the-payment"),
    Flow.AUTHORIZATION: observation(Kind.CAPTURE, State.SUCCESS, HUNDRED, "the-capture"),
}


@pytest.mark.law(10)
@pytest.mark.parametrize("is_found", [True, False])
@pytest.mark.parametrize("flow", CHARGED_BY_OTHERS)
def test_a_refund_that_overtakes_its_charge_is_told_after_it(flow: Flow, is_found: bool) -> None:
    """Until the charge is known, or the whole order has been looked up; Saleor's charged amount is never negative."""
    aggregate = an_aggregate(flow, State.INIT if flow is Flow.CHARGE else State.SUCCESS)
    refund = observation(Kind.REFUND, State.SUCCESS, HUNDRED, "the-refund")
    single = replace(decision_context(), is_single_record=True)
    apply(aggregate, [refund], single)
    apply(aggregate, [refund], single)  # a repeat tells nothing new
    assert [event.type for event in aggregate.events] == []
    assert aggregate.operations[-1].next_poll_at == single.schedule.next_order_look_up(NOON)
    if is_found:
        apply(aggregate, [CHARGED_BY_OTHERS[flow]], single)
        assert [event.type for event in aggregate.events] == ["CHARGE_SUCCESS", "REFUND_SUCCESS"]
    else:  # the gateway shows a refund of nothing: that is told as it is, and staff see it
        apply(aggregate, [refund], decision_context())
        assert [event.type for event in aggregate.events] == ["REFUND_SUCCESS"]
    told = aggregate.events[-1]
    assert (told.psp_reference, told.amount) == ("the-refund", HUNDRED)
    apply(aggregate, [refund, CHARGED_BY_OTHERS[flow]], decision_context())
    assert [event.type for event in aggregate.events].count("REFUND_SUCCESS") == 1


@pytest.mark.law(9, 10)
@given(
    data=st.data(), history=histories(), state=st.sampled_from([State.INTENT, State.UNKNOWN]), given_up=st.booleans()
)
def test_an_operation_of_ours_in_flight_is_bound_wherever_its_word_comes(
    data: st.DataObject, history: History, state: State, given_up: bool
) -> None:
    """Bound, never counted twice; under the reference that Saleor knows, even after we had given up."""
    secondary = [word for word in history.words if word.kind is not Kind.CREATE]
    if not secondary:
        return
    meant = data.draw(st.sampled_from(secondary))
    ours = an_operation(meant.kind, state, meant.amount, psp_reference="ours")
    aggregate = an_aggregate(history.flow, State.INIT, ours)
    if given_up:
        conclude(aggregate, ours, State.FAILURE, decision_context(), message="no trace", inferred=True)
    for batch in data.draw(retellings(history)):
        apply(aggregate, batch, decision_context())
    assert ours.operation_id == meant.gateway_id
    told = {event.type for event in aggregate.events if event.psp_reference == "ours"}
    alone = an_aggregate(history.flow, State.INIT)
    apply(alone, [word for word in history.words if word.gateway_id == meant.gateway_id], decision_context())
    expected = {event.type for event in alone.events if event.psp_reference == PspReference(meant.gateway_id)}
    assert told == (expected | {f"{KINDS[meant.kind]}_FAILURE"} if given_up else expected)
    assert not ours.inferred  # it is the gateway's word now, whatever it says
    assert not any(event.psp_reference == PspReference(meant.gateway_id) for event in aggregate.events)


@pytest.mark.law(8)
@given(
    history=histories(),
    wrong=st.sampled_from(
        [{"pos_id": "another"}, {"order_id": "another"}, {"currency": "USD"}, {"paid": Decimal("0.001")}]
    ),
)
def test_nothing_that_does_not_agree_is_ever_a_success(history: History, wrong: dict[str, object]) -> None:
    """Whatever is wrong with every word, Saleor's amounts stay as they are, and nothing is left in flight."""
    aggregate = an_aggregate(history.flow, State.INIT)
    for word in history.words:
        apply(aggregate, [replace(word, **wrong)], decision_context())  # type: ignore[arg-type] # fields of Observation
    assert not [event.type for event in aggregate.events if event.type.endswith("_SUCCESS")]
    assert not balance(history.flow, aggregate.operations).in_flight


@pytest.mark.law(7)
@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["success first", "failure first"])
@pytest.mark.parametrize("by", ["us", "others"])
def test_a_refund_that_one_answer_calls_both_made_and_failed_is_for_staff(by: str, order: tuple[int, int]) -> None:
    """Wherever the gateway lists the two words: it counts as made, and a person finds out."""
    ours = [an_operation(Kind.REFUND, State.UNKNOWN)] if by == "us" else []
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, *ours)
    words = [observation(Kind.REFUND, state, HUNDRED, "the-refund") for state in (State.SUCCESS, State.FAILURE)]
    apply(aggregate, [words[number] for number in order], decision_context())
    [refund] = aggregate.operations[1:]
    assert (refund.state, refund.contradicted) == (State.SUCCESS, True)
    assert "first reported success and now reports failure" in (problem_text(aggregate.payment) or "")
    assert {event.type for event in aggregate.events} - {"INFO"} == {"REFUND_SUCCESS"}
    assert balance(Flow.CHARGE, aggregate.operations).refundable == 0


CARDS = {"first-card": (State.PENDING, State.FAILURE), "second-card": (State.PENDING, State.SUCCESS)}
TWO_CARDS = [observation(Kind.CREATE, state, gateway_id=card) for card, states in CARDS.items() for state in states]


@pytest.mark.law(7)
@pytest.mark.parametrize("before", [State.INTENT, State.INIT, State.UNKNOWN])
@pytest.mark.parametrize("order", list(permutations(range(len(TWO_CARDS)))), ids=str)
class TestTwoCardsOnOnePage:
    """The gateway may count each card that a shopper tries as a payment of its own."""

    def test_whatever_the_order_of_the_records_the_payment_is_that_of_the_card_which_paid(
        self, order: tuple[int, ...], before: State
    ) -> None:
        aggregate = an_aggregate(Flow.CHARGE, before)
        for number in order:
            apply(aggregate, [TWO_CARDS[number]], replace(decision_context(), is_single_record=True))
        assert (aggregate.create.state, aggregate.create.operation_id) == (State.SUCCESS, "second-card")
        assert [event.type for event in aggregate.events if event.type != "INFO"][-1] == "CHARGE_SUCCESS"
        assert not aggregate.create.contradicted
        assert problem_text(aggregate.payment) is None

    def test_all_of_them_in_one_look_up(self, order: tuple[int, ...], before: State) -> None:
        aggregate = an_aggregate(Flow.CHARGE, before)
        apply(aggregate, [TWO_CARDS[number] for number in order], decision_context())
        assert (aggregate.create.state, aggregate.create.operation_id) == (State.SUCCESS, "second-card")
        assert {event.type for event in aggregate.events} <= {"INFO", "CHARGE_SUCCESS"}
        assert problem_text(aggregate.payment) is None


@pytest.mark.law(7)
class TestADeclinedCardBesideOneThatIsPending:
    PENDING = observation(Kind.CREATE, State.PENDING, gateway_id="first-card")
    DECLINED = observation(Kind.CREATE, State.FAILURE, gateway_id="second-card")

    def _pending(self) -> PaymentAggregate:
        aggregate = an_aggregate(Flow.CHARGE, State.INIT)
        apply(aggregate, [self.PENDING], decision_context())
        return aggregate

    @pytest.mark.parametrize("both", [False, True], ids=["notification", "look-up"])
    def test_fails_nothing(self, both: bool) -> None:
        aggregate = self._pending()
        records = [self.DECLINED, self.PENDING] if both else [self.DECLINED]
        apply(aggregate, records, replace(decision_context(), is_single_record=not both))
        assert aggregate.create.state is State.PENDING
        assert "CHARGE_FAILURE" not in {event.type for event in aggregate.events}

    def test_the_payment_fails_with_the_last_card(self) -> None:
        aggregate = self._pending()
        declined = replace(self.DECLINED, message="the second card was declined")
        apply(aggregate, [declined, replace(self.PENDING, state=State.FAILURE)], decision_context())
        assert (aggregate.create.state, aggregate.create.message) == (State.FAILURE, declined.message)

    def test_the_payment_fails_when_the_gateway_shows_no_other(self) -> None:
        """What a look-up of the whole order does not show any more is not waited for."""
        aggregate = self._pending()
        apply(aggregate, [self.DECLINED], decision_context())
        assert (aggregate.create.state, aggregate.create.operation_id) == (State.FAILURE, "first-card")

    @pytest.mark.parametrize("settled", [State.SUCCESS, State.FAILURE])
    def test_another_card_is_not_the_one_that_staff_settled(self, settled: State) -> None:
        aggregate = self._pending()
        aggregate.create.state, aggregate.create.decision = settled, {"by": "Ann"}
        apply(aggregate, [replace(self.DECLINED, state=settled)], decision_context())
        assert aggregate.create.operation_id == "first-card"
        is_paid_twice = "a second successful payment of this order" in (problem_text(aggregate.payment) or "")
        assert is_paid_twice is (settled is State.SUCCESS)

    def test_a_card_tried_since_takes_the_place_of_one_that_was_pending(self) -> None:
        aggregate = self._pending()
        apply(aggregate, [replace(self.DECLINED, state=State.PENDING)], decision_context())
        apply(
            aggregate,
            [replace(self.PENDING, state=State.FAILURE)],
            replace(decision_context(), is_single_record=True),
        )
        assert (aggregate.create.state, aggregate.create.operation_id) == (State.PENDING, "second-card")
        apply(aggregate, [self.DECLINED], replace(decision_context(), is_single_record=True))
        assert aggregate.create.state is State.FAILURE


@given(history=histories())
def test_what_is_offered_is_possible(history: History) -> None:
    """After every word of the gateway: what staff are offered is not refused, and what is not offered is."""
    aggregate = an_aggregate(history.flow, State.INIT)
    for word in history.words:
        apply(aggregate, [word], decision_context())
        standing = balance(history.flow, aggregate.operations)
        for action, amount in (
            (AvailableAction.CHARGE, standing.capturable),
            (AvailableAction.REFUND, standing.refundable),
            (AvailableAction.CANCEL, Decimal(0)),
        ):
            if action in standing.actions:
                assert step_for(action, amount, standing).amount == (amount or standing.capturable)
            else:
                with pytest.raises(RefusalError):
                    step_for(action, amount or CENT, standing)


@pytest.mark.law(10)
@given(part=st.integers(1, 9999))
def test_what_is_captured_and_what_is_released_sum_to_what_was_reserved(part: int) -> None:
    captured = part * CENT
    aggregate = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS)
    apply(aggregate, [observation(Kind.CAPTURE, State.SUCCESS, captured, "the-capture")], decision_context())
    told = {event.type: event for event in aggregate.events}
    assert told["CHARGE_SUCCESS"].amount + told["CANCEL_SUCCESS"].amount == HUNDRED
    assert told["CHARGE_SUCCESS"].psp_reference != told["CANCEL_SUCCESS"].psp_reference


def test_a_full_capture_releases_nothing() -> None:
    aggregate = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS)
    apply(aggregate, [observation(Kind.CAPTURE, State.SUCCESS, HUNDRED, "the-capture")], decision_context())
    assert [event.type for event in aggregate.events] == ["CHARGE_SUCCESS"]


def test_a_second_capture_by_others_releases_nothing_twice() -> None:
    """The gateway takes a reservation once; if it does otherwise for others, at least our sums stay right."""
    aggregate = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS)
    for name, amount in (("first", "30.00"), ("second", "40.00")):
        apply(aggregate, [observation(Kind.CAPTURE, State.SUCCESS, Decimal(amount), name)], decision_context())
    assert [event.amount for event in aggregate.events if event.type == "CANCEL_SUCCESS"] == [Decimal("70.00")]


@pytest.mark.law(10)
class TestWhoseRecordItIs:
    def test_the_operation_with_its_id_before_one_with_its_amount(self) -> None:
        open_one = an_operation(Kind.REFUND, State.UNKNOWN)
        named = an_operation(Kind.REFUND, State.PENDING, operation_id="refund-1")
        aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, open_one, named)
        apply(aggregate, [observation(Kind.REFUND, State.SUCCESS, gateway_id="refund-1")], decision_context())
        assert (open_one.state, named.state) == (State.UNKNOWN, State.SUCCESS)

    def test_the_one_that_is_being_answered_before_another_one(self) -> None:
        first, second = an_operation(Kind.REFUND, State.INTENT), an_operation(Kind.REFUND, State.INTENT)
        aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, first, second)
        apply(
            aggregate,
            [observation(Kind.REFUND, State.SUCCESS, gateway_id="refund-1")],
            decision_context(second.id),
        )
        assert (first.operation_id, second.operation_id) == (None, "refund-1")

    def test_the_one_in_flight_before_one_that_was_given_up(self) -> None:
        given_up = an_operation(Kind.REFUND, State.FAILURE, inferred=True)
        in_flight = an_operation(Kind.REFUND, State.UNKNOWN)
        aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, given_up, in_flight)
        apply(aggregate, [observation(Kind.REFUND, State.SUCCESS, gateway_id="refund-1")], decision_context())
        assert (given_up.state, in_flight.state) == (State.FAILURE, State.SUCCESS)

    def test_never_one_of_another_amount_nor_one_that_was_not_sent(self) -> None:
        other = an_operation(Kind.REFUND, State.UNKNOWN, Decimal("99.00"))
        not_sent = an_operation(Kind.REFUND, State.WAITING)
        aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, other, not_sent)
        apply(aggregate, [observation(Kind.REFUND, State.SUCCESS, gateway_id="refund-1")], decision_context())
        assert (other.state, not_sent.state) == (State.UNKNOWN, State.WAITING)
        assert aggregate.operations[-1].asked_by_saleor is False

    def test_a_void_is_always_of_the_whole(self) -> None:
        ours = an_operation(Kind.VOID, State.UNKNOWN)
        aggregate = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS, ours)
        apply(aggregate, [observation(Kind.VOID, State.SUCCESS, gateway_id="void-1")], decision_context())
        assert ours.state is State.SUCCESS


@pytest.mark.law(10)
@pytest.mark.parametrize(("known_as", "is_compared"), [(None, True), ("refund-1", False)])
def test_whole_order_is_looked_up_after_a_record_that_only_its_amount_makes_ours(
    known_as: str | None, *, is_compared: bool
) -> None:
    """It may be of an identical operation that others have requested; a record with our operation's id is not."""
    refund = an_operation(Kind.REFUND, State.UNKNOWN, operation_id=known_as)
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refund)
    context = replace(decision_context(), is_single_record=True)
    apply(aggregate, [observation(Kind.REFUND, State.PENDING, gateway_id="refund-1")], context)
    assert refund.operation_id == "refund-1"
    assert (refund.next_poll_at == context.schedule.next_order_look_up(NOON)) is is_compared


@pytest.mark.law(9, 10)
@pytest.mark.parametrize(
    ("amount", "later", "is_first"), [("100.00", 0, True), ("50.00", 0, False), ("100.00", 1, False)]
)
def test_a_failure_under_the_id_of_a_success_is_anothers_by_its_amount_or_its_time(
    amount: str, later: int, *, is_first: bool
) -> None:
    """A gateway may give all refunds of a payment one id; a true reversal of the first goes to staff."""
    at = Details(created_at=NOON).to_row()
    first = an_operation(Kind.REFUND, State.SUCCESS, operation_id="refund-1", details=at)
    second = an_operation(Kind.REFUND, State.UNKNOWN, Decimal(amount))
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, first, second)
    details = Details(created_at=NOON + timedelta(seconds=later))
    seen = observation(Kind.REFUND, State.FAILURE, Decimal(amount), "refund-1", details=details)
    assert find_matching_operation(aggregate, seen, None) is (first if is_first else second)


class TestOurOwnConclusions:
    @pytest.mark.parametrize(("said", "reads"), [("Your card was declined.", "Your card was declined."), ("", "Wait.")])
    def test_shopper_reads_the_last_that_was_said_to_them(self, said: str, reads: str) -> None:
        aggregate = an_aggregate(Flow.CHARGE, State.INIT)
        aggregate.create.shopper_message = "Wait."
        conclude(
            aggregate, aggregate.create, State.FAILURE, decision_context(), message="refused", shopper_message=said
        )
        assert aggregate.create.shopper_message == reads

    @pytest.mark.law(7)
    def test_gives_way_to_what_the_gateway_has_said_meanwhile(self) -> None:
        refund = an_operation(Kind.REFUND, State.SUCCESS, operation_id="refund-1", psp_reference="refund-1")
        aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refund)
        for state in (State.UNKNOWN, State.FAILURE):
            conclude(aggregate, refund, state, decision_context(), message="we thought otherwise")
        assert (refund.state, aggregate.events) == (State.SUCCESS, [])

    def test_a_page_that_we_closed_is_our_own_affair(self) -> None:
        """Saleor never asked for that cancellation: it hears of the payment, not of the cancellation."""
        closing = an_operation(Kind.CANCEL, State.INTENT, Decimal(0), asked_by_saleor=False)
        aggregate = an_aggregate(Flow.CHARGE, State.INIT, closing)
        conclude(aggregate, closing, State.FAILURE, decision_context(), message="refused")
        assert aggregate.events == []
        again = an_operation(Kind.CANCEL, State.INTENT, Decimal(0), asked_by_saleor=False)
        aggregate.operations.append(again)
        apply(aggregate, [observation(Kind.CREATE, State.FAILURE)], decision_context())
        assert again.state is State.SUCCESS
        assert [event.type for event in aggregate.events] == ["CHARGE_FAILURE"]

    @pytest.mark.parametrize(
        ("said", "ends", "event"),
        [(State.FAILURE, State.SUCCESS, "CANCEL_SUCCESS"), (State.SUCCESS, State.FAILURE, "CANCEL_FAILURE")],
    )
    def test_what_became_of_the_payment_is_the_end_of_its_cancellation(
        self, said: State, ends: State, event: str
    ) -> None:
        cancel = an_operation(Kind.CANCEL, State.UNKNOWN, Decimal(0), psp_reference="cancel-1")
        aggregate = an_aggregate(Flow.CHARGE, State.INIT, cancel)
        later = NOON + timedelta(minutes=1)
        apply(aggregate, [observation(Kind.CREATE, said)], decision_context(now=later))
        assert (cancel.state, cancel.updated_at) == (ends, later)
        assert (aggregate.events[-1].type, aggregate.events[-1].psp_reference) == (event, "cancel-1")

    @pytest.mark.law(13)
    def test_cancellation_ends_with_a_payment_that_the_gateway_has_refused(self) -> None:
        """Whoever asked for it has nothing more to wait for: there is no payment."""
        cancel = an_operation(Kind.CANCEL, State.WAITING, Decimal(0), psp_reference="cancel-1", next_poll_at=NOON)
        aggregate = an_aggregate(Flow.CHARGE, State.UNKNOWN, cancel)
        conclude(aggregate, aggregate.create, State.FAILURE, decision_context(), message="refused")
        assert (cancel.state, cancel.next_poll_at) == (State.SUCCESS, None)
        assert [event.type for event in aggregate.events] == ["CHARGE_FAILURE", "CANCEL_SUCCESS"]

    def test_silence_about_the_payment_does_not_say_that_it_was_cancelled(self) -> None:
        cancel = an_operation(Kind.CANCEL, State.UNKNOWN, Decimal(0))
        aggregate = an_aggregate(Flow.CHARGE, State.INIT, cancel)
        conclude(aggregate, aggregate.create, State.FAILURE, decision_context(), message="no trace", inferred=True)
        assert cancel.state is State.UNKNOWN

    @pytest.mark.law(3)
    def test_the_next_one_that_waits_is_woken_when_the_first_has_ended(self) -> None:
        first, second, third = (an_operation(Kind.REFUND, state, Decimal(amount)) for state, amount in (
            (State.UNKNOWN, "10.00"), (State.WAITING, "20.00"), (State.WAITING, "30.00")
        ))  # fmt: skip
        aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, first, second, third)
        apply(aggregate, [], decision_context())
        assert [operation.next_poll_at for operation in (second, third)] == [None, None]
        conclude(aggregate, first, State.FAILURE, decision_context(), message="no trace")
        assert [operation.next_poll_at for operation in (second, third)] == [NOON, None]


class TestEvents:
    @pytest.mark.law(5)
    def test_what_the_answer_carries_waits_until_saleor_must_have_read_it(self) -> None:
        refund = an_operation(Kind.REFUND, State.INTENT)
        aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refund)
        apply(
            aggregate,
            [observation(Kind.REFUND, State.SUCCESS, gateway_id="refund-1")],
            decision_context(refund.id),
        )
        [event] = aggregate.events
        assert event.next_attempt_at == NOON + decision_context().schedule.answer_window
        assert event.created_at == NOON

    def test_the_same_problem_is_told_once_and_a_second_one_too(self) -> None:
        aggregate = an_aggregate(Flow.CHARGE, State.INIT)
        for words in ("first", "first", "second"):
            issue = issue_saying(words)
            raise_problem(aggregate, issue, NOON, cause=cause_of_mismatch(issue, None, "x"))
        first, second = issue_saying("first").message, issue_saying("second").message
        assert [event.message for event in aggregate.events] == [first, second]
        assert len({event.psp_reference for event in aggregate.events}) == 2
        assert problem_text(aggregate.payment) == f"{first}\n{second}"

    def test_a_note_says_what_is_possible_and_changes_nothing(self) -> None:
        aggregate = an_aggregate(Flow.CHARGE, State.INIT)
        enqueue_note(aggregate, "Waiting for the shopper", decision_context())
        [event] = aggregate.events
        assert (event.type, event.psp_reference, event.amount) == ("INFO", ORDER, Decimal(0))
        assert event.available_actions == ["CANCEL"]

    @pytest.mark.parametrize(("kind", "noted"), [(Kind.CREATE, [f"{ORDER}-pending"]), (Kind.REFUND, [])])
    def test_only_of_a_payment_that_left_its_page_is_it_noted(self, kind: Kind, noted: list[str]) -> None:
        """It can no longer be cancelled; a refund that goes from one open state to the next changes no action."""
        refund = an_operation(Kind.REFUND, State.INIT, operation_id="refund-1")
        others = [refund] if kind is Kind.REFUND else []
        aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS if others else State.INIT, *others)
        apply(aggregate, [observation(kind, State.PENDING, gateway_id="refund-1")], decision_context())
        assert [event.psp_reference for event in aggregate.events] == noted

    def test_a_message_is_cut_where_saleor_would_cut_it(self) -> None:
        aggregate = an_aggregate(Flow.CHARGE, State.INIT)
        apply(aggregate, [observation(Kind.CREATE, State.FAILURE, message="x" * 2000)], decision_context())
        assert len(aggregate.events[0].message) == 512


@pytest.mark.law(7)
@pytest.mark.parametrize("seen", [State.INIT, State.PENDING])
def test_a_late_record_of_an_earlier_state_only_fills_in_what_is_not_known(seen: State) -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    aggregate.create.details = Details(card_mask="411111******1111").to_row()
    late = Details(card_mask="555555******4444", bank="A Bank")
    apply(aggregate, [observation(Kind.CREATE, seen, details=late)], decision_context())
    assert Details.from_row(aggregate.create.details) == Details(card_mask="411111******1111", bank="A Bank")


@pytest.mark.law(8)
def test_a_record_that_does_not_match_only_fills_in_what_is_not_known() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.INIT)
    aggregate.create.details = Details(card_mask="411111******1111").to_row()
    other = Details(card_mask="555555******4444", bank="A Bank")
    apply(aggregate, [observation(Kind.CREATE, State.SUCCESS, Decimal("1.00"), details=other)], decision_context())
    assert Details.from_row(aggregate.create.details) == Details(card_mask="411111******1111", bank="A Bank")


def test_an_order_is_looked_up_when_an_operation_of_ours_ends_and_not_each_time_that_is_repeated() -> None:
    refund = an_operation(Kind.REFUND, State.PENDING, operation_id="refund-1")
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refund)
    context = replace(decision_context(), is_single_record=True)
    ended = observation(Kind.REFUND, State.SUCCESS, gateway_id="refund-1")
    apply(aggregate, [ended], context)
    assert refund.next_poll_at == context.schedule.next_order_look_up(NOON)
    refund.next_poll_at = None
    apply(aggregate, [ended], context)
    assert refund.next_poll_at is None


@pytest.mark.law(7, 10)
@pytest.mark.parametrize(
    ("kind", "before", "after", "is_compared"),
    [
        (Kind.DISPUTE, State.SUCCESS, State.FAILURE, True),  # its turns may arrive in another order
        (Kind.DISPUTE, State.FAILURE, State.FAILURE, False),
        (Kind.REFUND, State.PENDING, State.SUCCESS, False),  # it has never held up one of ours
    ],
)
def test_whole_order_is_looked_up_when_a_dispute_turns_and_not_when_an_operation_of_others_ends(
    kind: Kind, before: State, after: State, *, is_compared: bool
) -> None:
    theirs = an_operation(kind, before, operation_id="theirs", idempotency_key="gateway:theirs", psp_reference="theirs")
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, theirs)
    context = replace(decision_context(), is_single_record=True)
    apply(aggregate, [observation(kind, after, gateway_id="theirs")], context)
    assert theirs.state is after
    assert theirs.next_poll_at == (context.schedule.next_order_look_up(NOON) if is_compared else None)


@pytest.mark.law(10)
@pytest.mark.parametrize(("before", "is_beyond"), [("0.01", True), ("0.00", False)])
def test_staff_see_a_refund_of_ours_that_others_had_left_too_little_for(before: str, *, is_beyond: bool) -> None:
    """Theirs was reported while ours was at the gateway, which has carried out both."""
    theirs = an_operation(Kind.REFUND, State.SUCCESS, Decimal(before), idempotency_key="gateway:theirs")
    ours = an_operation(Kind.REFUND, State.UNKNOWN)
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, theirs, ours)
    conclude(aggregate, ours, State.SUCCESS, decision_context(), message="made")
    found = [issue_from_json(problem.message) for problem in aggregate.payment.problems]
    assert [issue and issue.code for issue in found] == ([IssueCode.OVERDRAWN] if is_beyond else [])


@pytest.mark.law(8)
@pytest.mark.parametrize(
    ("owner", "amount", "is_saved"), [("owner", "100.00", True), ("owner", "1.00", False), (None, "100.00", False)]
)
def test_a_card_is_saved_if_its_owner_agreed_and_the_record_matches(
    owner: str | None, amount: str, is_saved: bool
) -> None:
    """What does not match may be of somebody else's payment, and so is its card."""
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    aggregate.payment.card_owner = owner
    card = CardToken(SecretStr("token"), "424242******4242")
    context = replace(decision_context(), seal_token=lambda *sealed: " of ".join(sealed))
    apply(aggregate, [observation(Kind.CREATE, State.SUCCESS, Decimal(amount), card=card)], context)
    saved = [(card.token_sealed, card.mask, card.saved_at) for card in aggregate.cards_to_save]
    assert saved == ([("token of account of owner", "424242******4242", NOON)] if is_saved else [])


def test_of_two_payments_under_one_order_the_one_whose_time_is_known_goes_first() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.INIT)
    untimed = observation(Kind.CREATE, State.SUCCESS, gateway_id="untimed")
    timed = observation(Kind.CREATE, State.SUCCESS, gateway_id="timed", details=Details(created_at=NOON))
    apply(aggregate, [untimed, timed], decision_context())
    assert aggregate.create.operation_id == "timed"


@pytest.mark.law(8)
def test_what_others_moved_beyond_what_was_left_and_its_problem_belong_together() -> None:
    """Staff settle that operation from its problem, although it has no row yet."""
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    apply(aggregate, [observation(Kind.REFUND, State.SUCCESS, Decimal("100.01"), "theirs")], decision_context())
    [problem], refund = aggregate.payment.problems, aggregate.operations[-1]
    assert (refund.operation_id, refund.contradicted) == ("theirs", True)
    assert (problem, refund) in aggregate.links


@pytest.mark.law(8, 10)
@pytest.mark.parametrize("is_single", [True, False])
@pytest.mark.parametrize("kind", [Kind.REFUND, Kind.DISPUTE])
def test_whole_order_is_looked_up_after_a_notification_of_more_than_was_left(kind: Kind, *, is_single: bool) -> None:
    """What came before it may be late; where the whole order was shown, staff must find out."""
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    context = replace(decision_context(), is_single_record=is_single)
    apply(aggregate, [observation(kind, State.SUCCESS, Decimal("100.01"), "theirs")], context)
    expected = context.schedule.next_order_look_up(NOON) if is_single else None
    assert aggregate.operations[-1].next_poll_at == expected


@pytest.mark.law(12)
@pytest.mark.parametrize(
    ("waited", "has_rivals", "is_due"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_other_attempts_are_reviewed_when_a_pending_payment_is_no_longer_the_shoppers_turn(
    *, waited: bool, has_rivals: bool, is_due: bool
) -> None:
    """It is at the bank now, and covers what the others would pay."""
    aggregate = an_aggregate(Flow.CHARGE, State.PENDING)
    aggregate.payment.has_rivals, aggregate.create.waits_for_shopper = has_rivals, waited
    apply(aggregate, [observation(Kind.CREATE, State.PENDING)], decision_context())
    assert not aggregate.create.waits_for_shopper
    assert aggregate.payment.attempts_due_at == (NOON if is_due else None)


@pytest.mark.law(15)
def test_a_fee_that_a_repeat_states_is_booked() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.INIT)
    paid = observation(Kind.CREATE, State.SUCCESS)
    for word in (paid, replace(paid, details=Details(fee=StatedSum(amount=Decimal("1.50"), currency="UAH")))):
        apply(aggregate, [word], decision_context())
    assert aggregate.create.fee == Decimal("1.50")


@pytest.mark.law(10)
@pytest.mark.parametrize("state", [State.PENDING, State.SUCCESS])
def test_a_later_charge_has_the_order_looked_up_when_it_ends(state: State) -> None:
    """One that came before it may be unknown here; while it is open, it is looked up like anything that is."""
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    aggregate.payment.recurring_id = "subscription"
    aggregate.create.operation_id = GatewayOperationId("the-payment")
    single = replace(decision_context(), is_single_record=True)
    apply(aggregate, [observation(Kind.RECURRING, state, gateway_id="later")], single)
    [later] = aggregate.operations[1:]
    soon = single.schedule.next_order_look_up(NOON)
    assert later.next_poll_at == (soon if state.final else NOON + single.schedule.first_poll)
