"""A payer may get the same money twice: by refunds that were made or are under way, and from the bank (law 10)."""

from decimal import Decimal

import pytest

from app.core.vocabulary import Flow, Kind, State
from app.i18n.messages import Money
from app.rules.disputes import report_dispute
from app.rules.issues import IssueCode, issue_from_json
from tests.payments.aggregates import an_aggregate, an_operation, decision_context


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
