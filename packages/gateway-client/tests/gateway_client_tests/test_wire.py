"""Every name, path and word of the interface, once, as it is on the wire: what is spelt otherwise reaches nobody."""

from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from gateway_client import (
    DIALECTS,
    Attribute,
    BalanceAccount,
    Capture,
    CaptureEndpoint,
    Credentials,
    DialectName,
    DirectPayment,
    FiscalProduct,
    GatewayClient,
    HostedPayment,
    Inclusion,
    Method,
    Mode,
    OperationRecord,
    PartCapture,
    PaymentRecord,
    Payout,
    Product,
    ReceiptDelivery,
    Recipient,
    RecurringPlan,
    Refund,
    RegisterColumn,
    RegisterLine,
    RegisterRequest,
    RegisterTicket,
    Sector,
    SplitItem,
    SplitRefund,
    Status,
    Subscription,
    SubscriptionRefund,
    Taxes,
    TaxesForm,
    ThreeDs,
    TransactionLine,
    Void,
    Wallet,
    encode_wallet_token,
)
from gateway_client.models import read_record
from gateway_client.models.base import CARD_FIELDS
from gateway_client.models.records import validate_model
from gateway_client.statuses import read_status
from gateway_client_tests.conftest import RecordedSleeps
from gateway_client_tests.counterpart import PAYMENT, REFUND, ScriptedServer, lines
from gateway_client_tests.examples import BROWSER, CARD, OTHER_SHOP, SHOP
from integration_base import exact_json
from integration_base_tests.loopback import json_reply, text_reply

POS_ID = str(PAYMENT["pos_id"])
PRODUCT = Product(
    id="mug", name="Mug", amount="10.00", qty=2, currency="UAH", category="cups", description="blue",
    url="https://shop.example/mug", price_type="VAT", vat="1.67", payload="a mug",
)  # fmt: skip
FISCAL = FiscalProduct(
    id=SHOP, name="Mug", amount="5.00", qty=2, unit="pc", taxes=Taxes(type="vat", prc=20), bar_code="4820000",
    receipt_delivery="sms",
)  # fmt: skip
PRODUCT_SENT = {
    "id": "mug", "name": "Mug", "amount": 10, "qty": 2, "currency": "UAH", "category": "cups", "description": "blue",
    "url": "https://shop.example/mug", "price_type": "VAT", "vat": Decimal("1.67"), "payload": "a mug",
}  # fmt: skip
FISCAL_SENT = {
    "id": SHOP, "name": "Mug", "amount": 5, "qty": 2, "unit": "pc", "taxes": {"type": "vat", "prc": 20},
    "bar_code": "4820000", "fiscalReceiptDelivery": "sms",
}  # fmt: skip
PAYER: dict[str, Any] = {
    "customer_id": "VXNlcjox", "customer_fname": "Olena", "customer_lname": "Kovalenko",
    "customer_patronym": "Petrivna", "customer_email": "olena@example.com", "customer_phone": "+380501234567",
    "customer_country": "UA", "customer_birthday": date(1991, 8, 24), "customer_tax_id": "3123456789",
}  # fmt: skip
PAYER_SENT = PAYER | {"customer_birthday": "1991-08-24"}
COMMON: dict[str, Any] = {
    "pos_id": POS_ID, "order_id": "order1", "amount": Decimal("10.00"), "currency": "UAH", "description": "Order 1",
    "order_3ds_bypass": "never", "server_url": "https://app.example/hook", "result_url": "https://app.example/back",
    "merchant_mcc": "5411", "payload": "paid", "validation_url": "https://shop.example/check",
}  # fmt: skip
PAID: dict[str, Any] = {"f_receipt_delivery": "viber", "products": (PRODUCT, FISCAL)}
PAID_SENT = {"f_receipt_delivery": "viber", "products": [PRODUCT_SENT, FISCAL_SENT]}
BROWSER_SENT = {
    "browserColorDepth": "24", "browserScreenHeight": "1080", "browserScreenWidth": "1920",
    "browserJavaEnabled": "false", "browserLanguage": "uk", "browserTimeZone": "Europe/Kyiv",
    "browserTimeZoneOffset": "-120", "browserAcceptHeader": "*/*", "browserIpAddress": "192.0.2.7",
    "browserUserAgent": "Mozilla/5.0",
}  # fmt: skip
PLAN = RecurringPlan(
    interval_unit="quarter", interval_count=2, retry_attempts=3, retry_interval_hours=4, start_date=date(2027, 1, 1),
    expiry_date=date(2028, 1, 1), time=time(12, 30), notification_url="https://app.example/plan", amount="9.00",
)  # fmt: skip
PLAN_SENT = {
    "interval_unit": "quarter", "interval_count": 2, "retry_attempts": 3, "retry_interval_hours": 4,
    "start_date": "2027-01-01", "expiry_date": "2028-01-01", "time": "12:30:00",
    "notification_url": "https://app.example/plan", "amount": 9,
}  # fmt: skip
WHO = {
    "recipient_first_name": "Olena", "recipient_middle_name": "Petrivna", "recipient_last_name": "Kovalenko",
    "recipient_doc_number": "AA123456", "recipient_doc_issue_date": "2015-05-20", "recipient_doc_issued_by": "8001",
    "recipient_phone": "+380501234567", "recipient_birth_date": "1991-08-24", "recipient_birth_place": "Lviv",
    "recipient_country": "UA-32", "recipient_city": "Kyiv", "recipient_address": "Street 1",
    "recipient_postcode": "01001", "wallet_number": "W1", "is_operation_taxable": "true",
}  # fmt: skip
SPLIT = (
    SplitItem(amount="6.60", sub_merchant_id=SHOP, products=(PRODUCT,)),
    SplitItem(amount="3.40", sub_merchant_id=OTHER_SHOP),
)
SPLIT_SENT = [
    {"amount": Decimal("6.60"), "sub_merchant_id": SHOP, "products": [PRODUCT_SENT]},
    {"amount": Decimal("3.40"), "sub_merchant_id": OTHER_SHOP},
]
ABOUT = {"pos_id": POS_ID, "order_id": "order1", "comment": "why", "server_url": "https://app.example/hook"}
FORM = "https://pay.example/api/v1/checkout/abc/form"
START, END = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 2, tzinfo=UTC)
APPLE = "https://apple-pay-gateway.apple.com/paymentservices/startSession"

