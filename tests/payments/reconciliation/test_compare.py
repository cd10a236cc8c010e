"""Each difference between the gateway's books and ours is found and called by its name; else there is none."""

import random
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.ids import GatewayOperationId
from app.core.payment import Operation, PaymentAggregate
from app.core.vocabulary import EventState, Flow, Kind, State
from app.flows.reconciliation.compare import Difference, Period, differences_of_unknown_order, find_differences
from app.flows.reconciliation.entries import BookLine, Entry, book_line, entries_of
from app.rules.details import Details, StatedSum
from app.store.tables import DiscrepancyKind
from gateway_client.models.reports import RegisterLine
from tests.payments.aggregates import NOON, ORDER
from tests.payments.reconciliation.books import PAYMENT, ended_operation, event_of, line, lines_of, payment, split

pytestmark = pytest.mark.law(13)
DAY = Period(NOON - timedelta(hours=12), NOON + timedelta(hours=12))
CENTS = st.integers(min_value=1, max_value=10_000).map(lambda cents: Decimal(cents) / 100)


def kinds(aggregate: PaymentAggregate, *lines: BookLine, period: Period | None = DAY) -> list[str]:
    return sorted(difference.kind.value for difference in find_differences(aggregate, entries_of(lines), period))


def read_line(**members: str) -> BookLine:
    """Return a line about the payment on paper as it is read from a register, with its members changed."""
    usual = {"orderId": ORDER, "paymentId": PAYMENT, "method": "purchase", "status": "success", "currency": "UAH"}
    said = book_line(RegisterLine.model_validate(usual | {"amount": "100.00"} | members))
    assert said is not None
    return said


def test_a_line_of_a_register_that_names_no_receiver_is_of_none() -> None:
    said = book_line(RegisterLine.model_validate({"orderId": "an-order", "amount": "100.00", "currency": "uah "}))
    assert said is not None
    assert (said.order_id, said.receiver, said.currency) == ("an-order", "", "UAH")


