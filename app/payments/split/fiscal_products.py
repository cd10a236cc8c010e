"""What a fiscal merchant says again with captures and refunds: which products they are for (gateway facts, 5). Pure.

It goes by what the payment's creation told, as recorded, whatever the account is set to since. All of it: the same
products. A part: of a granted refund its lines, else everything in proportion to what is left of it. Nothing is ever
given back of a product beyond what was paid for it. The result is recorded with the operation before it is sent.

What is done to a split payment tells them inside its shares, where they sum to them (``planning``).
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any

from app.db.aggregates import PaymentAggregate
from app.db.tables import Kind, Operation, State
from app.gateway.models import FiscalProduct
from app.payments.core.balance import ZERO, balance
from app.payments.split.allocation import IndivisibleError, distribute
from app.payments.split.products import DELIVERY, article_of
from app.payments.split.remainder import Remainder, given_back
from app.saleor.events import GrantedRefund

# Products of one article and one tax rate, by both: Saleor may sell the same thing at different prices.
Goods = dict[str, tuple[FiscalProduct, ...]]


def said_again(
    aggregate: PaymentAggregate, kind: Kind, amount: Decimal, granted: GrantedRefund | None = None
) -> dict[str, Any]:
    """Return what a capture or refund of ``amount`` says beside its amount, as members of ``Operation.request``."""
    if kind not in {Kind.CAPTURE, Kind.REFUND}:
        return {}
    said: dict[str, Any] = {}
    if products := _products(aggregate, kind, amount, granted):
        said["products"] = [each.model_dump(mode="json", exclude_none=True) for each in products]
    receipt = aggregate.create.request.get("f_receipt_delivery")
    if receipt is not None and kind is Kind.REFUND:
        said["f_receipt_delivery"] = receipt
    return said


def goods_in(request: Mapping[str, Any]) -> Goods:
    """Return the fiscal products that a recorded request tells; none if it tells none, or those of the plain form."""
    goods: Goods = {}
    inside = [told for item in request.get("split") or () for told in item.get("products") or ()]
    for told in request.get("products") or inside:
        if "taxes" in told:
            product = FiscalProduct.model_validate(told)
            key = f"{product.id}/{product.taxes.prc}"
            goods[key] = (*goods.get(key, ()), product)
    return goods


def _products(
    aggregate: PaymentAggregate, kind: Kind, amount: Decimal, granted: GrantedRefund | None
) -> list[FiscalProduct]:
    sold = goods_in(aggregate.create.request)
    if not sold:
        return []
    worth = _totals(sold)
    shares = distribute(amount, worth)
    if kind is Kind.REFUND:
        # Otherwise the gateway took more than was asked for, so there is more to give back than was sold.
        with suppress(IndivisibleError):
            lines = _granted_worth(granted, sold)
            shares = given_back(amount, _left(aggregate, worth), aggregate.payment.currency, lines)
    return [each for key, products in sold.items() if key in shares for each in _of_value(products, shares[key])]


def _left(aggregate: PaymentAggregate, worth: Mapping[str, Decimal]) -> Remainder:
    """Return what of each product was paid for and is not given back, nor about to be."""
    charged = balance(aggregate.payment.flow, aggregate.operations).charged
    rest = Remainder.of(distribute(charged, worth) if charged else worth)
    for refund in aggregate.operations:
        if refund.kind is Kind.REFUND and refund.state is not State.FAILURE:
            said = _totals(goods_in(refund.request))
            rest = rest.after(said or _in_proportion(refund, rest), refund.currency)
    return rest


def _in_proportion(refund: Operation, rest: Remainder) -> Mapping[str, Decimal]:
    """Return what a refund that others made is taken to have given back: nobody says for which products."""
    try:
        return given_back(refund.amount, rest, refund.currency)
    except IndivisibleError:
        return rest.left


def _granted_worth(granted: GrantedRefund | None, sold: Goods) -> dict[str, Fraction]:
    """Return what each product's part of a granted refund is; nothing when the lines do not tell."""
    worth: dict[str, Fraction] = {}
    for each in (granted.lines if granted else None) or ():
        line = each.order_line
        price, key = line.total_price, _key_of(article_of(line), sold)
        if key is None or price is None or line.quantity < 1:
            return {}
        worth[key] = worth.get(key, Fraction()) + Fraction(price.gross.amount) * each.quantity / line.quantity
    delivery = _key_of(DELIVERY, sold)
    if granted and granted.shipping_costs_included and delivery:
        worth[delivery] = Fraction(_total(sold[delivery]))
    return worth


def _of_value(products: Sequence[FiscalProduct], value: Decimal) -> Sequence[FiscalProduct]:
    """Return the products, or as many whole pieces of one price as are worth ``value``, or one piece at that price."""
    if value == _total(products):
        return products
    for product in products:
        number = value / product.amount
        if number == number.to_integral_value() and number <= product.qty:
            return [product.model_copy(update={"qty": number})]
    return [products[0].model_copy(update={"qty": Decimal(1), "amount": value})]


def _key_of(article: str, sold: Goods) -> str | None:
    return next((key for key in sold if key.startswith(f"{article}/")), None)


def _totals(goods: Goods) -> dict[str, Decimal]:
    return {key: _total(products) for key, products in goods.items()}


def _total(products: Sequence[FiscalProduct]) -> Decimal:
    return sum((each.total for each in products), ZERO)
