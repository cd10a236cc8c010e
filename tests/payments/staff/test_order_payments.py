"""What of an order a payment covers, and whether somebody can pay on its page."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.payment import Operation, PaymentAggregate
from app.core.vocabulary import Flow, Kind, Mode, State
from app.reports.order_payments import OrderPayments, can_be_paid
from app.rules.decisions.competing_attempts import AttemptBegun, attempt_of
from saleor_app_sdk.orders import OrderToPay
from tests.commands.books import BEGUN, TRANSACTION, aggregate, operation

ALL = Decimal("100.00")
PAGE = "https://gateway.example/checkout/1/form"


def secondary(kind: Kind, amount: str, state: State = State.SUCCESS) -> Operation:
    return operation(kind, state, amount=Decimal(amount))


@pytest.mark.parametrize(
    ("flow", "operations", "covered"),
    [
        (Flow.CHARGE, [operation()], ALL),
        (Flow.CHARGE, [operation(), secondary(Kind.REFUND, "40.00")], Decimal("60.00")),
        (Flow.CHARGE, [operation(), secondary(Kind.REFUND, "100.00")], 0),
        (Flow.CHARGE, [operation(), secondary(Kind.REFUND, "100.00", State.PENDING)], ALL),
        (Flow.CHARGE, [operation(), secondary(Kind.REFUND, "100.00", State.FAILURE)], ALL),
        (Flow.CHARGE, [operation(state=State.PENDING)], ALL),
        (Flow.CHARGE, [operation(state=State.INIT)], 0),
        (Flow.CHARGE, [operation(state=State.FAILURE)], 0),
        (Flow.CHARGE, [operation(state=State.UNKNOWN)], 0),  # a page that nobody can know is closed
        (Flow.AUTHORIZATION, [operation()], ALL),
        (Flow.AUTHORIZATION, [operation(), secondary(Kind.CAPTURE, "30.00")], Decimal("30.00")),
        (Flow.AUTHORIZATION, [operation(), secondary(Kind.CAPTURE, "30.00", State.PENDING)], ALL),
        (Flow.AUTHORIZATION, [operation(), secondary(Kind.VOID, "100.00")], 0),
    ],
)
def test_what_a_payment_covers(flow: Flow, operations: list[Operation], covered: Decimal) -> None:
    assert attempt_of(aggregate(operations, flow=flow, id=1)).covered == covered


@pytest.mark.parametrize("state", [State.INTENT, State.UNKNOWN])
def test_a_card_that_may_have_been_charged_covers_it(state: State) -> None:
    assert attempt_of(aggregate([operation(state=state)], mode=Mode.DIRECT, id=1)).covered == ALL


@pytest.mark.parametrize(
    ("state", "url", "ends", "can"),
    [
        (State.INIT, PAGE, BEGUN + timedelta(hours=1), True),
        (State.INIT, PAGE, None, True),
        (State.INIT, PAGE, BEGUN, False),
        (State.INIT, None, BEGUN + timedelta(hours=1), False),
        (State.PENDING, PAGE, BEGUN + timedelta(hours=1), False),
        (State.SUCCESS, PAGE, BEGUN + timedelta(hours=1), False),
    ],
)
def test_whether_somebody_can_pay(state: State, url: str | None, ends: datetime | None, *, can: bool) -> None:
    assert can_be_paid(aggregate([operation(state=state)], checkout_url=url, expires_at=ends), BEGUN) is can


def test_a_page_that_is_being_closed_cannot_be_paid() -> None:
    closing = aggregate([operation(state=State.INIT), secondary(Kind.CANCEL, "0.00", State.WAITING)], checkout_url=PAGE)
    assert not can_be_paid(closing, BEGUN)


def test_the_link_over_an_amount_is_that_of_the_newest_open_page_over_just_that_amount() -> None:
    def page(amount: str, state: State = State.INIT) -> PaymentAggregate:
        return aggregate([operation(state=state)], amount=Decimal(amount), checkout_url=PAGE)

    older, newer, failed, other = page("100.00"), page("100.00"), page("100.00", State.FAILURE), page("60.00")
    found = OrderPayments(order(), [older, newer, failed, other])
    assert found.open_payment_over(ALL, BEGUN) is newer
    assert found.open_payment_over(Decimal("60.00"), BEGUN) is other
    assert found.open_payment_over(Decimal("40.00"), BEGUN) is None


def order(status: str = "UNFULFILLED", charged: str = "0.00", **fields: object) -> OrderToPay:
    return OrderToPay.model_validate(
        {
            "id": "T3JkZXI6MQ==",
            "number": "1",
            "status": status,
            "channel": {"slug": "uah", "currencyCode": "UAH"},
            "total": {"gross": {"amount": Decimal("250.00"), "currency": "UAH"}},
            "transactions": [
                {"id": TRANSACTION, "chargedAmount": {"amount": Decimal(charged), "currency": "UAH"}},
                {"id": "of-another-app", "authorizedAmount": {"amount": Decimal("20.00"), "currency": "UAH"}},
            ],
        }
        | fields
    )


def test_what_is_left_counts_what_saleor_or_we_know_whichever_is_more() -> None:
    ours = [aggregate([operation()], id=1)]
    assert OrderPayments(order(), ours).to_pay == Decimal("130.00")
    assert OrderPayments(order(charged="100.00"), ours).to_pay == Decimal("130.00")
    assert OrderPayments(order(charged="120.00"), ours).to_pay == Decimal("110.00")
    assert OrderPayments(order(charged="900.00"), ours).to_pay == 0


@pytest.mark.parametrize(
    ("refunded", "charged", "left"),
    [
        ("100.00", "0.00", "230.00"),  # all of it: it can be requested again
        ("40.00", "60.00", "170.00"),
        ("100.00", "100.00", "130.00"),  # Saleor has not heard of it yet: nobody is asked before it has
    ],
)
def test_what_was_refunded_is_left_to_pay_again(refunded: str, charged: str, left: str) -> None:
    ours = [aggregate([operation(), secondary(Kind.REFUND, refunded)], id=1)]
    assert OrderPayments(order(charged=charged), ours).to_pay == Decimal(left)


@pytest.mark.law(12)
@given(
    total=st.integers(0, 500),
    granted=st.integers(0, 500),
    paid=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), max_size=3),
)
def test_staff_request_what_a_shopper_may_pay(total: int, granted: int, paid: list[tuple[int, int]]) -> None:
    """One rule, whoever begins: the total, less what is granted, less what was paid and not refunded."""
    kept = [(amount, min(amount, refunded)) for amount, refunded in paid]
    ours, transactions = [], []
    for number, (amount, refunded) in enumerate(kept):
        named: dict[str, Any] = {
            "transaction_id": f"transaction-{number}",
            "order_id": f"{number:032x}",
            "id": number + 1,
        }
        rows = [operation(amount=Decimal(amount)), secondary(Kind.REFUND, str(refunded))]
        ours.append(aggregate(rows, amount=Decimal(amount), **named))
        left = {"amount": Decimal(amount - refunded), "currency": "UAH"}
        transactions.append({"id": f"transaction-{number}", "chargedAmount": left})
    charged = sum(amount - refunded for amount, refunded in kept)
    owed = max(0, total - granted)
    found = order(
        total={"gross": {"amount": Decimal(total), "currency": "UAH"}},
        totalBalance={"amount": Decimal(charged - owed), "currency": "UAH"},
        transactions=transactions,
    )
    to_pay = OrderPayments(found, ours).to_pay
    assert to_pay == max(0, owed - charged)
    newest = aggregate([operation(state=State.INIT)], amount=to_pay, transaction_id="new")
    if to_pay:
        assert AttemptBegun(found).decide(newest, ours) is None
    newest.payment.amount = to_pay + 1
    assert AttemptBegun(found).decide(newest, ours) is not None


@pytest.mark.parametrize(
    ("charged", "balance", "left"),
    [
        ("0.00", "-250.00", "230.00"),  # nothing is granted
        ("0.00", "-200.00", "180.00"),  # 50 are
        ("180.00", "-20.00", "0.00"),
        ("200.00", "0.00", "0.00"),
    ],
)
def test_what_staff_have_granted_to_refund_is_not_requested(charged: str, balance: str, left: str) -> None:
    granted = order(charged=charged, totalBalance={"amount": Decimal(balance), "currency": "UAH"})
    assert OrderPayments(granted, []).to_pay == Decimal(left)


@pytest.mark.parametrize("status", ["CANCELED", "EXPIRED", "DRAFT"])
def test_nobody_pays_an_order_that_is_given_up_or_not_placed(status: str) -> None:
    assert OrderPayments(order(status), []).to_pay == 0
    assert OrderPayments(None, []).to_pay == 0
