"""What a payment says of itself at the gateway, and what some merchants must say of the shopper."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.rules.references import order_id_of
from app.rules.refusal import RefusalError
from app.rules.requests.description import TemplateError, attributes_of, check_attribute, payload_of
from gateway_client.models import HostedPayment
from saleor_app_sdk.events import TransactionInitializeSession
from tests.payments.requests.test_payment import TRANSACTION, an_account, planned
from tests.payments.shop import CUSTOMER, SALEOR, session_event, source_object

PERSONAL = ("taras", "Тарас", "Шевченко", "380501234567", "1990-05-17", "3123456789")
CARD = "4111111111111111"
ORDER = source_object(__typename="Order", id="T3JkZXI6MQ==", number="21")


def asked(sourceObject: dict[str, Any] | None = None, **chosen: Any) -> HostedPayment:  # noqa: N803 - Saleor's name
    return planned(an_account(**chosen), sourceObject=sourceObject or source_object()).request


def test_a_checkout_is_found_by_saleors_names() -> None:
    request = asked()
    assert request.description == f"Payment {request.order_id}"
    assert {attribute.key: attribute.value for attribute in request.attributes or ()} == {
        "saleor_transaction": TRANSACTION,
        "saleor_checkout": "Q2hlY2tvdXQ6MQ==",
        "saleor_channel": "uah",
    }
    assert json.loads(request.payload or "") == {
        "transaction": TRANSACTION,
        "checkout": "Q2hlY2tvdXQ6MQ==",
        "channel": "uah",
        "app": "gateway.payments.app",
    }


def test_an_order_is_found_by_its_number_too() -> None:
    request = asked(ORDER)
    assert request.description == "Order 21"
    attributes = {attribute.key: attribute.value for attribute in request.attributes or ()}
    assert (attributes["saleor_order"], attributes["saleor_order_id"]) == ("21", "T3JkZXI6MQ==")
    assert json.loads(request.payload or "")["order"] == "21"


@pytest.mark.parametrize(
    ("template", "paid", "told"),
    [
        ("Замовлення {order} · {store}", ORDER, "Замовлення 21 · Main"),
        ("{order}", source_object(), order_id_of(TRANSACTION, SALEOR)),
        ("{channel}: {checkout}", source_object(), "uah: Q2hlY2tvdXQ6MQ=="),
        ("{channel}: {checkout}", ORDER, "uah:"),
        ("{checkout}", ORDER, "Order 21"),
        ("{transaction}", ORDER, TRANSACTION),
    ],
)
def test_the_stores_own_words(template: str, paid: dict[str, Any], told: str) -> None:
    assert asked(paid, description_template=template).description == told


def test_nothing_that_describes_a_payment_names_a_person() -> None:
    request = planned(
        an_account(description_template="{order} {checkout} {channel} {transaction} {store}"),
        data={"customer": CUSTOMER | {"birthday": "1990-05-17", "taxId": "3123456789"}},
    ).request
    attributes = [(attribute.key, attribute.value) for attribute in request.attributes or ()]
    words = f"{request.description} {request.payload} {attributes}"
    assert not [person for person in PERSONAL if person in words]


def own_attributes(own: list[str], paid: dict[str, Any]) -> dict[str, str]:
    return {attribute.key: attribute.value for attribute in asked(paid, attributes=own).attributes or ()}


def test_a_store_searches_for_attributes_of_its_own() -> None:
    """Gateway interface, Payment attributes: from the order, its channel and its metadata."""
    paid = ORDER | {"metadata": [{"key": "delivery.point", "value": "Львів 7"}, {"key": "card", "value": CARD}]}
    own = [
        "delivery = {metadata.delivery.point}",
        "where={channel}/{order} {store}",
        "saleor_channel=the store's own word",
        "agent={metadata.agent}",
        "typed={metadata.card}",
    ]
    assert own_attributes(own, paid) == {
        "delivery": "Львів 7",
        "where": "uah/21 Main",
        "saleor_channel": "the store's own word",
        "typed": "(number)",  # whatever a shopper wrote there
        "saleor_transaction": TRANSACTION,
        "saleor_order": "21",
        "saleor_order_id": "T3JkZXI6MQ==",
    }


def test_the_stores_attributes_come_before_ours_where_there_is_no_room() -> None:
    found = own_attributes([f"own {number}={{order}}" for number in range(19)], ORDER)
    assert len(found) == 20
    assert [key for key in found if not key.startswith("own")] == ["saleor_transaction"]


@given(key=st.text(min_size=1, max_size=60), value=st.text(max_size=400), line=st.text(max_size=80))
def test_no_metadata_and_no_attribute_of_the_stores_stops_a_payment(key: str, value: str, line: str) -> None:
    own = ["chosen={metadata.chosen}", "x={metadata." + key.replace("{", "").replace("}", "") + "}"]
    if is_attribute(line):
        own.append(line)
    paid = ORDER | {"metadata": [{"key": key, "value": value}, {"key": "chosen", "value": value}]}
    event = TransactionInitializeSession.model_validate(session_event(TRANSACTION, sourceObject=paid))
    for attribute in attributes_of(event, own, "A1", "Main"):
        assert 1 <= len(attribute.key) <= 45
        assert len(attribute.value) <= 250


def is_attribute(line: str) -> bool:
    try:
        check_attribute(line)
    except TemplateError:
        return False
    return True


@given(names=st.fixed_dictionaries({"slug": st.text(max_size=300), "number": st.text(max_size=300)}))
def test_the_payload_always_fits(names: dict[str, str]) -> None:
    paid = ORDER | {"number": names["number"], "channel": {"slug": names["slug"], "currencyCode": "UAH"}}
    event = TransactionInitializeSession.model_validate(session_event(TRANSACTION, sourceObject=paid))
    payload = payload_of(event)
    assert len(payload) <= 4000
    assert json.loads(payload)["transaction"] == TRANSACTION


def test_the_accounts_category_and_receipts_are_told() -> None:
    request = asked(merchant_mcc="5411", receipt_delivery="viber", order_3ds_bypass="never")
    assert (request.merchant_mcc, request.f_receipt_delivery, request.order_3ds_bypass) == ("5411", "viber", "never")


@pytest.mark.parametrize(
    ("stated", "told"), [("viber", "viber"), (" SMS ", "sms"), ("none", "none"), ("pigeon", "email"), (7, "email")]
)
def test_a_storefront_says_how_this_shopper_gets_the_receipt(stated: object, told: str) -> None:
    """What cannot be read counts as not given: the account's way is taken."""
    account = an_account(receipt_delivery="email", validation_url="https://shop.example.com/check")
    request = planned(account, data={"receiptDelivery": stated}).request
    assert request.f_receipt_delivery == told
    assert request.validation_url == "https://shop.example.com/check"


