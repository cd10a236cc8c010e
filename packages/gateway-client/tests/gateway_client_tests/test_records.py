"""Records: whatever the interface allows is read, kept and written again without a digit changed."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given

from gateway_client.models import (
    Method,
    Mode,
    OperationRecord,
    PaymentRecord,
    Status,
    UnreadableError,
    read_record,
    read_records,
)
from gateway_client_tests.counterpart import PAYMENT, REFUND
from gateway_client_tests.strategies import records
from integration_base import exact_json


def plain(members: dict[str, Any]) -> dict[str, Any]:
    """Amounts as numbers, however they were written."""
    return members | {"amount": Decimal(str(members["amount"]))}


@given(records)
def test_every_record_survives_reading_and_writing(members: dict[str, Any]) -> None:
    sent = exact_json.dumps(members)
    record = read_record(exact_json.loads(sent))
    again = exact_json.dumps(record.to_wire())
    assert read_record(exact_json.loads(again)) == record
    assert plain(exact_json.loads(again)) == plain(exact_json.loads(sent))
    assert record.amount == Decimal(str(members["amount"]))
    assert isinstance(record, OperationRecord) == ("operation_id" in members)


@given(records)
def test_the_time_of_the_last_change_is_one_thing_under_two_names(members: dict[str, Any]) -> None:
    record = read_record(members)
    other = record.to_wire(processed_as="processing_time")
    assert "processed_at" not in other
    assert ("processing_time" in other) == ("processed_at" in members)
    assert read_record(other) == record


@given(records)
def test_no_card_token_and_no_person_shows(members: dict[str, Any]) -> None:
    record = read_record(members | {"cc_token": "tok-4242-secret", "customer_email": "olena@example.com"})
    assert "tok-4242-secret" not in f"{record!r} {record}"
    assert "olena@example.com" not in f"{record!r} {record}"


def test_unknown_fields_are_kept() -> None:
    record = read_record({**PAYMENT, "new": {"thing": Decimal("0.10")}})
    assert record.model_extra == {"new": {"thing": Decimal("0.10")}}


@pytest.mark.parametrize(
    ("word", "status", "reported"),
    [
        ("success", Status.SUCCESS, None),
        ("processing", Status.PENDING, "processing"),
        ("Waiting", Status.PENDING, "Waiting"),
        ("Rejected", Status.FAILURE, "Rejected"),
        ("unsuccessful", Status.FAILURE, "unsuccessful"),
        ("antifraud", Status.PENDING, "antifraud"),
        ("SUCCESS", Status.SUCCESS, "SUCCESS"),
        ("whatever", Status.PENDING, "whatever"),
    ],
)
def test_old_and_unknown_words_for_a_status(word: str, status: Status, reported: str | None) -> None:
    record = read_record({**PAYMENT, "status": word})
    assert (record.status, record.reported_status) == (status, reported)


@pytest.mark.parametrize(
    ("word", "method"),
    [("PURCHASE", Method.PURCHASE), (" Auth ", Method.AUTH), ("Credit", Method.CREDIT), ("SALE", "SALE"), ("", "")],
)
def test_a_method_is_known_however_it_is_capitalized(word: str, method: str) -> None:
    record = read_record({**PAYMENT, "method": word, "mode": "HOSTED"})
    assert (record.method, record.mode) == (method, Mode.HOSTED)
    assert isinstance(record.method, Method) is isinstance(method, Method)


@pytest.mark.parametrize(("word", "status"), [("ACTIVE", "active"), (" Canceled ", "canceled"), ("Paused", "paused")])
def test_the_status_of_a_subscription_is_known_however_it_is_capitalized(word: str, status: str) -> None:
    record = read_record({**PAYMENT, "recurring": {"id": "r-1", "status": word}})
    assert isinstance(record, PaymentRecord)
    assert record.recurring is not None
    assert record.recurring.status == status


@pytest.mark.parametrize("named", ["", " ", None])
def test_a_payment_without_the_id_of_a_subscription_belongs_to_none(named: str | None) -> None:
    record = read_record({**PAYMENT, "recurring": {"id": named, "status": ""}})
    assert isinstance(record, PaymentRecord)
    assert record.recurring is None


def test_a_refund_is_an_operation_however_it_is_capitalized() -> None:
    with pytest.raises(UnreadableError, match="operation_id"):  # which no payment needs
        read_record({**PAYMENT, "method": "REFUND"})


@pytest.mark.parametrize("method", ["purchase", "AUTH", "credit", "p2p", "lookup"])
def test_a_payment_stays_one_whatever_further_fields_it_has(method: str) -> None:
    """An operation's id is none of a payment's fields, and further fields are allowed (Events, Delivery 5)."""
    record = read_record({**PAYMENT, "method": method, "operation_id": "one-more-id"})
    assert isinstance(record, PaymentRecord)
    assert record.payment_id == PAYMENT["payment_id"]


@pytest.mark.parametrize("given", ["a lot", "1,50", [1], True])
def test_what_was_actually_paid_is_no_ornament(given: object) -> None:
    with pytest.raises(UnreadableError, match="processed_amount"):
        read_record({**PAYMENT, "processed_amount": given})


@pytest.mark.parametrize(
    ("written", "amount"),
    [("569.50", "569.50"), (" 569.5 ", "569.50"), ("5.695E+2", "569.50"), ("6E+2", "600.00"), ("+6e2", "600.00")],
)
def test_an_amount_may_be_text_in_any_notation(written: str, amount: str) -> None:
    assert str(read_record({**PAYMENT, "amount": written}).amount) == amount


@pytest.mark.parametrize("written", ["E2", "6E", "6E+", "6E+2.0", "6E+999", "6E14E1", "6E15"])
def test_an_amount_that_only_resembles_a_number_is_unreadable(written: str) -> None:
    with pytest.raises(UnreadableError, match="amount"):
        read_record({**PAYMENT, "amount": written})


def test_old_names_of_fields() -> None:
    members = {name: value for name, value in PAYMENT.items() if not name.startswith("status_")}
    record = read_record({**members, "response_code": 1002, "response_description": "held", "processed_at": None})
    assert (record.status_code, record.status_description) == ("1002", "held")
    later = {**PAYMENT, "processed_at": None, "processing_time": "2026-11-21T10:00:06.000"}
    assert read_record(later).processed_at == datetime(2026, 11, 21, 10, 0, 6, tzinfo=UTC)


@pytest.mark.parametrize("nothing", [None, "", " "])
def test_a_field_with_two_names_may_be_empty_under_one_of_them(nothing: str | None) -> None:
    both = {"processed_at": nothing, "processing_time": "2026-11-21T10:00:06.000"}
    record = read_record({**PAYMENT, **both, "status_code": nothing, "response_code": "1002"})
    assert record.processed_at == datetime(2026, 11, 21, 10, 0, 6, tzinfo=UTC)
    assert record.status_code == "1002"


def test_a_malformed_ornament_costs_no_payment() -> None:
    record = read_record(
        {
            **PAYMENT,
            "mode": {"is": "hosted"},
            "fee": "1.50 UAH",
            "created_at": "yesterday",
            "processed_at": "9999-12-31T23:59:59-05:00",
            "limit_info": {"retry_after": "soon", "description": 7},
            "recurring": "no",
            "processed_amount": "",
            "user_action_required": "perhaps",
            "payload": {"odd": True},
        }
    )
    assert isinstance(record, PaymentRecord)
    assert (record.fee, record.created_at, record.recurring, record.processed_amount) == (None, None, None, None)
    assert (record.mode, record.user_action_required, record.payload) == (None, None, None)
    assert record.limit_info is not None
    assert (record.limit_info.retry_after, record.limit_info.description) == (None, "7")


def test_a_method_that_is_not_in_the_interface_is_kept_as_it_came() -> None:
    assert read_record({**PAYMENT, "method": "telepathy"}).method == "telepathy"
    assert read_record(PAYMENT).method is Method.PURCHASE


@pytest.mark.parametrize(
    "data",
    [
        None,
        "text",
        [],
        {},
        {**PAYMENT, "amount": None},
        {**PAYMENT, "amount": 0.1},
        {**PAYMENT, "amount": True},
        {**PAYMENT, "amount": "1,5"},
        {**PAYMENT, "amount": Decimal("1e20")},
        {**PAYMENT, "payment_id": ""},
        {**PAYMENT, "method": {"is": "purchase"}},
        {**PAYMENT, "method": ["purchase"]},
        {**PAYMENT, "status": None},
        {**PAYMENT, "status": 1},
        {name: value for name, value in REFUND.items() if name != "operation_id"},
    ],
)
def test_what_is_no_record(data: object) -> None:
    with pytest.raises(UnreadableError):
        read_record(data)


def test_what_is_wrong_is_named_and_not_quoted() -> None:
    with pytest.raises(UnreadableError) as caught:
        read_record({**PAYMENT, "amount": "olena@example.com", "currency": None})
    assert str(caught.value) == "not a PaymentRecord: amount, currency"
    assert caught.value.__context__ is None


def test_one_record_or_many() -> None:
    assert len(read_records(PAYMENT)) == 1
    assert [type(record) for record in read_records([PAYMENT, REFUND])] == [PaymentRecord, OperationRecord]
    assert read_records([]) == ()
    with pytest.raises(UnreadableError):
        read_records("none")