class TestThereIsNone:
    def test_when_both_say_the_same(self) -> None:
        assert kinds(payment(), line()) == []
        assert kinds(payment(ended_operation(Kind.REFUND, "10.00")), line(), line("refund", amount="10.00")) == []
        assert kinds(payment(state=State.FAILURE), line(status="failure")) == []

    def test_when_the_books_write_what_goes_out_with_a_minus(self) -> None:
        """The interface does not show the sign of a refund in them, and in many providers' books it is a minus."""
        refund = {"method": "refund", "amount": "-41.00", "originalAmount": "-40.00", "customerFee": "-1.00"}
        lines = [read_line(), read_line(**refund), read_line(method="dispute", amount="-60.00")]
        ours = ended_operation(Kind.REFUND, "40.00"), ended_operation(Kind.DISPUTE, "60.00")
        assert kinds(payment(*ours), *lines) == []
        assert kinds(payment(ours[0]), read_line(), read_line(method="refund", amount="-41.00")) == ["amount"]
        shared = payment(ours[0])
        split(shared, ours[0], Potter="40.00")
        assert kinds(shared, read_line(), read_line(receiverName="Potter", receiverAmount="-40.00", **refund)) == []
        assert kinds(payment(), read_line(amount="-100.00")) == ["amount"]  # nobody pays less than nothing

    def test_when_the_books_write_the_id_of_the_payment_in_capitals(self) -> None:
        lines = [line(payment_id=PAYMENT.upper()), line("refund", amount="10.00", payment_id=PAYMENT.upper())]
        assert kinds(payment(ended_operation(Kind.REFUND, "10.00")), *lines) == []

    def test_when_the_books_write_methods_in_capitals(self) -> None:
        """As records of the same gateway may; what is none of its methods is money that nobody can name."""
        refund = {"method": " Refund ", "amount": "-40.00"}
        ours = ended_operation(Kind.REFUND, "40.00")
        assert kinds(payment(ours), read_line(method="PURCHASE"), read_line(**refund)) == []
        assert kinds(payment(), read_line(), read_line(method="SALE")) == ["missed"]

    def test_when_staff_have_settled_a_charge_as_failed(self) -> None:
        chargeback = ended_operation(Kind.DISPUTE)
        chargeback.operation_id = GatewayOperationId(PAYMENT)
        assert kinds(payment(chargeback), line(status="failure")) == ["not shown", "state"]
        chargeback.decision = {"state": "success"}
        assert kinds(payment(chargeback), line(status="failure")) == []
        assert kinds(payment(chargeback)) == []
        by_the_bank = ended_operation(Kind.DISPUTE)
        by_the_bank.decision = {"state": "success"}
        assert kinds(payment(by_the_bank), line(status="failure")) == ["not shown", "state"]
        later = ended_operation(Kind.RECURRING, "50.00")
        gone = ended_operation(Kind.DISPUTE, "50.00", charge_id=later.operation_id)
        gone.operation_id = later.operation_id
        assert kinds(payment(later, gone), line()) == ["not shown", "not shown"]
        gone.decision = {"state": "success"}
        assert kinds(payment(later, gone), line()) == []

    def test_when_the_payer_pays_a_fee_on_top(self) -> None:
        assert kinds(payment(), line(amount=Decimal("102.50"), customer_fee=Decimal("2.50"))) == ["amount"]
        with_fee: dict[str, Any] = {"amount": Decimal("102.50"), "customer_fee": Decimal("2.50")}
        assert kinds(payment(), line(original_amount=Decimal("100.00"), **with_fee)) == []
        # A by-period list does not say whether the fee is in it.
        assert kinds(payment(), line(original_amount=None, **with_fee)) == []
        assert kinds(payment(), line(original_amount=None, **with_fee | {"amount": Decimal("100.00")})) == []

    def test_when_the_payer_has_changed_the_amount_and_the_books_show_what_was_asked(self) -> None:
        aggregate = payment()
        aggregate.create.amount = Decimal("90.00")
        assert kinds(aggregate, line()) == ["amount"]
        aggregate.create.details = Details(processed=StatedSum(amount=Decimal("90.00"))).to_row()
        assert kinds(aggregate, line()) == kinds(aggregate, line(amount="90.00")) == []
        split(aggregate, aggregate.create, maker="70.00", seller="30.00")  # of what was asked
        assert kinds(aggregate, line(receiver="maker", receiver_amount=Decimal("60.00"))) == []

    def test_when_the_books_lag_behind(self) -> None:
        assert kinds(payment(), line(status="pending")) == []
        assert kinds(payment(), line(status="init")) == []
        assert kinds(payment(ended_operation(Kind.REFUND)), line(), line("refund", "pending")) == []

    @pytest.mark.parametrize("more", [{"payment_id": "another"}, {"payment_id": "another", "currency": "EUR"}])
    def test_when_a_payment_that_is_none_of_ours_has_moved_nothing(self, more: dict[str, Any]) -> None:
        """The shopper's first card was declined on the page, and the second has paid."""
        assert kinds(payment(), line(), line(status="failure", **more)) == []
        assert kinds(payment(), line(), line(status="init", **more)) == []
        assert kinds(payment(), line(), line(status="pending", **more)) == ["unknown"]

    def test_when_what_was_attempted_in_another_currency_has_failed(self) -> None:
        assert kinds(payment(), line(), line("refund", "failure", currency="EUR")) == []
        assert kinds(payment(), line(), line("refund", "pending", currency="EUR")) == ["currency"]

    def test_when_an_operation_that_is_on_its_way_is_on_its_way(self) -> None:
        refunding = ended_operation(Kind.REFUND, state=State.PENDING)
        assert kinds(payment(refunding), line(), line("refund", "pending")) == []
        assert kinds(payment(state=State.PENDING), line(status="pending")) == []

    def test_when_what_is_not_of_the_period_is_not_in_its_books(self) -> None:
        night = Period(NOON + timedelta(days=1), NOON + timedelta(days=2))
        refund = ended_operation(Kind.REFUND, created_at=NOON + timedelta(days=1, hours=5))
        assert kinds(payment(refund), line("refund"), period=night) == []
        ended_later = ended_operation(Kind.REFUND, created_at=NOON, updated_at=NOON + timedelta(days=1))
        assert kinds(payment(ended_later), line()) == []

    def test_at_the_ends_of_a_period_where_clocks_may_differ(self) -> None:
        assert kinds(payment(), period=Period(NOON - timedelta(minutes=30), NOON + timedelta(days=1))) == []

    def test_when_others_have_tried_in_vain(self) -> None:
        assert kinds(payment(), line(), line("refund", "failure")) == []

    def test_in_what_is_no_payment(self) -> None:
        assert kinds(payment(), line(), line("p2p", payment_id="another"), line("lookup")) == []


