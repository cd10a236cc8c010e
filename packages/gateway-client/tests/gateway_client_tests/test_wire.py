"""Every name, path and word of the requests, once, as it is on the wire: what is spelt otherwise reaches nobody."""

from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from gateway_client import (
    DIALECTS,
    Attribute,
    Capture,
    Credentials,
    DialectName,
    DirectPayment,
    FiscalProduct,
    GatewayClient,
    HostedPayment,
    Method,
    Payout,
    Product,
    Recipient,
    RecurringPlan,
    Refund,
    RegisterColumn,
    RegisterRequest,
    RegisterTicket,
    SplitItem,
    SplitRefund,
    Status,
    SubscriptionRefund,
    Taxes,
    Void,
    Wallet,
    encode_wallet_token,
)
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


def test_the_names_of_requests_are_all_here() -> None:
    """A field that is added is added here."""
    said = exact_json.dumps([body for _, _, _, body in CALLS.values()])
    models = (HostedPayment, DirectPayment, Payout, Capture, Void, Refund, SplitRefund, SubscriptionRefund, Recipient)
    for model in (*models, SplitItem, Attribute, Product, FiscalProduct, Taxes, RecurringPlan, RegisterRequest):
        for name, field in model.model_fields.items():
            assert f'"{field.alias or name}":' in said, f"{model.__name__}.{name}"
