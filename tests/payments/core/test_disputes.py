"""A payer may get the same money twice: by refunds that were made or are under way, and from the bank (law 10)."""

from dataclasses import replace
from decimal import Decimal

import pytest

from app.core.ids import GatewayOperationId
from app.core.payment import Payment
from app.core.vocabulary import Flow, Kind, State
from app.i18n.messages import Money
from app.rules.apply import apply
from app.rules.disputes import report_dispute
from app.rules.issues import IssueCode, issue_from_json
from app.rules.problems import open_problems
from tests.payments.aggregates import HUNDRED, an_aggregate, an_operation, decision_context, observation


@pytest.mark.law(10)
def test_refunds_under_way_count_as_paid_back_beside_a_lost_dispute() -> None:
    refunded = an_operation(Kind.REFUND, State.SUCCESS, Decimal("30.00"))
    refunding = an_operation(Kind.REFUND, State.PENDING, Decimal("20.00"))
    dispute = an_operation(
        Kind.DISPUTE, State.SUCCESS, Decimal("60.00"), operation_id="dispute", psp_reference="dispute"
    )
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refunded, refunding, dispute)
    report_dispute(aggregate, dispute, decision_context())
    issues = [issue_from_json(problem.message) for problem in aggregate.payment.problems]
    [twice] = [issue for issue in issues if issue is not None and issue.code is IssueCode.PAID_BACK_TWICE]
    assert twice.facts == {
        "refunded": Money(Decimal("50.00"), "UAH"),
        "disputed": Money(Decimal("60.00"), "UAH"),
    }


@pytest.mark.law(10)
@pytest.mark.parametrize("state", [State.SUCCESS, State.PENDING])
@pytest.mark.parametrize(("of_refund", "is_twice"), [("second", True), ("third", False), (None, False)])
def test_later_charge_refunded_and_taken_back_by_the_bank_is_paid_back_twice(
    of_refund: str | None, state: State, *, is_twice: bool
) -> None:
    """Refunded in the merchant portal, before or after the bank took it: each charge is money of its own."""
    charges = [
        an_operation(Kind.RECURRING, State.SUCCESS, operation_id=GatewayOperationId(name))
        for name in ("second", "third")
    ]
    dispute = observation(Kind.DISPUTE, State.SUCCESS, Decimal("60.00"), "dispute", payment_id="second")
    refund = observation(Kind.REFUND, state, Decimal("50.00"), "refund", payment_id=of_refund)
    for records in ([dispute, refund], [refund, dispute]):
        # The first payment was larger: what is paid back twice of a later charge may be less than that.
        again = (replace(charge) for charge in charges)
        aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, *again, amount=Decimal("300.00"))
        aggregate.payment.recurring_id = "subscription"
        aggregate.create.operation_id = GatewayOperationId("the-payment")
        for record in records:
            apply(aggregate, [record], decision_context())
        issues = [issue_from_json(problem.message) for problem in open_problems(aggregate.payment)]
        twice = [issue.facts for issue in issues if issue is not None and issue.code is IssueCode.PAID_BACK_TWICE]
        sums = {"refunded": Money(Decimal("50.00"), "UAH"), "disputed": Money(Decimal("60.00"), "UAH")}
        assert twice == ([sums] if is_twice else [])


def _open_issues(payment: Payment) -> list[IssueCode]:
    read = [issue_from_json(problem.message) for problem in open_problems(payment)]
    return [issue.code for issue in read if issue is not None]


@pytest.mark.law(10)
@pytest.mark.parametrize(("ends", "issues"), [(State.SUCCESS, [IssueCode.DISPUTE_LOST]), (State.FAILURE, [])])
def test_staff_see_an_open_dispute_until_it_ends(ends: State, issues: list[IssueCode]) -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    opened = observation(Kind.DISPUTE, State.PENDING, gateway_id="dispute")
    for records in ([opened], [observation(Kind.CREATE, State.SUCCESS)]):
        apply(aggregate, records, decision_context())
        assert _open_issues(aggregate.payment) == [IssueCode.DISPUTE_OPEN]
    apply(aggregate, [observation(Kind.DISPUTE, ends, gateway_id="dispute")], decision_context())
    assert _open_issues(aggregate.payment) == issues


@pytest.mark.law(7, 10)
def test_lost_dispute_that_turns_in_the_stores_favour_is_no_problem_any_more() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    seen = []
    for state in (State.SUCCESS, State.FAILURE, State.SUCCESS):
        apply(aggregate, [observation(Kind.DISPUTE, state, gateway_id="dispute")], decision_context())
        seen.append(_open_issues(aggregate.payment))
    assert seen == [[IssueCode.DISPUTE_LOST], [], [IssueCode.DISPUTE_LOST]]


@pytest.mark.law(10)
@pytest.mark.parametrize(("disputed", "told"), [("second", [HUNDRED]), ("first", [HUNDRED, HUNDRED])])
def test_dispute_of_a_later_charge_that_gets_an_id_of_its_own_is_one_dispute(
    disputed: str, told: list[Decimal]
) -> None:
    """The first record names the disputed charge only, and the next one also the dispute."""
    charge = an_operation(Kind.RECURRING, State.SUCCESS, operation_id="second", idempotency_key="gateway:second")
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, charge)
    aggregate.payment.recurring_id, aggregate.create.operation_id = "subscription", GatewayOperationId("first")
    for name, payment_id in (("second", "second"), ("dispute-1", disputed)):
        record = observation(Kind.DISPUTE, State.SUCCESS, gateway_id=name, payment_id=payment_id)
        apply(aggregate, [record], decision_context())
    assert [event.amount for event in aggregate.events if event.type == "CHARGE_BACK"] == told


@pytest.mark.law(10)
def test_chargeback_that_overtakes_its_charge_is_told_once_and_after_it() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.INIT)
    single = replace(decision_context(), is_single_record=True)
    lost = observation(Kind.DISPUTE, State.SUCCESS, gateway_id="dispute")
    for record in (lost, lost, observation(Kind.CREATE, State.SUCCESS), lost):
        apply(aggregate, [record], single)
    told = [event.type for event in aggregate.events if event.type != "INFO"]
    assert told == ["CHARGE_SUCCESS", "CHARGE_BACK"]


@pytest.mark.law(7, 10)
def test_each_turn_of_a_dispute_moves_the_money_once() -> None:
    """Saleor is told the difference to what it has been told, however often the bank repeats itself."""
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    told = []
    for state in (State.PENDING, State.SUCCESS, State.SUCCESS, State.FAILURE, State.FAILURE, State.SUCCESS):
        before = len(aggregate.events)
        apply(aggregate, [observation(Kind.DISPUTE, state, gateway_id="dispute")], decision_context())
        told.append([(event.type, event.amount) for event in aggregate.events[before:] if event.type != "INFO"])
    back, again = ("CHARGE_BACK", HUNDRED), ("CHARGE_SUCCESS", HUNDRED)
    assert told == [[], [back], [], [again], [], [back]]
