"""What of an order a payment covers, and whether somebody can pay on its page."""

from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from app.core.payment import Operation, PaymentAggregate
from app.core.vocabulary import Flow, Kind, Mode, State
from app.payments.staff.order_payments import OrderPayments, can_be_paid, covered_amount
from app.saleor.orders import OrderToPay
from tests.commands.books import BEGUN, TRANSACTION, aggregate, operation

ALL = Decimal("100.00")
PAGE = "https://gateway.example/checkout/1/form"


def secondary(kind: Kind, amount: str, state: State = State.SUCCESS) -> Operation:
    return operation(kind, state, amount=Decimal(amount))


@pytest.mark.parametrize(
    ("flow", "operations", "covered"),
    [
        (Flow.CHARGE, [operation()], ALL),
        (Flow.CHARGE, [operation(), secondary(Kind.REFUND, "40.00")], ALL),
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
    assert covered_amount(aggregate(operations, flow=flow)) == covered


@pytest.mark.parametrize("state", [State.INTENT, State.UNKNOWN])
def test_a_card_that_may_have_been_charged_covers_it(state: State) -> None:
    assert covered_amount(aggregate([operation(state=state)], mode=Mode.DIRECT)) == ALL


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
    ours = [aggregate([operation()])]
    assert OrderPayments(order(), ours).to_pay == Decimal("130.00")
    assert OrderPayments(order(charged="100.00"), ours).to_pay == Decimal("130.00")
    assert OrderPayments(order(charged="120.00"), ours).to_pay == Decimal("110.00")
    assert OrderPayments(order(charged="900.00"), ours).to_pay == 0


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
