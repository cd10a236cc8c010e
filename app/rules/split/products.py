"""Items of a payment or refund: as a basket to divide, and as products in one of the gateway's two forms. Pure.

Saleor's line prices are the prices paid for the lines: they include taxes, discounts and vouchers, also those of the
whole order. So the difference between the total and lines plus shipping was paid by gift cards.

The gateway is sent all products or none (gateway facts, 5). One rule: they sum to the amount, to the last cent. The
lines and the shipping of a checkout or order do so when it is paid in full at once. If its total is less, the reduction
is spread over everything in proportion, as a discount would be. So is what the total has more because of rounding: the
lines of an order whose taxes an app computes have parts of a cent in Saleor, which rounds each line, and the total too.
A partial payment cannot be expressed as products: a plain payment is sent without them, a fiscal one is refused,
because its receipt would be untrue.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from uuid import UUID, uuid5

from app.i18n.currencies import smallest_unit
from app.i18n.messages import Money, gettext_noop
from app.i18n.translation import translation_for
from app.rules.refusal import RefusalCode, RefusalError
from app.rules.split.allocation import ZERO, Basket, Line, distribute
from app.rules.split.remainder import GrantedLine
from app.store.tables import MerchantAccount, ProductsForm
from gateway_client.models import FiscalProduct, Product, Taxes
from gateway_client.models.products import AnyProduct
from integration_base.amounts import CENT, has_whole_cents
from integration_base.typed_text import one_line
from saleor_app_sdk.events import GrantedRefund
from saleor_app_sdk.source import Line as SourceLine
from saleor_app_sdk.source import Source, TaxedMoney

_ARTICLE_NAMESPACE = UUID("6d0b4f0e-0a3c-4d39-8f0d-5b8f3a1f2c77")  # the namespace of our product ids
_KNOWN_TAX_RATES = (Decimal(0), Decimal(7), Decimal(14), Decimal(20))  # percent, as cash registers know them
_UNIT = "pc"  # Saleor sells whole pieces
_DELIVERY = gettext_noop("Delivery")


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a payment: ``total`` is the gross price of all its pieces, ``percent`` the tax rate included in it.

    ``article`` identifies the same item in a checkout, in its order and in a refund; ``number`` is the store's.
    """

    article: str
    number: str
    name: str
    quantity: int
    total: Decimal
    percent: Decimal


def products_of(
    account: MerchantAccount,
    source: Source,
    amount: Decimal,
    currency: str,
    language: str,
    *,
    receipt_delivery: str | None,
) -> tuple[AnyProduct, ...] | None:
    """Return the products of a payment of ``amount`` in the account's form; None when none are sent.

    ``receipt_delivery``: how the shopper gets the receipt of fiscal products.

    Raises RefusalError.
    """
    if account.products is ProductsForm.NONE:
        return None
    items = items_of(source, amount, language)
    if account.products is ProductsForm.FISCAL:
        if items is None:
            raise RefusalError(
                RefusalCode.PRODUCTS_DO_NOT_SUM,
                "The fiscal receipt names what is paid for, and no lines of this order sum to "
                f"{Money(amount, currency)}: pay its whole total at once.",
                "amount",
            )
        unit = smallest_unit(currency, *(item.total for item in items))
        return tuple(product for item in items for product in _fiscal_products(item, receipt_delivery, unit))
    return None if items is None else tuple(_plain_product(item, currency) for item in items)


def items_of(source: Source, amount: Decimal, language: str = "en") -> list[Item] | None:
    """Return the paid items of the source, summing to ``amount``; None when no true list sums to it."""
    items = [item for line in source.lines if (item := _item_of_line(line))]
    if shipping := _shipping_item(source.shipping_price, language):
        items.append(shipping)
    if any(not has_whole_cents(item.total) for item in items):
        return None
    total = sum((item.total for item in items), ZERO)
    if total == amount:
        return items
    if source.total is None or source.total.gross.amount != amount:
        return None
    unit = smallest_unit(source.total.gross.currency, amount)
    if not ZERO < amount <= total + _most_rounding(len(items), unit):
        return None
    shares = _spread([item.total for item in items], amount, unit)
    return [replace(item, total=share) for item, share in zip(items, shares, strict=True) if share]


def article_of(line: SourceLine) -> str:
    """Return a line's article: a UUID, as fiscal products need, derived from its variant (the line, if it has none)."""
    return str(uuid5(_ARTICLE_NAMESPACE, line.variant_id or line.id))


def is_gift(price: TaxedMoney) -> bool:
    """Return True for the price of a line that costs nothing: a receipt has no line for it."""
    return price.gross.amount <= 0


DELIVERY = str(uuid5(_ARTICLE_NAMESPACE, "delivery"))


def piece_prices(total: Decimal, quantity: int, unit: Decimal = CENT) -> list[tuple[int, Decimal]]:
    """Return (pieces, price per piece) pairs that sum to ``total``: 10.00 for 3 is 2 at 3.33 and 1 at 3.34."""
    units, over = divmod(int(total / unit), max(quantity, 1))
    parts = [(max(quantity, 1) - over, units * unit), (over, (units + 1) * unit)]
    return [(number, amount) for number, amount in parts if number and amount]


