"""From what Saleor says is paid for, or refunded, to what is divided. Pure.

Saleor's line prices are what is paid for the line: discounts and vouchers, also those of the whole order, are in them,
and taxes. What the total is less than lines and shipping is therefore what gift cards have paid.
"""

from decimal import Decimal

from app.payments.split.allocation import ZERO, Basket, Line
from app.payments.split.remainder import GrantedLine
from app.saleor.events import GrantedRefund
from app.saleor.source import Line as SourceLine
from app.saleor.source import Source, TaxedMoney


def basket_of(source: Source, metadata_key: str) -> Basket:
    """Return what a checkout or an order is made of."""
    lines = [line_of(line, metadata_key) for line in source.lines]
    shipping = _gross(source.shipping_price)
    full = sum((line.total for line in lines), shipping)
    total = full if source.total is None else source.total.gross.amount
    return Basket(lines, total, shipping, gift_cards=max(full - total, ZERO))


def granted_lines(granted: GrantedRefund, metadata_key: str) -> list[GrantedLine]:
    """Return the lines of a granted refund."""
    return [
        GrantedLine(line_of(each.order_line, metadata_key), each.quantity, each.order_line.quantity)
        for each in granted.lines or ()
    ]


def line_of(line: SourceLine, metadata_key: str) -> Line:
    """Return a line as it is divided."""
    named = line.variant.nearest_metafield(metadata_key) if line.variant else ""
    told = line.variant is not None
    return Line(line.name, _gross(line.total_price), named or None, line.before_discounts, told)


def _gross(price: TaxedMoney | None) -> Decimal:
    return price.gross.amount if price else ZERO
