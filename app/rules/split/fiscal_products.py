"""Products that a fiscal merchant must repeat in the requests of captures and refunds (gateway facts, 5). Pure.

They derive from the recorded request that created the payment, whatever the account's settings are now. A full capture
or refund repeats the same products. A partial one has the lines of its granted refund, else all products in proportion
to their remainders. A product is never charged or refunded beyond the price paid for it. The result is recorded with
the operation before it is sent.

Captures and refunds of a split payment have the products inside their shares, if they sum to them (``planning``).
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

from app.core.payment import Operation, PaymentAggregate
from app.core.request import RequestDetails
from app.core.vocabulary import Flow, Kind, State
from app.i18n.currencies import smallest_unit
from app.rules.balance import ZERO, balance
from app.rules.split.allocation import IndivisibleError, Shares, distribute, total_of, without
from app.rules.split.products import DELIVERY, article_of, is_gift
from app.rules.split.remainder import Remainder, divide_refund
from gateway_client.models import FiscalProduct
from saleor_app_sdk.events import GrantedRefund

# Products by article and tax rate: several per key, because Saleor may sell the same article at different prices.
Goods = dict[str, tuple[FiscalProduct, ...]]


def fiscal_details(
    aggregate: PaymentAggregate, kind: Kind, amount: Decimal, granted: GrantedRefund | None = None
) -> RequestDetails:
    """Return what a capture or refund of ``amount`` requests for its fiscal receipt."""
    if kind not in {Kind.CAPTURE, Kind.REFUND}:
        return RequestDetails()
    products = _products(aggregate, kind, amount, granted)
    return RequestDetails(
        products=tuple(product.model_dump(mode="json", exclude_none=True) for product in products),
        receipt_delivery=aggregate.create.requested.receipt_delivery if kind is Kind.REFUND else None,
    )


def goods_of(requested: RequestDetails) -> Goods:
    """Return the fiscal products that were requested; empty if there are none, or they are plain products."""
    goods: Goods = {}
    in_split = tuple(data for item in requested.split for data in item.get("products") or ())
    for data in requested.products or in_split:
        if "taxes" in data:
            product = FiscalProduct.model_validate(data)
            key = f"{product.id}/{product.taxes.prc}"
            goods[key] = (*goods.get(key, ()), product)
    return goods


def _products(
    aggregate: PaymentAggregate, kind: Kind, amount: Decimal, granted: GrantedRefund | None
) -> list[FiscalProduct]:
    sold = goods_of(aggregate.create.requested)
    if not sold:
        return []
    worth = _totals(sold)
    shares = _shares(
        amount, _unclaimed(aggregate, worth) if kind is Kind.CAPTURE else worth, aggregate.payment.currency
    )
    if kind is Kind.REFUND:
        # If indivisible, the gateway took more than was requested, so there is more to refund than was sold.
        with suppress(IndivisibleError):
            lines = _granted_worth(granted, sold)
            shares = divide_refund(amount, _remaining(aggregate, worth), aggregate.payment.currency, lines)
    return [
        product for key, products in sold.items() if key in shares for product in _products_worth(products, shares[key])
    ]


def _shares(amount: Decimal, worth: Mapping[str, Decimal], currency: str) -> Shares:
    return distribute(amount, worth, smallest_unit(currency, amount, *worth.values()))


def _remaining(aggregate: PaymentAggregate, worth: Mapping[str, Decimal]) -> Remainder:
    """Return the remainder of each product: paid for, and neither refunded nor about to be."""
    rest = Remainder.of(_paid_for(aggregate, worth))
    for refund in aggregate.operations:
        if refund.kind is Kind.REFUND and refund.charge_id is None and not refund.has_surely_failed:
            refunded = _totals(goods_of(refund.requested))
            rest = rest.after(refunded or _assumed_shares(refund, rest), refund.currency)
    return rest


def _paid_for(aggregate: PaymentAggregate, worth: Mapping[str, Decimal]) -> Mapping[str, Decimal]:
    """Return what was charged of each product; all of it while nothing was."""
    charged = balance(aggregate.payment.flow, aggregate.operations).charged
    if aggregate.payment.flow is not Flow.AUTHORIZATION or not charged:
        return _shares(charged, worth, aggregate.payment.currency) if charged else worth
    paid: dict[str, Decimal] = {}
    for capture, shares in _captures(aggregate, worth):
        if capture.state is State.SUCCESS:
            paid |= {key: paid.get(key, ZERO) + share for key, share in shares.items()}
    return paid


def _unclaimed(aggregate: PaymentAggregate, worth: Mapping[str, Decimal]) -> Mapping[str, Decimal]:
    """Return what no capture has taken of each product; all of it where they have taken more than was sold."""
    left = worth
    for _, shares in _captures(aggregate, worth):
        left = without(left, shares)
    return left or worth


def _captures(aggregate: PaymentAggregate, worth: Mapping[str, Decimal]) -> Iterator[tuple[Operation, Shares]]:
    """Yield the captures that have not failed; what others captured is divided by what those before it have left."""
    left = worth
    for capture in aggregate.operations:
        if capture.kind is not Kind.CAPTURE or capture.has_surely_failed:
            continue
        shares = _totals(goods_of(capture.requested))
        if total_of(shares.values()) != capture.amount:
            shares = _shares(capture.amount, left or worth, capture.currency)
        yield capture, shares
        left = without(left, shares)


def _assumed_shares(refund: Operation, rest: Remainder) -> Mapping[str, Decimal]:
    """Return the assumed product shares of a refund that the app did not make: its products are not known."""
    try:
        return divide_refund(refund.amount, rest, refund.currency)
    except IndivisibleError:
        return rest.left


def _granted_worth(granted: GrantedRefund | None, sold: Goods) -> dict[str, Fraction]:
    """Return each product's part of a granted refund; empty when the lines do not determine it.

    A gift that was sent back determines nothing: no receipt has it.
    """
    worth: dict[str, Fraction] = {}
    for granted_line in (granted.lines if granted else None) or ():
        line = granted_line.order_line
        price, key = line.total_price, _key_of(article_of(line), sold)
        if price is not None and is_gift(price):
            continue
        if key is None or price is None or line.quantity < 1:
            return {}
        worth[key] = worth.get(key, Fraction()) + Fraction(price.gross.amount) * granted_line.quantity / line.quantity
    delivery = _key_of(DELIVERY, sold)
    if granted and granted.shipping_costs_included and delivery:
        worth[delivery] = Fraction(_total(sold[delivery]))
    return worth


def _products_worth(products: Sequence[FiscalProduct], value: Decimal) -> Sequence[FiscalProduct]:
    """Return products worth ``value``: all of them, or whole pieces of one price, or one piece at that price."""
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
    return sum((product.total for product in products), ZERO)
