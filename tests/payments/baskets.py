"""Baskets as Saleor tells them, and what is told of them to the gateway."""

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from app.rules.split.products import products_of
from app.store.tables import ProductsForm
from gateway_client.models import FiscalProduct, Product
from saleor_app_sdk.source import Checkout, Order
from tests.payments.requests.test_payment import an_account
from tests.payments.shop import source_object

money = st.decimals(min_value="0.01", max_value="9999.99", places=2)


def taxed(gross: object, tax: object = 0) -> dict[str, Any]:
    return {
        "gross": {"amount": Decimal(str(gross)), "currency": "UAH"},
        "tax": {"amount": Decimal(str(tax)), "currency": "UAH"},
    }


def line(number: int, total: object, quantity: int = 1, *, tax: object = 0, name: str = "Juice") -> dict[str, Any]:
    return {
        "id": f"line-{number}",
        "quantity": quantity,
        "totalPrice": taxed(total, tax),
        "variant": {"id": f"variant-{number}", "name": name, "sku": f"SKU-{number}", "product": {"name": name}},
    }


def checkout(*lines: dict[str, Any], shipping: object = 0, total: object = None) -> Checkout:
    worth = sum((line["totalPrice"]["gross"]["amount"] for line in lines), Decimal(str(shipping)))
    members = {
        "lines": lines,
        "shippingPrice": taxed(shipping),
        "totalPrice": taxed(worth if total is None else total),
    }
    return Checkout.model_validate(source_object(**members))


def fiscal(paid: Checkout | Order, amount: Decimal, receipt_delivery: str | None = None) -> list[FiscalProduct]:
    told = products_of(
        an_account(products=ProductsForm.FISCAL), paid, amount, "UAH", "uk", receipt_delivery=receipt_delivery
    )
    assert told is not None
    return [product for product in told if isinstance(product, FiscalProduct)]


def plain(paid: Checkout | Order, amount: Decimal) -> list[Product] | None:
    told = products_of(an_account(products=ProductsForm.PLAIN), paid, amount, "UAH", "en", receipt_delivery=None)
    return None if told is None else [product for product in told if isinstance(product, Product)]


lines = st.lists(st.tuples(money, st.integers(1, 12)), min_size=1, max_size=6).map(
    lambda parts: [line(number, total, quantity) for number, (total, quantity) in enumerate(parts)]
)
