"""What follows from a notification, read or not: on paper."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from app.core.alerts import AlertKind
from app.core.notification import Outcome, OutcomeCode, StoredNotification
from app.core.vocabulary import Flow, State
from app.rules.decisions.notification import NotificationReceived
from app.rules.problems import SEALED, has_problem
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
