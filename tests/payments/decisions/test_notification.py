"""What follows from a notification, read or not: on paper."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from app.core.alerts import AlertKind
from app.core.notification import Outcome, OutcomeCode, StoredNotification
from app.core.vocabulary import Flow, State
from app.rules.decisions.notification import NotificationReceived
from app.rules.issues import Issue, IssueCode
from app.rules.problems import ADDRESS, SEALED, add_problem, has_problem
from gateway_client import notification as notifications
from tests.payments.aggregates import NOON, ORDER, POS, an_aggregate, decision_context
from tests.payments.fake_gateway import payment


def a_notification(**more: Any) -> StoredNotification:
    """Return a notification that the payment of 100.00 has succeeded."""
    data = notifications.encode(payment(ORDER, amount="100.00", pos_id=POS))
    kept = StoredNotification(1, "account", ORDER, data, 1, 1, None, NOON, None, NOON)
    return replace(kept, **more)


@pytest.mark.law(6, 13)
def test_notification_that_is_opened_ends_the_problem_of_one_that_was_not() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.PENDING)
    sealed = NotificationReceived(decision_context()).decide(a_notification(data=None), aggregate)
    assert has_problem(aggregate.payment, SEALED)
    assert (sealed.outcome.code, sealed.trouble) == (OutcomeCode.NOT_DECRYPTED, AlertKind.SEALED)
    assert sealed.retry_at is not None
    assert sealed.retry_at > NOON
    opened = NotificationReceived(decision_context(now=NOON + timedelta(minutes=1))).decide(a_notification(), aggregate)
    assert not has_problem(aggregate.payment, SEALED)
    assert (opened.outcome, opened.trouble, opened.retry_at) == (
        Outcome(OutcomeCode.APPLIED, ("create", "success")),
        None,
        None,
    )
    assert aggregate.create.state is State.SUCCESS
    assert (opened.operation, opened.order_id) == (aggregate.create, ORDER)


@pytest.mark.law(6)
@pytest.mark.parametrize(
    ("changed", "outcome", "trouble"),
    [
        ({}, OutcomeCode.UNMATCHED, AlertKind.UNMATCHED),
        ({"is_of_others": True}, OutcomeCode.OF_ANOTHER_SHOP, None),
        ({"data": "e30="}, OutcomeCode.UNREADABLE, AlertKind.UNREADABLE),
        ({"data": None, "retained": False}, OutcomeCode.ERASED, None),
    ],
)
def test_notification_without_a_payment_says_whether_a_person_must_look(
    changed: dict[str, Any], outcome: OutcomeCode, trouble: AlertKind | None
) -> None:
    result = NotificationReceived(decision_context()).decide(a_notification(**changed), None)
    assert (result.outcome, result.trouble, result.retry_at) == (Outcome(outcome), trouble, None)


@pytest.mark.law(13)
@pytest.mark.parametrize("planned", [None, NOON + timedelta(hours=1)])
def test_payment_whose_call_something_else_has_answered_is_looked_up_once_when_the_gateway_notifies(
    planned: datetime | None,
) -> None:
    """A look-up that is due already does the same: another notification must not put it off."""
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    add_problem(aggregate.payment, ADDRESS, Issue(IssueCode.NOT_THE_GATEWAY), NOON)
    aggregate.create.next_poll_at = planned
    context = decision_context()
    NotificationReceived(context).decide(a_notification(), aggregate)
    assert aggregate.create.next_poll_at == (planned or context.schedule.next_order_look_up(NOON))
