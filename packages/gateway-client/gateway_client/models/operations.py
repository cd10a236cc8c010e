"""Requests that act on an existing payment (gateway interface, 3 to 6)."""

from collections.abc import Iterator, Set
from typing import ClassVar

from pydantic import model_validator

from gateway_client.errors import BrokenRule
from gateway_client.models.base import RequestModel
from gateway_client.models.details import Split, check_split
from gateway_client.models.products import Products
from gateway_client.models.values import Amount, Comment, Currency, OrderId, ReceiptDelivery, Url, Uuid


class Secondary(RequestModel):
    """The common fields: the primary operation's ``order_id``, a comment, where to send the webhook."""

    pos_id: Uuid | None = None
    order_id: OrderId
    comment: Comment | None = None
    server_url: Url | None = None


class Capture(Secondary):
    """Captures reserved money: all of it without ``charge_amount``. What becomes of the rest is the dialect's.

    With ``split`` the captured amount is distributed, and ``charge_amount`` is required. ``products`` are sent where
    the dialect has them.
    """

    _repr_fields: ClassVar[tuple[str, ...]] = ("order_id", "charge_amount", "order_currency")

    order_currency: Currency
    charge_amount: Amount | None = None
    split: Split | None = None
    products: Products | None = None

    @classmethod
    def _check_combination(cls, given: Set[str]) -> Iterator[BrokenRule]:
        if "split" in given and "charge_amount" not in given:
            yield BrokenRule("charge_amount", "is required with a split", "nothing")

    @model_validator(mode="after")
    def _check_split_sum(self) -> "Capture":
        if self.split is not None and self.charge_amount is not None:
            check_split(self.split, self.charge_amount)
        return self


class Void(Secondary):
    """Releases the whole reservation."""

    _repr_fields: ClassVar[tuple[str, ...]] = ("order_id", "order_currency")

    order_currency: Currency


class Refund(Secondary):
    """Refunds money: all of it without ``refund_amount``; several partial refunds may sum to the original amount.

    ``products`` is for merchants with fiscalization, and sent where the dialect has it.
    """

    _repr_fields: ClassVar[tuple[str, ...]] = ("order_id", "refund_amount", "order_currency")

    order_currency: Currency
    refund_amount: Amount | None = None
    f_receipt_delivery: ReceiptDelivery | None = None
    products: Products | None = None


class SplitRefund(Secondary):
    """Refunds money of sub-merchants, with one item for each of them. The currency's field is ``currency`` here."""

    _repr_fields: ClassVar[tuple[str, ...]] = ("order_id", "refund_amount", "currency")

    currency: Currency
    refund_amount: Amount
    split: Split

    @model_validator(mode="after")
    def _check_split_sum(self) -> "SplitRefund":
        check_split(self.split, self.refund_amount, once_each=True)
        return self
