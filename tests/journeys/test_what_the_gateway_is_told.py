"""A fiscal merchant's order: what the gateway knows of it when it is paid, and when a part of it is given back."""

import json
from decimal import Decimal
from typing import Any

from app.store.tables import ProductsForm
from gateway_client.dialect import DialectName
from integration_base_tests.waiting import eventually
from saleor_app_sdk.testing.views import GrantedLine, NewCheckout, NewLine
from saleor_app_sdk.testing.vocabulary import Flow
from tests.journeys.card_shop import allow_cards, sealed_card, typed
from tests.journeys.stack import Stack
from tests.journeys.stories import BACK, assert_books_agree, begin, order_id_of, wait_for_event

JUICE = NewLine(
    product_name="Juice", variant_name="1 l", unit_price=Decimal("40.00"), quantity=3, sku="J", tax_rate=Decimal("0.2")
)
CAKE = NewLine(
    product_name="Cake", variant_name="Cake", unit_price=Decimal("100.00"), sku="C", tax_rate=Decimal("0.07")
)
WHO = {"patronymic": "Petrivna", "birthday": "1990-05-17", "taxId": "3123456789"}
POINT = {"point": "Львів 7"}
WORTH = {"Juice (1 l)": Decimal("120.00"), "Cake": Decimal("100.00"), "Доставка": Decimal("70.00")}


def worth(products: list[dict[str, Any]]) -> dict[str, Decimal]:
    said: dict[str, Decimal] = {}
    for product in products:
        said[product["name"]] = said.get(product["name"], Decimal()) + Decimal(str(product["amount"])) * Decimal(
            str(product["qty"])
        )
    return said


async def test_an_order_is_described_when_it_is_paid_and_when_a_part_is_refunded(shop: Stack) -> None:
    chosen = {
        "products": ProductsForm.FISCAL,
        "receipt_delivery": "email",
        "description_template": "Shop, {channel}",
        "attributes": ["point={metadata.point}", "agent={metadata.agent}"],
    }
    await shop.open_account(name="Fiscal", options=chosen)
    basket = await shop.saleor.create_checkout(NewCheckout(lines=[JUICE, CAKE], language_code="UK", metadata=POINT))
    _, session = await begin(shop, checkout_id=basket.id, data=BACK | {"customer": WHO, "receiptDelivery": "sms"})
    order_id = order_id_of(session)
    await shop.gateway.pay(order_id)
    transaction = await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")

    payment = await shop.gateway.payment(order_id)
    assert payment.description == "Shop, uah"
    references = {"transaction": transaction.id, "checkout": basket.id, "channel": "uah"}
    assert payment.attributes == POINT | {f"saleor_{name}": value for name, value in references.items()}
    assert json.loads(payment.payload or "").items() >= references.items()
    assert worth(payment.products) == WORTH
    assert {Decimal(product["taxes"]["prc"]) for product in payment.products} == {20, 7, 0}
    assert {product["fiscalReceiptDelivery"] for product in payment.products} == {"sms"}

    order = (await shop.saleor.complete(basket.id)).order
    assert order is not None
    juice = next(line for line in order.lines if line.product_name == "Juice")
    granted = await shop.saleor.grant_refund(
        order.id, Decimal("80.00"), lines=[GrantedLine(line_id=juice.id, quantity=2)], transaction_id=transaction.id
    )
    assert granted.granted_refund is not None, granted.errors
    await shop.saleor.request_refund_for_granted_refund(granted.granted_refund.id)
    await shop.saleor.wait_for_background()
    await wait_for_event(shop, transaction.id, "REFUND_SUCCESS")
    await shop.saleor.refund(transaction.id, Decimal("210.00"))
    await shop.saleor.wait_for_background()
    await assert_books_agree(shop, transaction.id)

    lines, rest = (await shop.gateway.payment(order_id)).operations
    if shop.dialect is DialectName.INTERFACE:  # which has no products there
        assert (lines.products, rest.products) == ([], [])
        return
    (juices,) = lines.products
    assert juices["name"] == "Juice (1 l)"
    assert [Decimal(juices[name]) for name in ("qty", "amount")] == [Decimal(2), Decimal("40.00")]
    assert worth(rest.products) == WORTH | {"Juice (1 l)": Decimal("40.00")}


async def test_a_card_typed_into_the_storefront_is_described_as_fully(shop: Stack) -> None:
    await allow_cards(
        shop, products=ProductsForm.FISCAL, receipt_delivery="email", attributes=["point={metadata.point}"]
    )
    basket = await shop.saleor.create_checkout(NewCheckout(lines=[JUICE, CAKE], language_code="UK", metadata=POINT))

    async def is_known() -> bool:  # the app remembers the account for a moment
        return "direct" in (await shop.saleor.gateway_initialize(basket.id)).data["modes"]

    await eventually(is_known)
    who = WHO | {"referrer": "https://shop.test/cart"}
    data = await sealed_card(shop, typed(), basket.id) | {"customer": who, "receiptDelivery": "viber"}
    session = await shop.saleor.initialize(basket.id, action=Flow.CHARGE, data=data, customer_ip="203.0.113.7")
    transaction = await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    payment = await shop.gateway.payment(order_id_of(session))
    assert payment.attributes.items() >= POINT.items()
    assert worth(payment.products) == WORTH
    assert {product["fiscalReceiptDelivery"] for product in payment.products} == {"viber"}
    await assert_books_agree(shop, transaction.id)
