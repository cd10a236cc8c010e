"""The products of a payment. The interface leaves them open; these are the two forms that are publicly documented.

Note ``amount``: without fiscalization it is the total of the line, with fiscalization the price of one unit.
"""

from decimal import Decimal
from typing import Annotated, ClassVar, Literal

from pydantic import Discriminator, Field, Tag

from gateway_client.models.base import RequestModel
from gateway_client.models.values import Amount, Currency, Percent, Quantity, ReceiptDelivery, Text, Url, Uuid


class Product(RequestModel):
    """A line of a merchant without fiscalization. ``amount`` is the line's total, ``vat`` an amount."""

    _repr_fields: ClassVar[tuple[str, ...]] = ("id", "amount", "qty")

    id: Text
    name: Text
    amount: Amount
    qty: int = Field(ge=1)
    currency: Currency | None = None
    category: str | None = None
    description: str | None = None
    url: Url | None = None
    price_type: Literal["VAT", "NET"] | None = None
    vat: Quantity | None = None
    payload: str | None = None

    @property
    def total(self) -> Decimal:
        return self.amount


class Taxes(RequestModel):
    """``prc`` is the rate in percent; 0, 7, 14 and 20 are in use."""

    _repr_fields: ClassVar[tuple[str, ...]] = ("type", "prc")

    type: Literal["vat", "non-vat"]
    prc: Percent


class FiscalProduct(RequestModel):
    """A line of a merchant with a software cash register. ``amount`` is the price of one ``unit``.

    Such merchants send products with captures and refunds too. ``bar_code`` is mandatory in the national cashback
    programme only.
    """

    _repr_fields: ClassVar[tuple[str, ...]] = ("id", "amount", "qty", "unit")

    id: Uuid
    name: Text
    amount: Amount
    qty: Quantity
    unit: Text
    taxes: Taxes
    bar_code: str | None = None
    receipt_delivery: ReceiptDelivery | None = Field(default=None, alias="fiscalReceiptDelivery")

    @property
    def total(self) -> Decimal:
        return self.amount * self.qty


def _product_tag(product: object) -> str:
    fiscal = isinstance(product, FiscalProduct) or (isinstance(product, dict) and "taxes" in product)
    return "[fiscal]" if fiscal else "[plain]"


AnyProduct = Annotated[
    Annotated[FiscalProduct, Tag("[fiscal]")] | Annotated[Product, Tag("[plain]")], Discriminator(_product_tag)
]
Products = tuple[AnyProduct, ...]
