"""How a shopper paid, in a form that every Saleor takes: one wrong detail, and it refuses the whole charge."""

from decimal import Decimal
from typing import Any

import pytest
from graphql import OperationDefinitionNode, parse
from graphql.execution.values import VariableValues, get_variable_values
from hypothesis import given
from hypothesis import strategies as st

from app.rules.details import payment_method_from_row, payment_method_of, payment_method_to_row
from gateway_client.models import PaymentRecord, read_record
from integration_base.exact_json import dumps, loads
from integration_base_tests.places import REPOSITORY
from saleor_app_sdk.documents import Documents
from saleor_app_sdk.payment_methods import CardDetails, OtherMethod, PaymentMethod
from saleor_app_sdk.reports import EventReport
from saleor_app_sdk.responses import SessionResponse, TransactionFlow
from saleor_app_sdk.testing.rules.responses import parse_session_response
from saleor_app_sdk.versions import WITH_PAYMENT_METHODS, Version
from saleor_app_sdk.vocabulary import EventType
from saleor_app_sdk_tests.schemas import VERSIONS, schema
from tests.payments.fake_gateway import payment

VISA = CardDetails(name="Visa ****4242", brand="Visa", first_digits="4242", last_digits="4242")


def paid(**members: Any) -> PaymentMethod | None:
    record = read_record(payment("order-1", **members))
    assert isinstance(record, PaymentRecord)
    return payment_method_of(record)


@pytest.mark.parametrize(
    ("said", "method"),
    [
        ({"cc_mask": "424242******4242", "payway": "cc"}, VISA),
        ({"cc_mask": "4242 42** **** 4242"}, VISA),
        (
            {"cc_mask": "545454******5454"},
            CardDetails(name="Mastercard ****5454", brand="Mastercard", first_digits="5454", last_digits="5454"),
        ),
        (
            {"cc_mask": "222100******0009"},
            CardDetails(name="Mastercard ****0009", brand="Mastercard", first_digits="2221", last_digits="0009"),
        ),
        ({"cc_mask": "999999******1234"}, CardDetails(name="Card ****1234", first_digits="9999", last_digits="1234")),
        ({"cc_mask": "************1234"}, CardDetails(name="Card ****1234", last_digits="1234")),
        ({"payway": "cc"}, CardDetails(name="Card")),
        ({"payway": "CC"}, CardDetails(name="Card")),
        ({"payway": "bank_pay"}, OtherMethod(name="Bank pay")),
        ({"payway": "x" * 300}, OtherMethod(name="X" + "x" * 255)),
        ({"cc_mask": "****"}, None),
        ({"cc_mask": "4242424242424242"}, None),  # no mask at all: nothing of it is shown
        ({"payway": " "}, None),
        ({}, None),
    ],
)
def test_by_card_or_otherwise(said: dict[str, Any], method: PaymentMethod | None) -> None:
    assert paid(**said) == method
    assert payment_method_from_row(payment_method_to_row(method)) == method


def test_the_first_rows_knew_only_cards() -> None:
    row = {"name": "Visa ****4242", "brand": "Visa", "first_digits": "4242", "last_digits": "4242"}
    assert payment_method_from_row(row) == VISA


def kept(version: Version, method: PaymentMethod) -> Any:
    """Return the argument as Saleor's own schema reads it; raise what it would refuse."""
    operations = Documents(REPOSITORY / "manifest" / "operations")
    [operation] = [
        definition
        for definition in parse(operations.text("transaction_event_report", version)).definitions
        if isinstance(definition, OperationDefinitionNode)
    ]
    report = EventReport(
        transaction_id="x",
        type=EventType.CHARGE_SUCCESS,
        psp_reference="p-1",
        amount=Decimal("1.00"),
        payment_method_details=method,
    )
    read = get_variable_values(schema(version), operation.variable_definitions or (), report.variables(version))
    assert isinstance(read, VariableValues), read
    return read.coerced.get("paymentMethodDetails")


@given(
    mask=st.one_of(st.none(), st.text(max_size=30), st.from_regex(r"\d{6}\*{6}\d{4}", fullmatch=True)),
    payway=st.one_of(st.none(), st.sampled_from(["cc", "bank_pay"]), st.text(max_size=300)),
)
def test_whatever_the_gateway_says_no_saleor_refuses_it(mask: str | None, payway: str | None) -> None:
    """Saleor contract, A.4 and A.7: cards without an expiry, cards without a mask, and all that is no card."""
    method = paid(cc_mask=mask, payway=payway)
    answer = SessionResponse.success(TransactionFlow.CHARGE, psp_reference="p-1", amount=Decimal("1.00"), card=method)
    booked = parse_session_response(loads(dumps(answer.dump()))).method_details
    assert (booked is None) == (method is None)
    if method is not None:
        for version in VERSIONS:
            assert (kept(version, method) is not None) == (version >= WITH_PAYMENT_METHODS)
