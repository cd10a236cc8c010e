"""The limits of the interface: named, with what was given, before anything is sent."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_client.errors import InvalidRequestError
from gateway_client.models import (
    Attribute,
    BrowserFingerprint,
    Capture,
    DirectPayment,
    FiscalProduct,
    HostedPayment,
    Method,
    Product,
    Recipient,
    Refund,
    Sector,
    SplitItem,
    Taxes,
    Void,
)
from gateway_client.models.base import RequestModel
from gateway_client_tests.examples import BROWSER, CARD, SHOP, direct, hosted, payout
from gateway_client_tests.strategies import amounts
from integration_base import exact_json

ASKED: dict[str, Any] = {"order_id": "order1", "order_currency": "UAH"}
PAIR = Attribute(key="order", value='Замовлення № 5 "п\'яте"')


@pytest.mark.parametrize(
    ("changes", "field", "limit"),
    [
        ({"amount": Decimal(0)}, "amount", "above zero"),
        ({"amount": Decimal(-1)}, "amount", "above zero"),
        ({"amount": Decimal("0.001")}, "amount", "at most 2 decimals"),
        ({"amount": 10.5}, "amount", "not a float"),
        ({"amount": True}, "amount", "not a float or a boolean"),
        ({"amount": "ten"}, "amount", "a decimal number"),
        ({"amount": Decimal("NaN")}, "amount", "15 digits"),
        ({"amount": Decimal("1e15")}, "amount", "15 digits"),
        ({"amount": None}, "amount", "a decimal number"),
        ({"pos_id": "shop"}, "pos_id", "a UUID"),
        ({"currency": "₴"}, "currency", "an ISO 4217 code"),
        ({"currency": "HRYVNIA"}, "currency", "an ISO 4217 code"),
        ({"order_id": "x" * 33}, "order_id", "at most 32 characters"),
        ({"order_id": ""}, "order_id", "at least 1 characters"),
        ({"order_id": " 1"}, "order_id", "space around"),
        ({"order_id": "1\n2"}, "order_id", "control characters"),
        ({"order_id": ".."}, "order_id", "1 to 32 characters"),
        ({"order_id": "."}, "order_id", "1 to 32 characters"),
        ({"description": "x" * 2049}, "description", "at most 2048 characters"),
        ({"payload": "x" * 4001}, "payload", "at most 4000 characters"),
        ({"customer_country": "UKR"}, "customer_country", "an ISO 3166-1 alpha-2 code"),
        ({"customer_birthday": "17.05.1990"}, "customer_birthday", "date"),
        ({"customer_email": ""}, "customer_email", "at least 1 characters"),
        ({"customer_phone": None}, "customer_phone", "must be text"),
        ({"server_url": "shop.example/hook"}, "server_url", "absolute http(s) address"),
        ({"server_url": "ftp://shop.example/hook"}, "server_url", "absolute http(s) address"),
        ({"result_url": "https://"}, "result_url", "absolute http(s) address"),
        ({"result_url": "https://shop.example\\back"}, "result_url", "absolute http(s) address"),
        ({"result_url": "https://shop.example/\nback"}, "result_url", "absolute http(s) address"),
        ({"result_url": "https://shop.example:99999/"}, "result_url", "absolute http(s) address"),
        ({"result_url": "https://shop.example:0/"}, "result_url", "absolute http(s) address"),
        ({"result_url": "https://a.example,b.example/"}, "result_url", "absolute http(s) address"),
        ({"result_url": "https://shop..example/"}, "result_url", "absolute http(s) address"),
        ({"merchant_mcc": "53"}, "merchant_mcc", "four digits"),
        ({"f_receipt_delivery": "pigeon"}, "f_receipt_delivery", "email"),
        ({"customer_lang": "ukr"}, "customer_lang", "two letters"),
        ({"order_timeout": 0}, "order_timeout", "must be at least 1"),
        ({"method": "credit"}, "method", "purchase"),
        ({"mode": "direct"}, "mode", "hosted"),
        ({"attributes": [PAIR] * 21}, "attributes", "at most 20"),
        ({"split": []}, "split", "at least 1"),
        ({"split": [{"amount": 1, "sub_merchant_id": SHOP}]}, "split", "sums to the amount 100.00"),
        ({"split": [{"amount": 100, "sub_merchant_id": "shop"}]}, "split.0.sub_merchant_id", "a UUID"),
        ({"cc_number": "4242424242424242"}, "cc_number", "is no field of this request"),
        ({"customer_ip": "192.0.2.7"}, "customer_ip", "is no field of this request"),
    ],
)
def test_a_hosted_payment_keeps_the_limits(changes: dict[str, Any], field: str, limit: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        hosted(**changes)
    assert caught.value.field == field
    assert limit in caught.value.limit
    assert "4242" not in str(caught.value)


@pytest.mark.parametrize("name", ["order_id", "amount", "currency", "description", "customer_email", "customer_phone"])
def test_what_a_hosted_payment_cannot_do_without(name: str) -> None:
    members = hosted().to_wire()
    del members[name]
    with pytest.raises(InvalidRequestError) as caught:
        HostedPayment.model_validate(members)
    assert (caught.value.field, caught.value.limit, caught.value.given) == (name, "is required", "nothing")


def test_what_sits_exactly_on_a_limit_is_allowed() -> None:
    payment = hosted(
        amount=Decimal("0.01"),
        order_id="x" * 32,
        description="x" * 2048,
        payload="x" * 4000,
        attributes=[Attribute(key="k" * 45, value="v" * 250)] * 20,
        customer_lang="ZH_HA",
        customer_birthday=date(1990, 5, 17),
        order_timeout=1,
    )
    assert payment.to_wire()["customer_birthday"] == "1990-05-17"
    Void(**ASKED, comment="x" * 2048)


@pytest.mark.parametrize(
    ("model", "changes", "field"),
    [
        (Void, {"comment": "x" * 2049}, "comment"),
        (Void, {"order_id": "x" * 33}, "order_id"),
        (Void, {"order_currency": ""}, "order_currency"),
        (Void, {"server_url": "hook"}, "server_url"),
        (Capture, {"charge_amount": Decimal("1.001")}, "charge_amount"),
        (Capture, {"charge_amount": Decimal(0)}, "charge_amount"),
        (Refund, {"refund_amount": Decimal("-0.01")}, "refund_amount"),
        (Refund, {"refund_amount": 0.3}, "refund_amount"),
        (Refund, {"f_receipt_delivery": "fax"}, "f_receipt_delivery"),
        (Refund, {"currency": "UAH"}, "currency"),
    ],
)
def test_secondary_operations_keep_the_limits(model: type[RequestModel], changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        model.model_validate(ASKED | changes)
    assert caught.value.field == field


@given(amounts)
def test_amounts_are_sent_as_given_and_zeros_beyond_the_cent_do_not_count(amount: Decimal) -> None:
    assert str(hosted(amount=amount).to_wire()["amount"]) == str(amount)
    longer = amount.quantize(Decimal("0.00001"))
    assert str(hosted(amount=longer).amount) == str(amount)
    assert hosted(amount=str(amount)).amount == amount


def test_people_and_long_texts_are_not_quoted() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        hosted(customer_country="Olena Kovalenko, Lviv")
    assert caught.value.given == "a text of 21 characters"
    with pytest.raises(InvalidRequestError) as caught:
        hosted(comment="secret")
    assert "is no field" in caught.value.limit
    with pytest.raises(InvalidRequestError) as caught:
        hosted(payload="x" * 4001)
    assert caught.value.given == "a text of 4001 characters"


def test_what_is_wrong_deep_inside_is_named() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        hosted(attributes="not a list")
    assert caught.value.field == "attributes"
    with pytest.raises(InvalidRequestError) as caught:
        hosted(products=[{"id": "1", "name": "x", "amount": "1", "qty": 0}])
    assert caught.value.field == "products.0.qty"


def test_all_that_is_wrong_is_told_at_once_each_with_its_rule() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        DirectPayment.model_validate(
            {
                "order_id": "order1",
                "amount": 10.5,
                "currency": "hryvnia",
                "customer_email": "olena@example.com",
                "customer_phone": "+380501234567",
                "customer_fname": "Olena",
                "cc_number": "4242424242424242",
                "exp_month": 13,
                "attributes": [
                    {"key": "k" * 46, "value": "v"},
                    {"key": "k", "value": "v"},
                    {"value": "4242424242424242"},
                ],
                "split": [{"amount": "1.001", "sub_merchant_id": SHOP}],
                "browser_fingerprint": dict.fromkeys(list(BROWSER.to_wire())[:-1], "1"),
            }
        )
    told = {rule.field: rule.limit for rule in caught.value.broken}
    assert told == {
        "amount": 'an exact number, not a float or a boolean: Decimal("10.50"), "10.50" or 10',
        "currency": "an ISO 4217 code: three letters, like UAH",
        "description": "is required",
        "attributes.0.key": "at most 45 characters",
        "attributes.2.key": "is required",
        "attributes.2.value": "no card numbers in attributes",
        "split.0.amount": "at most 2 decimals",
        "customer_lname": "is required",
        "customer_ip": "is required",
        "browser_fingerprint.browserUserAgent": "is required",
        "exp_month": "must be at most 12",
        "exp_year": "card fields go together",
        "card_cvv": "card fields go together",
    }
    assert len(caught.value.broken) == len(told)
    assert (caught.value.field, caught.value.given, caught.value.order_id) == ("amount", "10.5", "order1")
    words = f"{caught.value!r} {caught.value.broken!r}"
    assert all(f"{field}: {limit}; given: " in words for field, limit in told.items())
    assert "4242" not in words


def test_of_a_split_that_does_not_sum_the_rest_is_told_first() -> None:
    shares = [{"amount": 1, "sub_merchant_id": SHOP}]
    with pytest.raises(InvalidRequestError) as caught:
        Capture.model_validate(ASKED | {"split": shares, "comment": "x" * 2049})
    assert [rule.field for rule in caught.value.broken] == ["comment", "charge_amount"]
    with pytest.raises(InvalidRequestError, match="sums to the amount"):
        Capture.model_validate(ASKED | {"split": shares, "charge_amount": 2})


def test_a_request_that_was_made_already_is_taken_as_it_is() -> None:
    paid = direct(**CARD)
    assert DirectPayment.model_validate(paid) is paid


def test_all_that_a_sector_asks_for_is_told_at_once() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        hosted().check_sector(Sector.MICROFINANCE)
    assert [rule.field for rule in caught.value.broken] == ["customer_fname", "customer_lname", "customer_birthday"]


def test_a_quote_inside_an_attribute_is_escaped_by_json() -> None:
    written = exact_json.dumps(hosted(attributes=[PAIR]).to_wire())
    assert '\\"' in written
    assert exact_json.loads(written)["attributes"] == [{"key": "order", "value": PAIR.value}]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("", "v"),
        ("k" * 46, "v"),
        ("k", "v" * 251),
        ("k", "名前"),
        ("ключ Ω", "v"),
        ("card", "4242424242424242"),
        ("k", "card 5454 5454 5454 5454!"),
        ("k", "4242-4242-4242-4242"),
    ],
)
def test_attributes_keep_the_limits(key: str, value: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        Attribute(key=key, value=value)
    assert "4242" not in str(caught.value)
    assert "5454" not in str(caught.value)
    fitted = Attribute.fitting(key, value)
    assert len(fitted.key) <= 45
    assert len(fitted.value) <= 250


def test_numbers_that_are_no_cards_may_stand_in_attributes() -> None:
    for value in ("4242424242424243", "+380501234567", "2026-11-21 10:00:00", "1234567890123", "№ 5 — ґанок"):
        assert Attribute(key="k", value=value).value == value == Attribute.fitting("k", value).value


@given(st.text(), st.text())
def test_any_pair_can_be_made_to_fit(key: str, value: str) -> None:
    fitted = Attribute.fitting(key, value)
    assert Attribute(key=fitted.key, value=fitted.value) == fitted


def test_products_with_and_without_fiscalization() -> None:
    plain = Product(id="1", name="Кава", amount=Decimal("20.00"), qty=2, price_type="VAT", vat=Decimal("3.33"))
    fiscal = FiscalProduct(
        id=SHOP,
        name="Кава",
        amount=Decimal("10.00"),
        qty=Decimal("1.5"),
        unit="kg",
        taxes=Taxes(type="vat", prc=20),
        receipt_delivery="viber",
    )
    assert (plain.total, fiscal.total) == (Decimal("20.00"), Decimal("15.00"))
    payment = hosted(products=[plain, fiscal])
    sent = payment.to_wire()["products"]
    assert sent[1]["taxes"] == {"type": "vat", "prc": Decimal(20)}
    assert sent[1]["fiscalReceiptDelivery"] == "viber"
    again = HostedPayment.model_validate(exact_json.loads(exact_json.dumps(payment.to_wire())))
    assert again.products == (plain, fiscal)
    SplitItem(amount=1, sub_merchant_id=SHOP, products=[plain])
    with pytest.raises(InvalidRequestError, match="unit"):
        hosted(products=[{"id": SHOP, "name": "x", "amount": 1, "qty": 1, "taxes": {"type": "vat", "prc": 20}}])


def test_the_browsers_fingerprint_has_ten_members_all_strings() -> None:
    names = [field.alias for field in BrowserFingerprint.model_fields.values()]
    assert names == [
        "browserColorDepth", "browserScreenHeight", "browserScreenWidth", "browserJavaEnabled", "browserLanguage",
        "browserTimeZone", "browserTimeZoneOffset", "browserAcceptHeader", "browserIpAddress", "browserUserAgent",
    ]  # fmt: skip
    sent = BrowserFingerprint.model_validate(dict.fromkeys(names, 24)).to_wire()
    assert sent == dict.fromkeys(names, "24")
    with pytest.raises(InvalidRequestError, match="browserUserAgent"):
        BrowserFingerprint.model_validate(dict.fromkeys(names[:-1], "24"))


def test_a_browsers_numbers_and_booleans_are_written_as_strings() -> None:
    written = BrowserFingerprint(
        color_depth=24, screen_height=1080, screen_width=1920, java_enabled=False, language="uk",
        time_zone="Europe/Kyiv", time_zone_offset=-120, accept_header="*/*", ip_address="203.0.113.7", user_agent="x",
    ).to_wire()  # fmt: skip
    assert (written["browserJavaEnabled"], written["browserColorDepth"], written["browserTimeZoneOffset"]) == (
        "false", "24", "-120",
    )  # fmt: skip


def test_the_recipients_properties() -> None:
    assert set(Recipient.model_fields) == {
        "recipient_first_name", "recipient_middle_name", "recipient_last_name", "recipient_doc_number",
        "recipient_doc_issue_date", "recipient_doc_issued_by", "recipient_phone", "recipient_birth_date",
        "recipient_birth_place", "recipient_country", "recipient_city", "recipient_address", "recipient_postcode",
        "wallet_number", "is_operation_taxable",
    }  # fmt: skip
    with pytest.raises(InvalidRequestError, match="true"):
        Recipient(is_operation_taxable="yes")


@pytest.mark.parametrize(
    "request_", [hosted(), direct(**CARD), payout(cc_token="t")], ids=lambda one: type(one).__name__
)
def test_a_request_that_was_written_can_be_read_by_the_other_side(request_: RequestModel) -> None:
    again = type(request_).model_validate(exact_json.loads(exact_json.dumps(request_.to_wire())))
    assert again == request_


def test_methods_that_act_on_a_payment() -> None:
    assert {method.value for method in Method if method.secondary} == {"capture", "void", "refund"}
