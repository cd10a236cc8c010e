"""What the whole order shows that none of its records says alone, on paper."""

from decimal import Decimal

import pytest

from app.core.vocabulary import Flow, Kind, State
from app.rules.issues import IssueCode, issue_from_json
from app.rules.observation import Observations
from app.rules.whole_order import apply_whole_order
from tests.payments.aggregates import HUNDRED, an_aggregate, an_operation, decision_context, observation

HALF = HUNDRED / 2


@pytest.mark.law(10)
@pytest.mark.parametrize(
    ("captured", "keeps_rest", "told"),
    [(HALF, True, [IssueCode.REST_NOT_KEPT]), (HALF, False, []), (HUNDRED, True, [])],
    ids=["a rest that was kept", "a rest that was released", "no rest"],
)
def test_a_refused_release_tells_of_a_rest_only_where_there_is_one(
    captured: Decimal, keeps_rest: bool, told: list[IssueCode]
) -> None:
    capture = an_operation(Kind.CAPTURE, State.SUCCESS, captured, operation_id="capture", keeps_rest=keeps_rest)
    release = an_operation(Kind.VOID, State.FAILURE, HALF, status_code="4150")
    aggregate = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS, capture, release)
    shown = Observations(
        [
            observation(Kind.CREATE, State.SUCCESS, flow=Flow.AUTHORIZATION),
            observation(Kind.CAPTURE, State.SUCCESS, captured, "capture"),
        ]
    )
    shown.unreadable, shown.unexplained = (), ()
    apply_whole_order(aggregate, shown, decision_context())
    issues = [issue_from_json(problem.message) for problem in aggregate.payment.problems]
    assert [issue.code for issue in issues if issue is not None] == told
