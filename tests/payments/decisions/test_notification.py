"""What follows from a notification, read or not: on paper."""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import permutations
from typing import Any

import pytest

from app.core.alerts import AlertKind
from app.core.notification import Outcome, OutcomeCode, StoredNotification
from app.core.payment import PaymentAggregate
from app.core.vocabulary import Flow, Kind, State
from app.rules.balance import balance
from app.rules.decisions.notification import NotificationReceived
from app.rules.issues import Issue, IssueCode
from app.rules.problems import ADDRESS, SEALED, add_problem, has_problem, problem_text
from gateway_client import notification as notifications
from saleor_app_sdk.responses import AvailableAction
from tests.payments.aggregates import HUNDRED, NOON, ORDER, POS, an_aggregate, an_operation, decision_context
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


@pytest.mark.law(13)
@pytest.mark.parametrize("due", [None, NOON], ids=["nothing is due", "its refund is"])
def test_one_look_up_of_the_order_shows_whether_the_gateway_answers_again(due: datetime | None) -> None:
    """That of any operation does. Where none is due it is the payment's, which the gateway has in any case."""
    refund = an_operation(Kind.REFUND, State.FAILURE if due is None else State.PENDING, next_poll_at=due)
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refund)
    add_problem(aggregate.payment, ADDRESS, Issue(IssueCode.NOT_THE_GATEWAY), NOON)
    context = decision_context()
    NotificationReceived(context).decide(a_notification(), aggregate)
    later = context.schedule.next_order_look_up(NOON)
    assert (aggregate.create.next_poll_at, refund.next_poll_at) == ((later, None) if due is None else (None, due))


def notify(aggregate: PaymentAggregate, status: str = "success", **wrong: Any) -> None:
    """Record what the gateway notifies of: the payment of 100.00 UAH, unless it is told otherwise."""
    record = payment(ORDER, status, "100.00", pos_id=POS) | wrong
    NotificationReceived(decision_context()).decide(a_notification(data=notifications.encode(record)), aggregate)


@pytest.mark.law(7)
@pytest.mark.fault("notification-out-of-order")
@pytest.mark.threat("replayed-notification")
@pytest.mark.parametrize("order", list(permutations(["init", "pending", "success"])))
def test_whatever_the_order_in_which_notifications_come_the_payment_is_paid_once(order: tuple[str, ...]) -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.INIT)
    aggregate.payment.checkout_url = "https://gateway.example/form"
    for status in order:
        notify(aggregate, status)
    told = [(event.type, event.amount) for event in aggregate.events if event.type != "INFO"]
    assert told == [("CHARGE_SUCCESS", HUNDRED)]
    current = balance(Flow.CHARGE, aggregate.operations)
    assert (current.charged, list(current.actions)) == (HUNDRED, [AvailableAction.REFUND])


@pytest.mark.law(8)
@pytest.mark.threat("tampered-amount")
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"amount": Decimal("99.99")}, "99.99 UAH, but 100.00 UAH was requested"),
        ({"currency": "USD"}, "100.00 USD, but an amount in UAH was requested"),
        ({"pos_id": "9d6f1a2e-0000-4f6f-9c2c-1f6f0f1d3a11"}, "a different point of sale"),
        ({"method": "auth"}, "the type AUTHORIZATION, but it was created as CHARGE"),
        ({"processed_amount": Decimal("100.005")}, "not a valid amount"),
        ({"processed_amount": Decimal("100.00"), "processed_currency": "USD"}, "paid 100.00 USD"),
    ],
)
def test_what_does_not_agree_is_never_a_success(wrong: dict[str, Any], words: str) -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.INIT)
    aggregate.payment.checkout_url = "https://gateway.example/form"
    for payload in ("once", "again"):  # the same problem is told once
        notify(aggregate, **wrong, payload=payload)
        [told] = aggregate.events
        assert told.type == "INFO"
        assert words in told.message
        assert problem_text(aggregate.payment) == told.message
        assert aggregate.create.state is State.INIT
        assert balance(Flow.CHARGE, aggregate.operations).charged == 0
