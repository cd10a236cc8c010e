"""What an operation requests besides its amount: the members of ``Operation.request``, which nothing else names.

The gateway's own objects in it (split items, products) stay as they are sent: its client has the models for them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

GatewayObject: TypeAlias = Mapping[str, Any]
"""An object of the gateway's interface, as JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestDetails:
    """What is requested besides the amount. What was not requested, or not by this kind of operation, is empty.

    ``description``: what the payment is for. ``payload``: what the gateway keeps for us, as JSON.
    ``products`` and ``receipt_delivery`` are for the fiscal receipt; the products of a split payment are in ``split``.
    ``is_full``: a refund takes all of the payment at once. ``is_rest``: staff named no amount, but requested all that
    was possible then. ``chosen_shares``: how much staff take from each sub-merchant; ``line_worth``: what the granted
    lines of each are worth; by neither, the rules decide. ``subscription``: the schedule of the one that is begun.
    ``closing_sentence``: why a page is closed, as versions before the codes stored it.
    """

    amount: Decimal | None = None
    description: str = ""
    payload: str | None = None
    split: tuple[GatewayObject, ...] = ()
    products: tuple[GatewayObject, ...] = ()
    receipt_delivery: str | None = None
    subscription: GatewayObject | None = None
    comment: str | None = None
    is_full: bool = False
    is_rest: bool = False
    chosen_shares: Mapping[str, Decimal] | None = None
    line_worth: Mapping[str, Decimal] | None = None
    closing_sentence: str | None = None

    @classmethod
    def read(cls, request: Mapping[str, Any]) -> "RequestDetails":
        """Return the details of a stored request, of this version or of an earlier one."""
        amount = request.get("amount")
        return cls(
            amount=None if amount is None else Decimal(amount),
            description=str(request.get("description") or ""),
            payload=request.get("payload"),
            split=tuple(request.get("split") or ()),
            products=tuple(request.get("products") or ()),
            receipt_delivery=request.get("f_receipt_delivery"),
            subscription=request.get("init_recurring"),
            comment=request.get("comment"),
            is_full=request.get("whole") is True,
            is_rest=request.get("rest") is True,
            chosen_shares=_read_sums(request.get("chosen")),
            line_worth=_read_sums(request.get("by_lines")),
            closing_sentence=request.get("why"),
        )

    @property
    def is_of_checkout(self) -> bool:
        """True for the payment of a checkout, not of an order."""
        return "checkout" in json.loads(self.payload or "{}")

    def write(self, order_id: str, currency: str) -> dict[str, Any]:
        """Return the request to store for a capture, a void, a refund or a cancellation."""
        members = {
            "amount": None if self.amount is None else str(self.amount),
            "currency": None if self.amount is None else currency,
            "order_id": order_id,
            "split": list(self.split) or None,
            "products": list(self.products) or None,
            "f_receipt_delivery": self.receipt_delivery,
            "comment": self.comment,
            "whole": self.is_full or None,
            "rest": self.is_rest or None,
            "chosen": _write_sums(self.chosen_shares),
            "by_lines": _write_sums(self.line_worth),
            "why": self.closing_sentence,
        }
        return {name: value for name, value in members.items() if value is not None}


def with_split(request: Mapping[str, Any], split: tuple[GatewayObject, ...]) -> dict[str, Any]:
    """Return a stored request with other split items."""
    return {**request, "split": list(split)}


def _read_sums(sums: Mapping[str, str] | None) -> dict[str, Decimal] | None:
    return None if sums is None else {name: Decimal(amount) for name, amount in sums.items()}


def _write_sums(sums: Mapping[str, Decimal] | None) -> dict[str, str] | None:
    return None if sums is None else {name: str(amount) for name, amount in sorted(sums.items())}