PAGE = text_reply("", 303, location=FORM)
TAKEN, RELEASED = (json_reply({**REFUND, "method": method}) for method in ("capture", "void"))
BACK, RECORD = json_reply(REFUND), json_reply(PAYMENT)
BALANCE = {"id": "b1", "name": "Main", "currency": "UAH", "balances": {"available": 1, "rollingReserve": 2}}

Ask = Callable[[GatewayClient], Awaitable[object]]
CALLS: dict[str, tuple[Any, Ask, str, dict[str, Any] | None]] = {
    "hosted": (
        PAGE,
        lambda c: c.create_hosted(
            HostedPayment(
                **COMMON, **PAYER, **PAID, attributes=(Attribute(key="k", value="v"),), customer_lang="uk",
                order_timeout=900, init_recurring=PLAN,
            ),
            qr=True, timeout=9,
        ),
        "POST /api/v1/payment?qr=true",
        COMMON | PAYER_SENT | PAID_SENT | {
            "mode": "hosted", "method": "purchase", "attributes": [{"key": "k", "value": "v"}], "customer_lang": "UK",
            "order_timeout": 900, "init_recurring": PLAN_SENT,
        },
    ),
    "hosted split": (
        PAGE,
        lambda c: c.create_hosted(HostedPayment(**COMMON, **PAYER, split=SPLIT), timeout=9),
        "POST /api/v1/split/purchase",
        COMMON | PAYER_SENT | {"mode": "hosted", "method": "purchase", "split": SPLIT_SENT},
    ),
    "card": (
        RECORD,
        lambda c: c.create_direct(
            DirectPayment(
                **COMMON, **PAYER, **CARD, method=Method.AUTH, customer_ip="192.0.2.7", browser_fingerprint=BROWSER,
                customer_referrer="https://shop.example/cart",
            ),
            timeout=9,
        ),
        "POST /api/v1/payment",
        COMMON | PAYER_SENT | {
            "mode": "direct", "method": "auth", "customer_ip": "192.0.2.7", "browser_fingerprint": BROWSER_SENT,
            "customer_referrer": "https://shop.example/cart", "cc_number": "4242424242424242", "exp_month": 12,
            "exp_year": 2030, "card_cvv": "123",
        },
    ),
    "cryptogram": (
        RECORD,
        lambda c: c.create_direct(
            DirectPayment(
                **COMMON, **PAYER, cc_token="rcr:1", cryptogram={"eci": "07"}, customer_ip="192.0.2.7",
                browser_fingerprint=BROWSER,
            ),
            timeout=9,
        ),
        "POST /api/v1/payment",
        COMMON | PAYER_SENT | {
            "mode": "direct", "method": "purchase", "customer_ip": "192.0.2.7", "browser_fingerprint": BROWSER_SENT,
            "cc_token": "rcr:1", "cryptogram": {"eci": "07"},
        },
    ),
    "payout": (
        json_reply({**PAYMENT, "method": "credit"}),
        lambda c: c.pay_out(
            Payout(**COMMON, **PAYER, customer_ip="192.0.2.7", customer_city="Kyiv", cc_number="4242424242424242",
                   properties=Recipient(**WHO)),
            timeout=9,
        ),
        "POST /api/v1/payment",
        COMMON | PAYER_SENT | {
            "mode": "direct", "method": "credit", "customer_ip": "192.0.2.7", "customer_city": "Kyiv",
            "cc_number": "4242424242424242", "properties": WHO,
        },
    ),
    "payout to a token": (
        json_reply({**PAYMENT, "method": "credit"}),
        lambda c: c.pay_out(Payout(**COMMON, customer_ip="192.0.2.7", cc_token="tok"), timeout=9),
        "POST /api/v1/payment",
        COMMON | {"mode": "direct", "method": "credit", "customer_ip": "192.0.2.7", "cc_token": "tok"},
    ),
    "capture": (
        TAKEN,
        lambda c: c.capture(
            Capture(**ABOUT, order_currency="UAH", charge_amount="10.00", products=(PRODUCT,)), timeout=9
        ),
        "POST /api/v1/capture",
        ABOUT | {"order_currency": "UAH", "charge_amount": 10, "products": [PRODUCT_SENT]},
    ),
    "capture split": (
        TAKEN,
        lambda c: c.capture(Capture(**ABOUT, order_currency="UAH", charge_amount="10.00", split=SPLIT), timeout=9),
        "POST /api/v1/split/capture",
        ABOUT | {"order_currency": "UAH", "charge_amount": 10, "split": SPLIT_SENT},
    ),
    "void": (
        RELEASED,
        lambda c: c.void(Void(**ABOUT, order_currency="UAH"), timeout=9),
        "POST /api/v1/void",
        ABOUT | {"order_currency": "UAH"},
    ),
    "refund": (
        BACK,
        lambda c: c.refund(
            Refund(**ABOUT, order_currency="UAH", refund_amount="1.00", f_receipt_delivery="none", products=(FISCAL,)),
            timeout=9,
        ),
        "POST /api/v1/refund",
        ABOUT | {"order_currency": "UAH", "refund_amount": 1, "f_receipt_delivery": "none", "products": [FISCAL_SENT]},
    ),
    "refund split": (
        BACK,
        lambda c: c.split_refund(SplitRefund(**ABOUT, currency="UAH", refund_amount="10.00", split=SPLIT), timeout=9),
        "POST /api/v1/split/refund",
        ABOUT | {"currency": "UAH", "refund_amount": 10, "split": SPLIT_SENT},
    ),
    "cancel": (
        json_reply([{**PAYMENT, "status": "failure"}]),
        lambda c: c.cancel("order1", timeout=9),
        f"POST /api/v1/pos/{POS_ID}/order/order1/cancel",
        None,
    ),
    "get_order": (RECORD, lambda c: c.get_order("order1", timeout=9), f"GET /api/v1/pos/{POS_ID}/orders/order1", None),
    "get_operation": (
        RECORD,
        lambda c: c.get_operation("order1", Method.VOID, timeout=9),
        f"GET /api/v1/pos/{POS_ID}/orders/order1/void",
        None,
    ),
    "resend": (
        RECORD,
        lambda c: c.resend("order1", Method.PURCHASE, transaction_id="t1", timeout=9),
        f"GET /api/v1/pos/{POS_ID}/orders/order1/purchase?callback=true&transactionId=t1",
        None,
    ),
    "keys": (RECORD, lambda c: c.check_credentials(timeout=9), f"GET /api/v1/pos/{POS_ID}/orders/0", None),
    "period": (
        lines(),
        lambda c: _all(c.reports.period(START, END, timeout=9)),
        f"GET /api/v1/pos/{POS_ID}/transactions?startDate=1793491200000&enddate=1793577600000",
        None,
    ),
    "register": (
        json_reply({"report_id": "r1", "count": 0}),
        lambda c: c.reports.start(
            RegisterRequest(start_date=START, end_date=END, statuses=tuple(Status), methods=tuple(Method),
                            transaction_details=tuple(RegisterColumn)),
            timeout=9,
        ),
        "POST /streaming-report/start",
        {
            "project_id": POS_ID, "start_date": "2026-11-01T00:00:00+00:00", "end_date": "2026-11-02T00:00:00+00:00",
            "statuses": ["init", "pending", "success", "failure"],
            "methods": ["purchase", "auth", "credit", "capture", "void", "refund", "p2p", "lookup", "dispute",
                        "recurrent"],
            "transaction_details": [
                "orderId", "paymentId", "amount", "currency", "method", "status", "dateTime", "cardMask", "payway",
                "customerFee", "merchantFee", "projectId", "entityName", "projectName", "originalAmount",
                "exchangeAmount", "exchangeCurrency", "exchangeRate", "tokenizationKind", "authCode", "rrnCode",
                "description", "payload", "paymentSystem", "recipientCardMask", "reserveAmount", "receiverName",
                "receiverAmount", "receiverFee",
            ],
        },
    ),
    "register fetched": (
        lines(),
        lambda c: _all(c.reports.fetch(RegisterTicket(report_id="r1", count=0), patience=9, timeout=9)),
        "GET /streaming-report/fetch/r1",
        None,
    ),
    "balances": (
        json_reply({"accounts": [BALANCE]}),
        lambda c: c.balances.accounts(timeout=9),
        f"GET /api/v1/balances/pos/{POS_ID}/accounts",
        None,
    ),
    "balance": (
        json_reply(BALANCE),
        lambda c: c.balances.account("b1", timeout=9),
        f"GET /api/v1/balances/pos/{POS_ID}/accounts/b1",
        None,
    ),
    "subscription": (
        RECORD,
        lambda c: c.subscriptions.transactions("s1", method=Method.REFUND, status=Status.SUCCESS, timeout=9),
        f"GET /api/v1/pos/{POS_ID}/recurring/s1?method=refund&status=success",
        None,
    ),
    "subscription refunded": (
        BACK,
        lambda c: c.subscriptions.refund(
            "s1", "p1",
            SubscriptionRefund(order_currency="UAH", refund_amount="1.00", comment="why",
                               server_url="https://app.example/hook"),
            timeout=9,
        ),
        f"POST /api/v1/pos/{POS_ID}/recurring/s1/payments/p1/refund",
        {"pos_id": POS_ID, "order_currency": "UAH", "refund_amount": 1, "comment": "why",
         "server_url": "https://app.example/hook"},
    ),
    "subscription ended": (
        json_reply({"recurring_status": "canceled"}),
        lambda c: c.subscriptions.cancel("s1", timeout=9),
        "PUT /api/v1/recurring/s1/cancel",
        None,
    ),
    "apple": (
        json_reply({}),
        lambda c: c.wallets.apple_pay_session(APPLE, timeout=9),
        "POST /api/v1/applepay/session",
        {"pos_id": POS_ID, "validation_url": APPLE},
    ),
    "wallet": (
        json_reply({"cc_token": "tok"}),
        lambda c: c.wallets.tokenize(Wallet.APPLE_PAY, encode_wallet_token("{}"), timeout=9),
        "POST /api/v1/tokenization/tokenize",
        {"pos_id": POS_ID, "token": "applepay:e30="},
    ),
    "google": (
        json_reply({"cc_token": "tok"}),
        lambda c: c.wallets.tokenize(Wallet.GOOGLE_PAY, encode_wallet_token("{}"), timeout=9),
        "POST /api/v1/tokenization/tokenize",
        {"pos_id": POS_ID, "token": "gpay:e30="},
    ),
}  # fmt: skip
WITHOUT_ENDPOINTS_KEY = {"register", "register fetched", "balances", "balance", "wallet", "google"}


