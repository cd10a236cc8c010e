"""Payloads of what is bought: prices, lines, channel (see ``payload``)."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from saleor_app_sdk.testing.ids import channel_id, global_id
from saleor_app_sdk.testing.money import ZERO, json_amount, quantize_price
from saleor_app_sdk.testing.records import Basket, Line

Payload = dict[str, Any]


def metadata(pairs: Mapping[str, str]) -> list[Payload]:
    """Return the items of public or private metadata."""
    return [{"key": key, "value": value} for key, value in pairs.items()]


def money(amount: Decimal, currency: str) -> Payload:
    """Return a Money."""
    return {"__typename": "Money", "amount": json_amount(amount, currency), "currency": currency}


def taxed_money(gross: Decimal, currency: str, tax_rate: Decimal = ZERO) -> Payload:
    """Return a TaxedMoney."""
    net = quantize_price(gross / (1 + tax_rate), currency)
    return {
        "currency": currency,
        "gross": money(gross, currency),
        "net": money(net, currency),
        "tax": money(gross - net, currency),
    }


def common(basket: Basket) -> Payload:
    """Return the fields that a Checkout and an Order share."""
    return {
        "channel": channel(basket.channel_slug, basket.currency, basket.channel_id),
        "user": basket.user,
        "billingAddress": {"__typename": "Address", **basket.address},
        "shippingAddress": {"__typename": "Address", **basket.address},
        "shippingPrice": taxed_money(basket.shipping_price, basket.currency),
        "metadata": metadata(basket.metadata),
        "privateMetadata": [],
        "discount": money(ZERO, basket.currency),
        "giftCards": [],
    }


def channel(slug: str, currency: str, known_as: str | None = None) -> Payload:
    """Return a Channel."""
    return {
        "__typename": "Channel",
        "id": known_as or channel_id(slug),
        "slug": slug,
        "name": slug.upper(),
        "currencyCode": currency,
    }


def checkout_line(line: Line, currency: str) -> Payload:
    """Return a CheckoutLine."""
    return {
        "__typename": "CheckoutLine",
        "id": global_id("CheckoutLine", line.key),
        "quantity": line.quantity,
        "unitPrice": taxed_money(line.unit_price, currency, line.tax_rate),
        "totalPrice": taxed_money(line.total, currency, line.tax_rate),
        "undiscountedTotalPrice": money(line.before_discounts, currency),
        "variant": _variant(line),
        "metadata": [],
        "privateMetadata": [],
    }


def order_line(line: Line, currency: str) -> Payload:
    """Return an OrderLine."""
    return {
        "__typename": "OrderLine",
        "id": global_id("OrderLine", line.key),
        "quantity": line.quantity,
        "productName": line.product_name,
        "variantName": line.variant_name,
        "productSku": line.sku,
        "productVariantId": _variant(line)["id"],
        "taxRate": float(line.tax_rate),
        "unitPrice": taxed_money(line.unit_price, currency, line.tax_rate),
        "totalPrice": taxed_money(line.total, currency, line.tax_rate),
        "undiscountedTotalPrice": taxed_money(line.before_discounts, currency),
        "variant": _variant(line),
        "metadata": [],
        "privateMetadata": [],
    }


def _variant(line: Line) -> Payload:
    product_type = {"name": "Drinks", "metadata": metadata(line.product_type_metadata), "privateMetadata": []}
    product = {
        "__typename": "Product",
        "id": global_id("Product", line.product_name),
        "name": line.product_name,
        "productType": {"__typename": "ProductType", "id": global_id("ProductType", 1), **product_type},
        "metadata": metadata(line.product_metadata),
        "privateMetadata": [],
    }
    return {
        "__typename": "ProductVariant",
        "id": global_id("ProductVariant", line.sku or line.key),
        "sku": line.sku,
        "name": line.variant_name,
        "product": product,
        "metadata": metadata(line.variant_metadata),
        "privateMetadata": [],
    }
