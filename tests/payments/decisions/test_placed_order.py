"""How often Saleor is asked for the order of a paid checkout: on paper."""

from datetime import datetime, timedelta

import pytest

from app.core.ids import PaymentRowId
from app.core.vocabulary import EventState, Flow, State
from app.i18n.messages import Money
from app.rules.decisions.placed_order import OrderAsked, OrderNotAsked, OrderNotStated, schedule_comparison
from app.rules.issues import Issue, IssueCode
from app.rules.problems import add_problem, cause_of_unpaid_order, open_problems
from saleor_app_sdk.responses import EventType
from saleor_app_sdk.transaction_source import PlacedOrder, TransactionSource
from tests.payments.aggregates import HUNDRED, NOON, an_aggregate
from tests.payments.reconciliation.books import event_of


@pytest.mark.parametrize(("polls", "left"), [(2, 1), (1, 0), (0, 0)])
def test_poll_that_saleor_did_not_let_the_app_make_is_made_an_hour_later_and_not_counted(polls: int, left: int) -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    aggregate.payment.order_polls = polls
    OrderNotAsked(NOON).decide(aggregate)
    assert aggregate.payment.order_polls == left
    assert aggregate.payment.next_order_poll_at == NOON + timedelta(hours=1)


@pytest.mark.parametrize(
    ("polls", "pause", "left", "minutes"),
    [
        (0, 0, 0, 1),
        (1, 0, 1, 1),
        (2, 0, 2, 10),
        (3, 0, 3, 60),
        (4, 0, 3, 60),
        (1, 20, 1, 20),
        (2, 5, 2, 10),
        (4, 60, 3, 60),
    ],
)
def test_poll_without_an_answer_is_repeated_within_the_hour_or_when_saleor_has_time(
    polls: int, pause: int, left: int, minutes: int
) -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    aggregate.payment.order_polls, aggregate.payment.next_order_poll_at = polls, NOON
    OrderNotStated(timedelta(minutes=pause), NOON).decide(aggregate)
    assert aggregate.payment.order_polls == left
    assert aggregate.payment.next_order_poll_at == NOON + timedelta(minutes=minutes)


def test_poll_without_an_answer_is_not_repeated_once_the_order_is_known() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    aggregate.payment.order_polls, aggregate.payment.next_order_poll_at = 4, None
    OrderNotStated(timedelta(), NOON).decide(aggregate)
    assert (aggregate.payment.order_polls, aggregate.payment.next_order_poll_at) == (4, None)


@pytest.mark.parametrize("planned", [None, NOON + timedelta(minutes=1), NOON + timedelta(days=1)])
def test_order_that_has_parted_from_its_money_is_asked_for_soon_and_never_later_than_planned(
    planned: datetime | None,
) -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    aggregate.payment.next_order_poll_at = planned
    schedule_comparison(aggregate.payment, NOON)
    assert aggregate.payment.next_order_poll_at == planned  # nobody is shown anything
    issue = Issue(IssueCode.ORDER_NOT_PAID, number="42", left=Money(HUNDRED, "UAH"))
    add_problem(aggregate.payment, cause_of_unpaid_order("failed"), issue, NOON)
    schedule_comparison(aggregate.payment, NOON)
    due = aggregate.payment.next_order_poll_at
    assert due is not None
    assert NOON < due < NOON + timedelta(days=1)
    assert due <= (planned or due)


@pytest.mark.law(10)
@pytest.mark.parametrize(
    ("source", "again"),
    [
        (TransactionSource(PlacedOrder(id="T3JkZXI6MQ==", number="42"), status="UNFULFILLED", excess=-HUNDRED), 60),
        (TransactionSource(checkout_id="Q2hlY2tvdXQ6MQ==", excess=-HUNDRED), 1),
    ],
    ids=["placed", "not placed yet"],
)
def test_while_saleor_has_not_heard_of_all_that_was_paid_it_is_asked_again(
    source: TransactionSource, again: int
) -> None:
    """What seems to be missing is the other payment. An order whose total rose would otherwise never be compared."""
    asked, other = (an_aggregate(Flow.CHARGE, State.SUCCESS) for _ in range(2))
    other.payment.id = PaymentRowId(2)
    other.events.append(event_of(other.create, EventType.CHARGE_SUCCESS, EventState.WAITING))
    asked.payment.next_order_poll_at, asked.payment.order_polls = NOON, 1
    OrderAsked(source, NOON).decide(asked, [asked, other])
    assert asked.payment.next_order_poll_at == NOON + timedelta(minutes=again)
    assert open_problems(asked.payment) == []
