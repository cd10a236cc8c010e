"""What follows from a request of Saleor's: on paper."""

from decimal import Decimal

import pytest

from app.core.vocabulary import Flow, State
from app.rules.action_request import ActionRequest
from app.rules.decisions.action import ActionRequested
from app.rules.refusal import RefusalError
from saleor_app_sdk.responses import AvailableAction
from tests.payments.aggregates import an_aggregate, decision_context

REFUND = ActionRequest(AvailableAction.REFUND, Decimal("40.00"), "UAH", keys=("key",), digest="digest")


def requested(*, keys_open: bool = True) -> ActionRequested:
    """Return the request, of an account whose keys open or do not."""
    return ActionRequested(REFUND, decision_context(), opens_keys=lambda _payment: keys_open)


@pytest.mark.law(1)
def test_request_for_an_account_whose_keys_do_not_open_is_refused_and_leaves_nothing() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    with pytest.raises(RefusalError, match="keys"):
        requested(keys_open=False).decide(aggregate)
    assert [operation.kind for operation in aggregate.operations] == ["create"]
    assert aggregate.events == []


@pytest.mark.law(4)
def test_request_that_is_known_is_answered_although_the_keys_do_not_open() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    first = requested().decide(aggregate)
    assert (first.is_new, first.operation.state) == (True, State.INTENT)
    again = requested(keys_open=False).decide(aggregate)
    assert (again.is_new, again.operation) == (False, first.operation)