class TestMissed:
    @pytest.mark.parametrize("state", [State.INIT, State.PENDING, State.UNKNOWN, State.INTENT])
    @pytest.mark.parametrize("status", ["success", "failure"])
    def test_how_a_payment_has_ended(self, state: State, status: str) -> None:
        assert kinds(payment(state=state), line(status=status)) == ["missed"]

    def test_a_success_after_we_had_given_it_up_for_silence(self) -> None:
        aggregate = payment(state=State.FAILURE)
        aggregate.create.inferred = True
        assert kinds(aggregate, line()) == ["missed"]
        assert kinds(aggregate, line(status="failure")) == []

    def test_a_success_after_the_gateway_had_reported_a_failure(self) -> None:
        """Another card was accepted on the same page; the gateway may count it as another payment."""
        for payment_id in ("the-payment", "another"):
            declined = payment(state=State.FAILURE)
            declined.create.operation_id = GatewayOperationId("the-payment")
            assert kinds(declined, line(payment_id=payment_id)) == ["missed"]

    def test_a_success_that_the_books_have_twice_is_missed_once(self) -> None:
        """Pages of a register may overlap; a payment, unlike a refund, is named by its row."""
        for state in (State.FAILURE, State.PENDING):
            known = payment(state=state)
            assert kinds(known, line(), line()) == ["missed"]
            [found] = find_differences(known, entries_of([line(), line()]), DAY)
            [on_another_night] = find_differences(known, entries_of([line()]), DAY)
            assert found.key("order") == on_another_night.key("order")
        assert kinds(payment(), line(amount="90.00"), line(amount="90.00")) == ["amount"]

    def test_a_success_of_a_refund_that_had_failed(self) -> None:
        refund = ended_operation(Kind.REFUND, "10.00", State.FAILURE)
        assert kinds(payment(refund), line(), line("refund", "success", "10.00")) == ["missed"]

    @pytest.mark.parametrize("method", ["refund", "dispute"])
    @pytest.mark.parametrize("status", ["success", "pending"])
    def test_what_others_have_done(self, method: str, status: str) -> None:
        assert kinds(payment(), line(), line(method, status, "10.00")) == ["missed"]

    def test_a_hold_that_has_lapsed_and_one_that_was_captured_by_itself(self) -> None:
        held = payment(flow=Flow.AUTHORIZATION)
        assert kinds(held, line("auth"), line("void")) == ["missed"]
        assert kinds(held, line("auth"), line("capture")) == ["missed"]

    def test_how_our_own_operation_has_ended(self) -> None:
        for status in ("success", "failure"):
            refund = ended_operation(Kind.REFUND, "10.00", State.UNKNOWN)
            assert kinds(payment(refund), line(), line("refund", status, "10.00")) == ["missed"]

    def test_the_second_of_two_equal_refunds_and_both(self) -> None:
        first = line("refund", amount="10.00")
        second = line("refund", amount="10.00", at=NOON + timedelta(hours=1))
        known = payment(ended_operation(Kind.REFUND, "10.00"))
        [missing] = find_differences(known, entries_of([line(), first, second]), DAY)
        assert (missing.kind, missing.copies) == (DiscrepancyKind.MISSED, 2)
        both = find_differences(payment(), entries_of([line(), first, second]), DAY)
        assert [difference.copies for difference in both] == [1, 2]
        assert len({difference.key("order") for difference in both}) == 2


def subscribed(*operations: Operation) -> PaymentAggregate:
    """A payment that has begun a subscription."""
    aggregate = payment(*operations)
    aggregate.payment.recurring_id = "rec-1"
    return aggregate


class TestSubscriptions:
    def test_a_later_charge_that_we_know(self) -> None:
        second = ended_operation(Kind.RECURRING)
        later = line(payment_id=second.operation_id, at=NOON + timedelta(hours=1))
        assert kinds(subscribed(second), line(), later) == []
        assert kinds(subscribed(second), line()) == ["not shown"]

    def test_a_later_charge_whose_notification_was_lost(self) -> None:
        assert kinds(subscribed(), line(), line(payment_id="second")) == ["missed"]
        assert kinds(subscribed(), line(), line(status="failure", payment_id="second")) == []

    def test_a_second_payment_of_an_order_that_has_begun_none_is_unknown(self) -> None:
        assert kinds(payment(), line(), line(payment_id="second")) == ["unknown"]

    def test_equal_refunds_of_two_charges_are_told_apart(self) -> None:
        second = ended_operation(Kind.RECURRING)
        of_second = ended_operation(Kind.REFUND, charge_id=second.operation_id)
        books = [line(), line(payment_id=second.operation_id), line("refund", payment_id=second.operation_id)]
        assert kinds(subscribed(second, of_second), *books) == []
        assert kinds(subscribed(second, ended_operation(Kind.REFUND)), *books) == ["missed", "not shown"]

    def test_refund_of_another_charge_is_not_the_one_in_another_currency(self) -> None:
        second = ended_operation(Kind.RECURRING)
        of_second = ended_operation(Kind.REFUND, charge_id=second.operation_id)
        books = [line(), line(payment_id=second.operation_id), line("refund", currency="USD")]
        assert kinds(subscribed(second, of_second), *books) == ["currency", "not shown"]


