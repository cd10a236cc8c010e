"""When a difference between the gateway's records and ours becomes a problem of its payment: on paper."""

import pytest

from app.core.alerts import AlertKind
from app.core.vocabulary import EventState, Flow, State
from app.rules.decisions.difference import DifferenceFound
from app.rules.issues import Issue, IssueCode
from app.rules.problems import Cause, has_problem
from saleor_app_sdk.responses import EventType
from tests.payments.aggregates import NOON, an_aggregate
from tests.payments.reconciliation.books import event_of

CAUSE = Cause(AlertKind.DIFFERENCE, "a difference")


@pytest.mark.law(5, 13)
@pytest.mark.parametrize(
    ("is_untold", "state", "raised"),
    [
        (True, EventState.REFUSED, False),  # the refusal is a problem of its own already
        (True, EventState.DELIVERED, True),
        (False, EventState.REFUSED, True),
    ],
)
def test_a_difference_is_a_problem_unless_it_is_that_saleor_has_refused_it(
    state: EventState, *, is_untold: bool, raised: bool
) -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    aggregate.events.append(event_of(aggregate.create, EventType.CHARGE_SUCCESS, state))
    DifferenceFound(CAUSE, Issue(IssueCode.UNREADABLE_RECORDS), is_untold, NOON).decide(aggregate)
    assert has_problem(aggregate.payment, CAUSE) is raised
