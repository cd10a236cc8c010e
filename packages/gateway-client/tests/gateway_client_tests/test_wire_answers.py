"""Every name and word of the answers, once, as it is on the wire: what is spelt otherwise is read by nobody."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from gateway_client import (
    BalanceAccount,
    CaptureEndpoint,
    DialectName,
    Inclusion,
    Method,
    Mode,
    OperationRecord,
    PartCapture,
    PaymentRecord,
    Product,
    ReceiptDelivery,
    Recipient,
    RecurringPlan,
    RegisterLine,
    Sector,
    Status,
    Subscription,
    Taxes,
    TaxesForm,
    ThreeDs,
    TransactionLine,
    Wallet,
)
from gateway_client.models import read_record
from gateway_client.models.base import CARD_FIELDS
from gateway_client.models.records import validate_model
from gateway_client.statuses import read_status
from gateway_client_tests.counterpart import PAYMENT

POS_ID = str(PAYMENT["pos_id"])
START = datetime(2026, 11, 1, tzinfo=UTC)
BALANCE = {"id": "b1", "name": "Main", "currency": "UAH", "balances": {"available": 1, "rollingReserve": 2}}
MOMENT, MOMENT_READ = "2026-11-21T10:00:00.500", datetime(2026, 11, 21, 10, 0, 0, 500_000, tzinfo=UTC)
TOLD: dict[str, Any] = {
    "payment_id": "p1", "order_id": "o1", "pos_id": POS_ID, "mode": "hosted", "amount": Decimal("569.50"),
    "currency": "UAH", "status": "pending", "status_code": "2122", "status_description": "confirm",
    "transaction_id": "t1", "receipt_url": "https://pay.example/r",
}  # fmt: skip
TEXTS = (
    *("gateway_order_id", "billing_order_id", "description", "user_action_url", "eci", "mcc", "options_3ds", "cc_mask"),
    *("cc_token_expiration", "customer_id", "customer_ip", "customer_fname", "customer_lname", "customer_patronym"),
    *("customer_email", "customer_phone", "customer_country", "customer_city", "customer_birthday", "result_url"),
    *("payload", "bank_short_name", "payway", "processed_currency"),
)


def the_fee(amount: str) -> dict[str, Any]:
    return {"amount": Decimal(amount), "currency": "UAH"}


def test_each_field_of_a_payment_is_read_under_its_name() -> None:
    texts = {name: f"the {name}" for name in TEXTS}
    record = read_record(
        TOLD | texts | {
            "method": "purchase", "user_action_required": True, "cc_token": "tok", "created_at": MOMENT,
            "processing_time": MOMENT, "fee": the_fee("3.00"), "fixed_fee": the_fee("1.00"),
            "percent_fee": the_fee("2.00"), "processed_amount": Decimal("570.00"), "properties": {"a": "b"},
            "limit_info": {"retry_after": MOMENT, "description": "often"},
            "recurring": {"id": "s1", "status": "active"},
        }
    )  # fmt: skip
    assert isinstance(record, PaymentRecord)
    assert record.model_extra == {}  # what has no name of its own could be read all the same
    assert {name: getattr(record, name) for name in texts} == texts
    assert {name: getattr(record, name) for name in TOLD} == TOLD
    assert (record.method, record.mode, record.user_action_required) == (Method.PURCHASE, Mode.HOSTED, True)
    assert (record.created_at, record.processed_at) == (MOMENT_READ, MOMENT_READ)
    assert record.cc_token is not None
    assert record.cc_token.get_secret_value() == "tok"
    fees = [fee for fee in (record.fee, record.fixed_fee, record.percent_fee) if fee is not None]
    assert [f"{fee.amount} {fee.currency}" for fee in fees] == ["3.00 UAH", "1.00 UAH", "2.00 UAH"]
    assert record.processed_amount == Decimal("570.00")
    assert record.properties == {"a": "b"}
    assert record.limit_info is not None
    assert (record.limit_info.retry_after, record.limit_info.description) == (MOMENT_READ, "often")
    assert record.recurring is not None
    assert record.recurring.model_extra == record.limit_info.model_extra == {}
    assert all(fee.model_extra == {} for fee in fees)
    assert (record.recurring.id, record.recurring.status) == ("s1", "active")


def test_each_field_of_an_operation_is_read_under_its_name() -> None:
    record = read_record(
        TOLD | {"method": "refund", "operation_id": "op1", "split_fee": the_fee("1.00"), "comment": "why",
                "processed_at": MOMENT, "created_at": MOMENT}
    )  # fmt: skip
    assert isinstance(record, OperationRecord)
    assert record.model_extra == {}
    assert {name: getattr(record, name) for name in TOLD} == TOLD
    assert (record.operation_id, record.method, record.comment) == ("op1", Method.REFUND, "why")
    assert (record.created_at, record.processed_at) == (MOMENT_READ, MOMENT_READ)
    assert record.split_fee is not None
    assert not isinstance(record.split_fee, list)
    assert record.split_fee.amount == 1


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        ("dispute", OperationRecord),
        ("a new one", OperationRecord),
        ("", OperationRecord),
        ("refund", OperationRecord),
        ("purchase", PaymentRecord),
        ("AUTH", PaymentRecord),
        ("credit", PaymentRecord),
    ],
)
def test_a_record_with_an_operation_id_is_an_operation_unless_its_method_is_that_of_a_payment(
    method: str, kind: type[PaymentRecord | OperationRecord]
) -> None:
    """The interface names the methods of both; a payment may have any further field."""
    assert isinstance(read_record(TOLD | {"method": method, "operation_id": "op1"}), kind)


LINE = {
    "projectId": "1", "orderId": "2", "paymentId": "3", "amount": "4.00", "currency": "UAH", "method": "refund",
    "status": "failure", "dateTime": 1793491200000, "authCode": "5", "rrnCode": "6", "description": "7",
    "payload": "8", "customerFee": "9.00", "merchantFee": "10.00", "paymentSystem": "11", "recipientCardMask": "12",
}  # fmt: skip
LINE_READ = {
    "project_id": "1", "order_id": "2", "payment_id": "3", "amount": 4, "currency": "UAH", "method": "refund",
    "status": "failure", "date_time": START, "auth_code": "5", "rrn_code": "6", "description": "7", "payload": "8",
    "customer_fee": 9, "merchant_fee": 10, "payment_system": "11", "recipient_card_mask": "12",
}  # fmt: skip
REGISTER_LINE = LINE | {
    "cardMask": "13", "payway": "14", "entityName": "15", "projectName": "16", "originalAmount": "17.00",
    "exchangeAmount": "18.00", "exchangeCurrency": "EUR", "exchangeRate": "19.5", "tokenizationKind": "20",
    "reserveAmount": "21.00", "receiverName": "22", "receiverAmount": "23.00", "receiverFee": "24.00",
}  # fmt: skip
REGISTER_LINE_READ = LINE_READ | {
    "card_mask": "13", "payway": "14", "entity_name": "15", "project_name": "16", "original_amount": 17,
    "exchange_amount": 18, "exchange_currency": "EUR", "exchange_rate": Decimal("19.5"), "tokenization_kind": "20",
    "reserve_amount": 21, "receiver_name": "22", "receiver_amount": 23, "receiver_fee": 24,
}  # fmt: skip


def test_each_field_of_a_list_is_read_under_its_name() -> None:
    line, register_line = validate_model(TransactionLine, LINE), validate_model(RegisterLine, REGISTER_LINE)
    assert line.model_extra == register_line.model_extra == {}
    assert {name: getattr(line, name) for name in LINE_READ} == LINE_READ
    assert {name: getattr(register_line, name) for name in REGISTER_LINE_READ} == REGISTER_LINE_READ


@pytest.mark.parametrize("missing", [None, "", " "])
def test_account_without_a_name_or_a_reserve_hides_no_balance(missing: str | None) -> None:
    balances = {"available": 1, "rollingReserve": missing}
    balance = validate_model(BalanceAccount, BALANCE | {"name": missing, "balances": balances})
    assert (balance.name, balance.balances.available, balance.balances.rolling_reserve) == ("", Decimal(1), None)


def test_balances_and_subscriptions_are_read_under_their_names() -> None:
    for name in ("rollingReserve", "rolling_reserve"):
        balance = validate_model(BalanceAccount, BALANCE | {"balances": {"available": 1, name: 2}})
        assert (balance.id, balance.name, balance.currency) == ("b1", "Main", "UAH")
        assert (balance.balances.available, balance.balances.rolling_reserve) == (Decimal(1), Decimal(2))
    ended = validate_model(
        Subscription,
        {"recurring_status": "canceled", "recurring_payment": {"a": 1}, "recurring_config": {"b": 2}, "metadata": {}},
    )
    assert ended.model_extra == balance.model_extra == balance.balances.model_extra == {}
    assert (ended.recurring_status, ended.recurring_payment, ended.recurring_config, ended.metadata) == (
        "canceled", {"a": 1}, {"b": 2}, {},
    )  # fmt: skip


def test_each_word_is_spelt_so() -> None:
    words = {
        Status: ["init", "pending", "success", "failure"],
        Mode: ["direct", "hosted"],
        ReceiptDelivery: ["email", "sms", "viber", "none"],
        Sector: ["general", "gambling", "microfinance"],
        Wallet: ["applepay", "gpay"],
        CaptureEndpoint: ["split", "plain"],
        PartCapture: ["keeps_rest", "releases_rest"],
        Inclusion: ["sent", "not_sent"],
        ThreeDs: ["supported", "always", "never"],
        TaxesForm: ["object", "list"],
        DialectName: ["interface", "public"],
    }
    assert {kind: list(kind) for kind in words} == words
    assert [read_status(word) for word in words[Status]] == list(Status)


@pytest.mark.parametrize("unit", ["day", "week", "month", "quarter", "year"])
def test_each_unit_of_a_plan_is_spelt_so(unit: Any) -> None:
    assert RecurringPlan(interval_unit=unit, interval_count=1).to_wire()["interval_unit"] == unit


def test_each_kind_of_price_and_of_tax_is_spelt_so() -> None:
    kinds: Any = ("VAT", "NET"), ("vat", "non-vat"), ("true", "false")
    prices, taxes, taxable = kinds
    assert [Product(id="1", name="x", amount="1.00", qty=1, price_type=kind).price_type for kind in prices] == [
        "VAT",
        "NET",
    ]
    assert [Taxes(type=kind, prc=0).type for kind in taxes] == ["vat", "non-vat"]
    assert [Recipient(is_operation_taxable=word).is_operation_taxable for word in taxable] == ["true", "false"]


def test_each_field_that_may_hold_a_card_is_known_as_such() -> None:
    """What is in one of them is shown nowhere, whoever quotes it."""
    cards = {"cc_number", "exp_month", "exp_year", "card_cvv", "cc_token", "cryptogram", "token", "recipient_cc_number"}
    assert cards == CARD_FIELDS