class TestOtherDifferences:
    def test_another_amount(self) -> None:
        assert kinds(payment(), line(amount="90.00")) == ["amount"]
        assert kinds(payment(ended_operation(Kind.REFUND, "10.00")), line(), line("refund", amount="1.00")) == [
            "amount"
        ]

    def test_another_currency(self) -> None:
        """It is one difference: what the books have in another currency is not missing from them."""
        assert kinds(payment(), line(currency="USD"), period=None) == ["currency"]
        assert kinds(payment(), line(currency="USD")) == ["currency"]
        refund, other = ended_operation(Kind.REFUND, "10.00"), ended_operation(Kind.REFUND, "25.00")
        in_dollars = line("refund", amount="25.00", currency="USD")
        assert kinds(payment(refund, other), line(), line("refund", amount="10.00"), in_dollars) == ["currency"]
        assert kinds(payment(refund, other), line(), in_dollars) == ["currency", "not shown"]

    def test_another_end(self) -> None:
        assert kinds(payment(), line(status="failure")) == ["state"]
        assert kinds(payment(ended_operation(Kind.REFUND)), line(), line("refund", "failure")) == ["not shown"]

    def test_a_reservation_in_place_of_a_charge(self) -> None:
        assert kinds(payment(), line("auth")) == ["state"]

    def test_another_payment_of_the_same_order(self) -> None:
        assert kinds(payment(), line(), line(payment_id="another")) == ["unknown"]

    def test_what_only_we_know(self) -> None:
        assert kinds(payment(ended_operation(Kind.REFUND)), line()) == ["not shown"]
        assert kinds(payment()) == ["not shown"]
        assert kinds(payment(state=State.FAILURE)) == kinds(payment(state=State.PENDING)) == []

    def test_what_saleor_was_never_told_or_has_refused(self) -> None:
        aggregate = payment()
        aggregate.events.clear()
        assert kinds(aggregate, line()) == ["untold"]
        aggregate.events.append(event_of(aggregate.create, "CHARGE_SUCCESS", EventState.REFUSED))
        assert kinds(aggregate, line()) == ["untold"]
        aggregate.events.append(event_of(aggregate.create, "CHARGE_SUCCESS", EventState.WAITING))
        assert kinds(aggregate, line()) == []

    def test_a_trial_is_told_to_nobody(self) -> None:
        aggregate = payment()
        aggregate.events.clear()
        aggregate.payment.trial = True
        assert kinds(aggregate, line()) == []

    def test_another_receiver_or_another_share(self) -> None:
        aggregate = payment()
        split(aggregate, aggregate.create, maker="70.00", seller="30.00")
        assert kinds(aggregate, *lines_of(aggregate)) == []
        others = [line(receiver=name, receiver_amount=Decimal(amount)) for name, amount in
                  (("maker", "60.00"), ("seller", "40.00"))]  # fmt: skip
        assert kinds(aggregate, *others) == ["receiver"]
        # The interface calls it a name: it need not be the id by which we know it.
        named = [line(receiver=name, receiver_amount=Decimal(amount)) for name, amount in
                 (("Maker Ltd", "70.00"), ("Seller Ltd", "30.00"))]  # fmt: skip
        assert kinds(aggregate, *named) == []
        assert kinds(aggregate, *named[:1]) == ["receiver"]

    def test_equal_refunds_of_different_receivers_are_none(self) -> None:
        """Made-up stories of a marketplace have shown it: no line names its operation."""
        refunds = [ended_operation(Kind.REFUND, "10.00"), ended_operation(Kind.REFUND, "10.00")]
        aggregate = payment(*refunds)
        split(aggregate, aggregate.create, maker="70.00", seller="30.00")
        split(aggregate, refunds[0], maker="10.00")
        split(aggregate, refunds[1], seller="10.00")
        lines = lines_of(aggregate)
        assert kinds(aggregate, *lines) == kinds(aggregate, *reversed(lines)) == []


