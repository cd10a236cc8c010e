"""When money has moved, and what it has cost."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from app.core.payment import Operation
from app.core.vocabulary import Flow, Kind, State
from app.rules.balance import update_booking
from tests.payments.aggregates import NOON, an_aggregate, an_operation


def booked(kind: Kind, state: State = State.SUCCESS, flow: Flow = Flow.CHARGE, **details: Any) -> Operation:
    aggregate = an_aggregate(flow, State.SUCCESS)
    aggregate.payment.created_at = NOON - timedelta(days=2)
    operation = an_operation(kind, state, details=details)
    update_booking(aggregate.payment, operation)
    return operation


@pytest.mark.parametrize(
    ("flow", "kind", "moves"),
    [
        (Flow.CHARGE, Kind.CREATE, True),
        (Flow.AUTHORIZATION, Kind.CREATE, False),
        (Flow.AUTHORIZATION, Kind.CAPTURE, True),
        (Flow.AUTHORIZATION, Kind.VOID, False),
        (Flow.CHARGE, Kind.REFUND, True),
        (Flow.CHARGE, Kind.DISPUTE, True),
        (Flow.CHARGE, Kind.CANCEL, False),
    ],
)
def test_what_moves_money(flow: Flow, kind: Kind, moves: bool) -> None:
    assert (booked(kind, flow=flow).booked_at == NOON) is moves
    assert booked(kind, State.PENDING, flow).booked_at is None
    assert booked(kind, State.FAILURE, flow).booked_at is None


def test_it_is_of_the_day_that_the_gateway_says_and_stays_so() -> None:
    operation = booked(Kind.CREATE, processed_at="2026-11-20T23:59:59Z")
    assert operation.booked_at == NOON - timedelta(hours=12, seconds=1)
    operation.details = {"processed_at": "2026-11-25T00:00:00Z"}
    update_booking(an_aggregate(Flow.CHARGE, State.SUCCESS).payment, operation)
    assert operation.booked_at == NOON - timedelta(hours=12, seconds=1)


@pytest.mark.law(15)
@pytest.mark.parametrize(
    "stated",
    [
        "1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "2026-11-19T11:54:59Z", "2026-11-21T12:05:01Z",
        "2026-11-21T14:00:00Z", "2036-11-21T12:00:00Z", "9999-12-31T23:59:59Z",
    ],
)  # fmt: skip
def test_a_time_that_cannot_be_decides_nothing(stated: str) -> None:
    """Before the payment began, or after the message arrived: a reset clock, another time zone, another century."""
    assert booked(Kind.CREATE, processed_at=stated).booked_at == NOON
    failed = booked(Kind.CREATE, State.FAILURE, processed_at=stated)
    assert failed.ended_at == NOON


@pytest.mark.parametrize("stated", ["2026-11-19T11:55:00Z", "2026-11-20T01:00:00Z", "2026-11-21T12:05:00Z"])
def test_a_time_that_can_be_decides(stated: str) -> None:
    assert booked(Kind.CREATE, processed_at=stated).booked_at == datetime.fromisoformat(stated)


def test_the_arrival_decides_and_not_when_the_message_was_read() -> None:
    operation = an_operation(Kind.REFUND, State.SUCCESS, details={"processed_at": "2026-11-21T11:30:00Z"})
    arrival = NOON - timedelta(hours=1)
    update_booking(an_aggregate(Flow.CHARGE, State.SUCCESS).payment, operation, arrival)
    assert operation.booked_at == arrival


def test_a_fee_that_comes_late() -> None:
    assert booked(Kind.REFUND).fee is None
    operation = booked(Kind.REFUND)
    operation.details = {"fee": {"amount": "1.2345"}}
    update_booking(an_aggregate(Flow.CHARGE, State.SUCCESS).payment, operation)
    assert (operation.fee, operation.fee_currency) == (Decimal("1.2345"), "UAH")


@pytest.mark.parametrize(
    ("amount", "currency"),
    [("0.0000001", "UAH"), ("1E+30", "UAH"), ("1E-30", "UAH"), ("1.00", "a long currency"), ("1.00", "\x00\ud800€€")],
)
def test_a_fee_that_no_column_holds_is_not_known(amount: str, currency: str) -> None:
    details: dict[str, Any] = {"amount": amount, "currency": currency}
    assert booked(Kind.CREATE, fee=details).fee is None


def test_what_turns_out_to_have_failed_is_booked_no_longer() -> None:
    operation = booked(Kind.REFUND, fee={"amount": "1.00", "currency": "UAH"})
    operation.state = State.FAILURE
    update_booking(an_aggregate(Flow.CHARGE, State.SUCCESS).payment, operation)
    assert (operation.booked_at, operation.fee, operation.fee_currency) == (None,) * 3