def _item_of_line(line: SourceLine) -> Item | None:
    price = line.total_price
    if price is None or is_gift(price):
        return None
    percent = _tax_percent(price, line.quantity) if line.tax_rate is None else line.tax_rate * 100
    article = article_of(line)
    number = one_line(line.sku or "") or article
    return Item(article, number, one_line(line.name) or number, line.quantity, price.gross.amount, percent)


def _shipping_item(price: TaxedMoney | None, language: str) -> Item | None:
    if price is None or price.gross.amount <= 0:
        return None
    name = translation_for(language).gettext(_DELIVERY)
    return Item(DELIVERY, "delivery", name, 1, price.gross.amount, _tax_percent(price, 1))


def _tax_percent(price: TaxedMoney, quantity: int) -> Decimal:
    """Return the tax rate of a price: the known rate that yields its tax within rounding, else the computed rate."""
    tax = price.tax.amount if price.tax else ZERO
    net = price.gross.amount - tax
    if tax <= 0 or net <= 0:
        return Decimal(0)
    rounding = CENT * max(quantity, 1)
    near = (rate for rate in _KNOWN_TAX_RATES if rate and abs(net * rate / 100 - tax) <= rounding)
    exact = tax / net * 100
    return min(near, key=lambda rate: abs(rate - exact), default=exact.quantize(CENT))


def _most_rounding(number: int, unit: Decimal) -> Decimal:
    """Return the most by which a total and its items can differ: each is rounded by half a unit, and the total is."""
    return unit * (number + 1) / 2


def _spread(totals: Sequence[Decimal], amount: Decimal, unit: Decimal) -> list[Decimal]:
    """Return totals that sum to ``amount``, in proportion to those given."""
    shares = distribute(amount, {f"{number:06}": total for number, total in enumerate(totals)}, unit)
    return [shares.get(f"{number:06}", ZERO) for number in range(len(totals))]


def _plain_product(item: Item, currency: str) -> Product:
    """Return the product without fiscalization: ``amount`` is the total of the line."""
    return Product(id=item.number, name=item.name, qty=max(item.quantity, 1), amount=item.total, currency=currency)


def _fiscal_products(item: Item, receipt_delivery: str | None, unit: Decimal) -> list[FiscalProduct]:
    """Return the products for a software cash register: ``amount`` is per piece, so one item may need two prices."""
    taxes = Taxes(type="vat" if item.percent else "non-vat", prc=item.percent.normalize() + 0)
    return [
        FiscalProduct.model_validate(
            {
                "id": item.article,
                "name": item.name,
                "qty": Decimal(number),
                "amount": price,
                "unit": _UNIT,
                "taxes": taxes,
                "receipt_delivery": receipt_delivery,
            }
        )
        for number, price in piece_prices(item.total, item.quantity, unit)
    ]


def basket_of(source: Source, metadata_key: str) -> Basket:
    """Return the basket of a checkout or an order.

    What Saleor has rounded apart is spread over the lines and the shipping, as in the products: it is neither a
    surcharge nor paid by a gift card, and each share still is what its products cost.
    """
    lines = [line_of(line, metadata_key) for line in source.lines]
    shipping = _gross_amount(source.shipping_price)
    full = sum((line.total for line in lines), shipping)
    if source.total is None:
        return Basket(lines, full, shipping)
    total, currency = source.total.gross.amount, source.total.gross.currency
    prices, unit = [*(line.total for line in lines), shipping], smallest_unit(currency, total)
    priced = sum(price > 0 for price in prices)
    if full == total or total <= 0 or abs(full - total) > _most_rounding(priced, unit):
        return Basket(lines, total, shipping, gift_cards=max(full - total, ZERO))
    *spread, shipping = _spread(prices, total, unit)
    return Basket([_at_price(line, price) for line, price in zip(lines, spread, strict=True)], total, shipping)


def _at_price(line: Line, price: Decimal) -> Line:
    """Return a line whose price has been rounded otherwise, with the same discount."""
    before = line.before_discounts
    return replace(line, total=price, before_discounts=None if before is None else before + price - line.total)


def granted_lines(granted: GrantedRefund, metadata_key: str) -> list[GrantedLine]:
    """Return the lines of a granted refund."""
    return [
        GrantedLine(line_of(line.order_line, metadata_key), line.quantity, line.order_line.quantity)
        for line in granted.lines or ()
    ]


def line_of(line: SourceLine, metadata_key: str) -> Line:
    """Return a source line as a basket line."""
    sub_merchant = line.variant.nearest_metafield(metadata_key) if line.variant else ""
    has_metadata = line.variant is not None
    return Line(line.name, _gross_amount(line.total_price), sub_merchant or None, line.before_discounts, has_metadata)


def _gross_amount(price: TaxedMoney | None) -> Decimal:
    return price.gross.amount if price else ZERO
