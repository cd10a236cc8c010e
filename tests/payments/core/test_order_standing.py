"""Whether a payment and its order have parted, by what Saleor says of the order: on paper."""

from dataclasses import replace
from decimal import Decimal

import pytest

from app.core.vocabulary import EventState, Flow, Kind, Mode, State
from app.rules.order_standing import are_sums_behind, close_page_not_owed, compare_with_source
from app.rules.problems import open_problems, problem_text
from app.rules.references import reference_of_note
from saleor_app_sdk.responses import EventType
from saleor_app_sdk.transaction_source import PlacedOrder, TransactionSource
from tests.payments.aggregates import HUNDRED, NOON, an_aggregate, an_operation
from tests.payments.reconciliation.books import event_of

UNPAID = TransactionSource(PlacedOrder(id="T3JkZXI6MQ==", number="42"), status="UNPAID", excess=Decimal("-100.00"))


@pytest.mark.law(12)
@pytest.mark.parametrize(("state", "problems"), [(EventState.WAITING, 0), (EventState.DELIVERED, 1)])
def test_an_order_is_short_of_money_only_by_sums_that_hold_what_was_paid(state: EventState, problems: int) -> None:
    """Until Saleor has heard of the payment, all of it seems to be missing."""
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    aggregate.payment.to_pay = HUNDRED
    aggregate.events.append(event_of(aggregate.create, EventType.CHARGE_SUCCESS, state))
    compare_with_source(aggregate, UNPAID, NOON, money_arrives=True)
    assert len(open_problems(aggregate.payment)) == problems


@pytest.mark.law(12)
@pytest.mark.parametrize(("type_", "behind"), [(EventType.INFO, False), (EventType.CHARGE_SUCCESS, True)])
def test_a_note_that_saleor_has_not_heard_of_changes_no_sum(type_: EventType, *, behind: bool) -> None:
    """While it waits, what is owed and what is too much are told all the same."""
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    aggregate.events.append(event_of(aggregate.create, type_, EventState.WAITING))
    assert are_sums_behind(aggregate) is behind


@pytest.mark.law(12)
@pytest.mark.parametrize(
    ("owed", "state", "link", "in_doubt", "closes"),
    [
        ("99.99", State.INIT, "https://gateway.example/pay", False, True),
        ("100.00", State.INIT, "https://gateway.example/pay", False, False),
        ("99.99", State.PENDING, "https://gateway.example/pay", False, False),
        ("99.99", State.INIT, None, False, False),  # no shopper has it, and it is closed for that
        ("99.99", State.INIT, "https://gateway.example/pay", True, False),
    ],
)
def test_open_page_of_a_shopper_is_closed_once_when_less_than_its_amount_is_owed(
    owed: str, state: State, link: str | None, *, in_doubt: bool, closes: bool
) -> None:
    aggregate = an_aggregate(Flow.CHARGE, state)
    aggregate.payment.checkout_url, aggregate.create.contradicted = link, in_doubt
    source = TransactionSource(checkout_id="Q2hlY2tvdXQ6MQ==", excess=-Decimal(owed))
    assert close_page_not_owed(aggregate, source, NOON) is closes
    assert not close_page_not_owed(aggregate, source, NOON)
    assert [operation.kind for operation in aggregate.operations[1:]] == [Kind.CANCEL] * closes


@pytest.mark.law(12)
@pytest.mark.parametrize(
    ("mode", "note", "problems"), [(Mode.HOSTED, None, 0), (Mode.HOSTED, State.PENDING, 1), (Mode.DIRECT, None, 1)]
)
def test_order_placed_for_a_pending_payment_that_failed_is_for_staff(
    mode: Mode, note: State | None, problems: int
) -> None:
    """A card payment is pending from its answer on; one on a page only once the shopper has left the page."""
    aggregate = an_aggregate(Flow.CHARGE, State.FAILURE)
    aggregate.payment.mode = mode
    aggregate.create.request = {"payload": '{"checkout": "Q2hlY2tvdXQ6MQ=="}'}
    aggregate.events.append(event_of(aggregate.create, EventType.CHARGE_FAILURE))
    if note is not None:
        aggregate.events.append(event_of(aggregate.create, EventType.INFO))
        aggregate.events[-1].psp_reference = reference_of_note(aggregate.payment.order_id, note)
    compare_with_source(aggregate, UNPAID, NOON, money_arrives=False)
    assert len(open_problems(aggregate.payment)) == problems


@pytest.mark.law(7, 12)
@pytest.mark.parametrize(("newer_try", "problems"), [(None, 1), ("another-card", 0)])
def test_payment_with_another_card_at_the_bank_is_not_called_failed(newer_try: str | None, problems: int) -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.FAILURE)
    aggregate.payment.mode = Mode.DIRECT
    aggregate.create.request = {"payload": '{"checkout": "Q2hlY2tvdXQ6MQ=="}'}
    aggregate.create.details = {"newer_try": newer_try}
    aggregate.events.append(event_of(aggregate.create, EventType.CHARGE_FAILURE))
    compare_with_source(aggregate, UNPAID, NOON, money_arrives=False)
    assert len(open_problems(aggregate.payment)) == problems


@pytest.mark.law(10)
def test_order_that_has_ended_is_told_at_once_with_what_its_subscription_has_charged() -> None:
    """Not only once another record states the sum anew."""
    refund = an_operation(Kind.REFUND, State.SUCCESS)
    later = an_operation(Kind.RECURRING, State.SUCCESS, Decimal("70.00"), operation_id="second")
    part = an_operation(Kind.REFUND, State.SUCCESS, Decimal("30.00"), charge_id="second")
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refund, later, part)
    compare_with_source(aggregate, replace(UNPAID, status="CANCELED", excess=None), NOON, money_arrives=True)
    assert "42 was cancelled, but 40.00 UAH was paid" in (problem_text(aggregate.payment) or "")
