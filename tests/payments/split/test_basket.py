"""What Saleor says of checkouts, orders and granted refunds, read as what is divided."""

import json
from decimal import Decimal
from typing import Any

import pytest

from app.rules.refusal import RefusalError
from app.rules.split.allocation import Basket, Line, allocate
from app.rules.split.products import basket_of, granted_lines
from app.rules.split.remainder import granted_worth
from saleor_app_sdk.events import GrantedRefund
from saleor_app_sdk.source import Checkout, Order
from saleor_app_sdk_tests.recordings import webhooks
from tests.payments.split.people import POTTER, SMITH, WEAVER, rules


def taxed(amount: str) -> dict[str, Any]:
    return {"gross": {"amount": Decimal(amount), "currency": "UAH"}}


def variant(*, own: str = "", product: str = "", kind: str = "") -> dict[str, Any]:
    def metadata(who: str) -> list[dict[str, str]]:
        return [{"key": "colour", "value": "blue"}] + ([{"key": "sub_merchant_id", "value": who}] if who else [])

    return {
        "id": "UHJvZHVjdFZhcmlhbnQ6MQ==",
        "name": "Blue",
        "metadata": metadata(own),
        "product": {"name": "Mugs", "metadata": metadata(product), "productType": {"metadata": metadata(kind)}},
    }


def checkout(**different: Any) -> Checkout:
    line = {"id": "l", "quantity": 2, "totalPrice": taxed("240.00"), "variant": variant(own=POTTER)}
    before = {"undiscountedTotalPrice": {"amount": Decimal("300.00"), "currency": "UAH"}}
    return Checkout.model_validate(
        {
            "__typename": "Checkout",
            "id": "c",
            "channel": {"slug": "uah"},
            "totalPrice": taxed("290.00"),
            "shippingPrice": taxed("70.00"),
            "lines": [line | before],
        }
        | different
    )


def test_a_checkout_of_which_a_gift_card_pays_a_part() -> None:
    mugs = Line("Mugs (Blue)", Decimal("240.00"), POTTER, Decimal("300.00"))
    assert basket_of(checkout(), "sub_merchant_id") == Basket(
        [mugs], total=Decimal("290.00"), shipping=Decimal("70.00"), gift_cards=Decimal("20.00")
    )


def test_an_order_has_names_of_its_own_for_some_things() -> None:
    line = {
        "id": "l",
        "quantity": 1,
        "productName": "Old mugs",
        "variantName": "Blue",
        "totalPrice": taxed("240.00"),
        "orderedBeforeDiscounts": taxed("250.00"),
        "orderedVariant": variant(product=SMITH),
    }
    order = Order.model_validate({"id": "o", "channel": {"slug": "uah"}, "lines": [line], "total": taxed("240.00")})
    (mugs,) = basket_of(order, "sub_merchant_id").lines
    assert mugs == Line("Old mugs (Blue)", Decimal("240.00"), SMITH, Decimal("250.00"))


@pytest.mark.parametrize(
    ("said", "who"),
    [
        ({"own": POTTER, "product": SMITH, "kind": WEAVER}, POTTER),
        ({"product": SMITH, "kind": WEAVER}, SMITH),
        ({"kind": WEAVER}, WEAVER),
        ({"own": "  ", "kind": f" {WEAVER}\n"}, WEAVER),
        ({}, None),
    ],
)
def test_the_variant_speaks_first_then_the_product_then_its_type(said: dict[str, str], who: str | None) -> None:
    line = {"id": "l", "quantity": 1, "totalPrice": taxed("1.00"), "variant": variant(**said)}
    (found,) = basket_of(checkout(lines=[line]), "sub_merchant_id").lines
    assert found.sub_merchant == who


def test_the_store_chooses_the_name_of_the_metadata() -> None:
    (line,) = basket_of(checkout(), "colour").lines
    assert line.sub_merchant == "blue"


def test_a_saleor_that_tells_no_more_than_it_must() -> None:
    bare = checkout(
        lines=[{"id": "l", "quantity": 1, "totalPrice": taxed("5.00")}], totalPrice=None, shippingPrice=None
    )
    line = Line("l", Decimal("5.00"), has_metadata=False)
    assert basket_of(bare, "sub_merchant_id") == Basket([line], total=Decimal("5.00"))
    with pytest.raises(RefusalError, match="Saleor does not report the product of “l”"):
        allocate(rules(), basket_of(bare, "sub_merchant_id"), Decimal("5.00"), "UAH")
    by_percent = rules(mode="percentages", percentages={POTTER: 100})
    assert allocate(by_percent, basket_of(bare, ""), Decimal("5.00"), "UAH") == {POTTER: Decimal("5.00")}


def granted(**line: Any) -> GrantedRefund:
    full = {
        "id": "l",
        "quantity": 3,
        "productName": "Mugs",
        "totalPrice": taxed("240.00"),
        "variant": variant(own=POTTER),
    }
    return GrantedRefund.model_validate(
        {
            "id": "g",
            "lines": [{"id": "r", "quantity": 1, "orderLine": full | line}],
            "amount": {"amount": 80, "currency": "UAH"},
        }
    )


def test_one_of_three_is_refunded() -> None:
    (found,) = granted_lines(granted(), "sub_merchant_id")
    assert (found.pieces, found.line_pieces, found.line.sub_merchant, found.line.total) == (
        1,
        3,
        POTTER,
        Decimal("240.00"),
    )


def test_of_a_deleted_product_nobody_knows_whose_it_was() -> None:
    lines = granted_lines(granted(variant=None), "sub_merchant_id")
    assert granted_worth(rules(), lines, shipping=Decimal("0.00")) == {}


def test_what_a_real_saleor_sent() -> None:
    """It was asked for less then: the prices are there, and of the products of an order it told nothing."""
    bodies = {webhook.event: json.loads(webhook.body, parse_float=Decimal) for webhook in webhooks() if webhook.body}
    source = bodies["transaction_initialize_session"]["sourceObject"]
    paid = (Order if "number" in source else Checkout).model_validate(source)
    basket = basket_of(paid, "sub_merchant_id")
    assert (basket.total, basket.shipping, basket.gift_cards) == (Decimal("569.5"), Decimal("70.0"), Decimal(0))
    refunds = [
        json.loads(webhook.body, parse_float=Decimal) for webhook in webhooks() if b'"grantedRefund": {' in webhook.body
    ]
    assert refunds
    for refund in refunds:
        lines = granted_lines(GrantedRefund.model_validate(refund["grantedRefund"]), "sub_merchant_id")
        assert granted_worth(rules(), lines, shipping=Decimal("0.00")) == {}