NAMELESS = source_object(billingAddress={"phone": "+380501234567"})


@pytest.mark.parametrize(
    ("sector", "said", "code", "field"),
    [
        ("gambling", {"sourceObject": NAMELESS}, "MISSING_NAME", "data.customer.firstName"),
        ("gambling", {"sourceObject": NAMELESS, "data": {"customer": {"firstName": "Тарас"}}}, "MISSING_NAME",
         "data.customer.lastName"),
        ("microfinance", {}, "MISSING_BIRTHDAY", "data.customer.birthday"),
        ("microfinance", {"amount": "30000.01"}, "MISSING_TAX_ID", "data.customer.taxId"),
        ("microfinance", {"amount": "30000.01", "data": {"customer": {"birthday": "1990-05-17"}}}, "MISSING_TAX_ID",
         "data.customer.taxId"),
    ],
)  # fmt: skip
def test_what_the_merchants_sector_asks_for_is_missing(
    sector: str, said: dict[str, Any], code: str, field: str
) -> None:
    """Refused before the gateway is asked, also where the account wants no names."""
    with pytest.raises(RefusalError) as refused:
        planned(an_account(sector=sector, names_required=False), **said)
    assert (refused.value.code, refused.value.field) == (code, field)
    assert f"`{field}`" in refused.value.message
    assert ("` or `" in refused.value.message) is (code == "MISSING_BIRTHDAY")  # a tax id would do as well


@pytest.mark.parametrize(
    ("sector", "said"),
    [
        ("general", {"amount": "30000.01"}),
        ("gambling", {"amount": "30000.01"}),
        ("microfinance", {"amount": "30000.00", "data": {"customer": {"birthday": "1990-05-17"}}}),
        ("microfinance", {"amount": "30000.00", "data": {"customer": {"taxId": "3123456789"}}}),
        ("microfinance", {"amount": "99999.00", "data": {"customer": {"taxId": "3123456789"}}}),
        ("microfinance", {"amount": "99999.00", "currency": "EUR", "data": {"customer": {"birthday": "1990-05-17"}}}),
    ],
)
def test_what_satisfies_the_sector(sector: str, said: dict[str, Any]) -> None:
    """30 000 UAH is the limit of microfinance merchants only (gateway interface, Limits)."""
    amount = planned(an_account(sector=sector, currencies=["UAH", "EUR"]), **said).request.amount
    assert amount == Decimal(said["amount"])
