"""Which request a requested action is about, and what events say when Saleor says little."""

from decimal import Decimal
from typing import Any

import pytest

from integration_base.exact_json import loads
from saleor_app_sdk.events import (
    GrantedRefundLine,
    OrderLine,
    TransactionInitializeSession,
    TransactionRefundRequested,
)
from saleor_app_sdk.source import Checkout, Line, Order
from saleor_app_sdk_tests.fake_saleor import initialize_body, refund_body


def entry(number: int, **changed: Any) -> dict[str, Any]:
    usual = {
        "id": str(number),
        "type": "REFUND_REQUEST",
        "pspReference": "",
        "amount": {"amount": 1, "currency": "UAH"},
        "idempotencyKey": f"key-{number}",
        "createdAt": f"2026-11-21T12:00:0{number}+00:00",
    }
    return usual | changed


def refund(*entries: dict[str, Any]) -> TransactionRefundRequested:
    said = refund_body()
    said["transaction"]["events"] = list(entries)
    return TransactionRefundRequested.model_validate(said)


def test_it_is_about_the_newest_request_wherever_it_stands() -> None:
    assert refund(entry(3), entry(1)).request_key == "key-3"
    assert refund(entry(1), entry(3)).request_key == "key-3"


def test_a_request_that_has_its_reference_is_answered_already() -> None:
    assert refund(entry(3, pspReference="refund-1"), entry(1)).request_key == "key-1"


def test_a_request_of_another_kind_is_another_request() -> None:
    assert refund(entry(3, type="CHARGE_REQUEST"), entry(2, type=None), entry(1)).request_key == "key-1"


def test_there_may_be_none_to_be_found() -> None:
    assert refund().request_events == ()
    assert refund().request_key is None
    assert refund(entry(1, idempotencyKey=None)).request_key is None


def test_nulls_where_saleors_schema_allows_them() -> None:
    said = initialize_body(customerIpAddress=None, data=None, version=None)
    said["recipient"]["identifier"] = None
    said["sourceObject"] |= {
        "email": None,
        "user": None,
        "billingAddress": None,
        "shippingAddress": {"firstName": "Леся", "phone": None, "country": None},
        "lines": [],
    }
    event = TransactionInitializeSession.model_validate(said)
    assert event.source.email == ""
    assert event.source.first_name == "Леся"
    assert event.source.phone == ""
    assert event.source.total is None


@pytest.mark.parametrize(
    ("passed", "read"),
    [
        ('{"customer": {"phone": "+380501234567"}}', {"customer": {"phone": "+380501234567"}}),
        (' \n{"share": 0.10}', {"share": Decimal("0.10")}),
        ('{"language": "uk"', '{"language": "uk"'),
        ('{"share": NaN}', '{"share": NaN}'),
        ("{" * 100_000, "{" * 100_000),
        ('["uk"]', '["uk"]'),
        ("uk", "uk"),
        ("5", "5"),
        (None, None),
    ],
)  # fmt: skip
def test_data_that_a_storefront_has_written_as_json_is_read(passed: Any, read: Any) -> None:
    assert TransactionInitializeSession.model_validate(initialize_body(data=passed)).data == read


def test_an_order_names_some_things_differently() -> None:
    said = initialize_body()
    said["sourceObject"] = {
        "__typename": "Order",
        "id": "T3JkZXI6MQ==",
        "number": "23",
        "channel": {"slug": "uah"},
        "userEmail": "lesia@example.com",
        "languageCodeEnum": "UK_UA",
        "user": {"id": "VXNlcjox"},
        "total": {"gross": {"amount": 1, "currency": "UAH"}},
    }
    source = TransactionInitializeSession.model_validate(said).source
    assert isinstance(source, Order)
    assert (source.number, source.email, source.language_code) == ("23", "lesia@example.com", "UK_UA")
    assert source.user_id == "VXNlcjox"


def test_a_checkout_without_its_typename_is_known_by_having_no_number() -> None:
    said = initialize_body()
    del said["sourceObject"]["__typename"]
    assert isinstance(TransactionInitializeSession.model_validate(said).source, Checkout)


@pytest.mark.parametrize("amount", [-1, "NaN", "Infinity", "1e12", None])
def test_amounts_that_no_shop_asks_for(amount: object) -> None:
    said = initialize_body(action={"actionType": "CHARGE", "amount": amount, "currency": "UAH"})
    with pytest.raises(ValueError, match="amount"):
        TransactionInitializeSession.model_validate(said)


def test_nothing_of_an_event_stands_in_the_message_when_it_does_not_fit() -> None:
    with pytest.raises(ValueError, match="idempotencyKey") as caught:
        TransactionInitializeSession.model_validate(initialize_body(idempotencyKey=["secret"]))
    assert "secret" not in str(caught.value)


@pytest.mark.threat("hostile-text")
@pytest.mark.parametrize("number", ["1e999999999", "1e19", "-1", "2147483648", "1.5", "9" * 4000])
def test_a_quantity_that_no_shop_asks_for_is_refused_at_once(number: str) -> None:
    """Eleven characters, of which an integer would be made for hours: all stores would wait for it."""
    quantity = loads(number, any_number=True)
    order_line = {"id": "1", "quantity": 1}
    for model, said in ((Line, {}), (OrderLine, {}), (GrantedRefundLine, {"orderLine": order_line})):
        with pytest.raises(ValueError, match="quantity"):
            model.model_validate({"id": "1", "quantity": quantity} | said)


def test_a_line_is_called_the_same_in_a_checkout_and_in_the_order_made_of_it() -> None:
    in_checkout = Line.model_validate(
        {
            "id": "Q2hlY2tvdXRMaW5lOjE=",
            "quantity": 2,
            "variant": {"id": "UHJvZHVjdFZhcmlhbnQ6Nw==", "name": "1 l", "sku": "J-1", "product": {"name": "Juice"}},
        }
    )
    in_order = Line.model_validate(
        {
            "id": "T3JkZXJMaW5lOjE=",
            "quantity": 2,
            "productName": "Juice",
            "variantName": "1 l",
            "productSku": "J-1",
            "productVariantId": "UHJvZHVjdFZhcmlhbnQ6Nw==",
        }
    )
    for line in (in_checkout, in_order):
        assert (line.name, line.sku, line.variant_id) == ("Juice (1 l)", "J-1", "UHJvZHVjdFZhcmlhbnQ6Nw==")


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ({"productName": "Juice", "variantName": "Juice"}, "Juice"),
        ({"productName": "Juice", "variantName": None}, "Juice"),
        ({"productName": None, "variantName": "1 l"}, "1 l"),
        ({}, "1"),
    ],
)
def test_a_line_is_called_what_is_known_of_it(said: dict[str, str | None], name: str) -> None:
    assert Line.model_validate({"id": "1", "quantity": 1, **said}).name == name