async def _all(listed: Any) -> list[Any]:
    return [line async for line in listed]


@pytest.mark.law(16)
@pytest.mark.parametrize("call", CALLS)
async def test_each_call_says_these_words_and_no_other(
    call: str, credentials: Credentials, http: httpx2.AsyncClient, gateway: ScriptedServer, naps: RecordedSleeps
) -> None:
    answer, ask, target, body = CALLS[call]
    gateway.will_answer(answer)
    await ask(GatewayClient(http, credentials, dialect=DIALECTS[DialectName.PUBLIC], sleep=naps))
    assert f"{gateway.last.method} {gateway.last.target}" == target
    assert (gateway.last.json if gateway.last.body else None) == body
    headers = {name.upper(): value for name, value in gateway.last.headers}
    assert headers["X-API-AUTH"] == "CPAY key-of-the-api:secret-of-the-api"
    assert headers.get("X-API-KEY") == (None if call in WITHOUT_ENDPOINTS_KEY else "key-of-endpoints")
    assert headers.get("CONTENT-TYPE") == (None if target.startswith("GET") else "application/json")


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


def test_a_record_with_an_operation_id_is_an_operation_whatever_its_method() -> None:
    record = read_record(TOLD | {"method": "purchase", "operation_id": "op1"})
    assert isinstance(record, OperationRecord)


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


def test_the_names_of_requests_are_all_here() -> None:
    """A field that is added is added here."""
    said = exact_json.dumps([body for _, _, _, body in CALLS.values()])
    models = (HostedPayment, DirectPayment, Payout, Capture, Void, Refund, SplitRefund, SubscriptionRefund, Recipient)
    for model in (*models, SplitItem, Attribute, Product, FiscalProduct, Taxes, RecurringPlan, RegisterRequest):
        for name, field in model.model_fields.items():
            assert f'"{field.alias or name}":' in said, f"{model.__name__}.{name}"