class TestOrdersOfNobody:
    def test_money_that_has_moved_is_a_difference_once(self) -> None:
        [found] = differences_of_unknown_order(entries_of([line(), line("refund")]))
        assert found.kind is DiscrepancyKind.UNKNOWN

    def test_what_has_moved_nothing_is_none(self) -> None:
        assert differences_of_unknown_order(entries_of([line(status="failure"), line(status="init")])) == []


class TestEntries:
    def test_the_lines_of_several_receivers_are_one_entry(self) -> None:
        lines = [line(receiver=name, receiver_amount=Decimal(50)) for name in ("a", "b")]
        [entry] = entries_of(lines)
        assert entry.receivers == (("a", Decimal(50)), ("b", Decimal(50)))
        assert len(entries_of(lines * 2)) == 2  # a receiver twice: there are two such transactions

    def test_what_cannot_be_read_says_nothing(self) -> None:
        assert entries_of([BookLine("order"), line(currency=None), line(status=None)]) == []

    def test_what_is_kept_of_one_is_the_same(self) -> None:
        [entry] = entries_of([line(receiver="a", receiver_amount=Decimal(50))])
        assert Entry.from_facts(entry.facts()) == entry


@st.composite
def _payments(draw: st.DrawFn) -> PaymentAggregate:
    """Payments of any history, of which Saleor was told."""
    if draw(st.booleans()):
        refunds = [ended_operation(Kind.REFUND, amount) for amount in draw(st.lists(CENTS, max_size=4))]
        failed = [ended_operation(Kind.REFUND, amount, State.FAILURE) for amount in draw(st.lists(CENTS, max_size=2))]
        aggregate = payment(*refunds, *failed, amount=Decimal(1000))
    else:
        second = draw(st.sampled_from([Kind.CAPTURE, Kind.VOID, None]))
        steps = [] if second is None else [ended_operation(second, draw(CENTS))]
        aggregate = payment(*steps, flow=Flow.AUTHORIZATION, amount=Decimal(1000))
    if draw(st.booleans()):
        split(aggregate, aggregate.create, maker="400.00", seller="600.00")
    return aggregate


@given(_payments(), st.randoms(use_true_random=False))
def test_books_that_say_the_same_do_not_differ_in_whatever_order(
    aggregate: PaymentAggregate, shuffled: random.Random
) -> None:
    lines = lines_of(aggregate)
    shuffled.shuffle(lines)
    assert kinds(aggregate, *lines) == []


@given(_payments(), st.data())
def test_each_line_that_we_do_not_know_is_found_and_so_is_each_that_is_missing(
    aggregate: PaymentAggregate, data: st.DataObject
) -> None:
    lines = lines_of(aggregate)
    amount = data.draw(CENTS)
    more = [*lines, line("dispute", amount=amount)]
    assert kinds(aggregate, *more) == ["missed"]
    secondary = [
        operation
        for operation in aggregate.operations
        if operation.kind is not Kind.CREATE and operation.state is State.SUCCESS
    ]
    for forgotten in secondary:
        known = [operation for operation in aggregate.operations if operation is not forgotten]
        found = kinds(PaymentAggregate(aggregate.payment, known, aggregate.events), *lines)
        assert found == ["missed"]
        said = entries_of(lines)
        gone = next(n for n, entry in enumerate(said) if entry.kind is forgotten.kind and entry.state is State.SUCCESS
                    and entry.amount == forgotten.amount)  # fmt: skip
        left: list[Difference] = find_differences(aggregate, said[:gone] + said[gone + 1 :], DAY)
        assert [difference.kind for difference in left] == [DiscrepancyKind.NOT_SHOWN]


@given(_payments(), _payments(), st.data())
def test_a_difference_is_known_by_what_it_is_about_and_by_nothing_else(
    aggregate: PaymentAggregate, other: PaymentAggregate, data: st.DataObject
) -> None:
    lines = lines_of(other)
    found = find_differences(aggregate, entries_of(lines), DAY)
    keys = [difference.key("order") for difference in found]
    assert len(set(keys)) == len(keys)
    shuffled = data.draw(st.permutations(lines))
    assert {difference.key("order") for difference in find_differences(aggregate, entries_of(shuffled), DAY)} == set(
        keys
    )
