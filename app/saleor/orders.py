"""An order that may still have to be paid, as Saleor tells an app with HANDLE_PAYMENTS, and a transaction begun on it.

Whoever has such a token may look an order up by its id and see its transactions; a list of orders would need more
(Saleor's schema: ``Query.order``, ``Order.transactions``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from pydantic import ValidationError

from app.saleor.errors import SaleorRefusedError, SaleorUnreachableError
from app.saleor.graphql import SaleorClient
from app.saleor.installation import Installed
from app.saleor.reports import PlacedOrder
from app.saleor.source import Covering, Money, Order, Text

# Saleor asks the app while it answers, and gives it 18 seconds (Saleor contract, A.2).
_WITH_THE_APP = timedelta(seconds=22)
_NEVER_PAID = {"DRAFT", "CANCELED", "EXPIRED"}


class Paying(Covering):
    """A transaction of an order, with what of it was given back."""

    refunded_amount: Money | None = None
    refund_pending_amount: Money | None = None

    @property
    def once_covered(self) -> Decimal:
        """What is or was paid, reserved, or on its way: a refund does not make an order unpaid."""
        given_back = (self.refunded_amount, self.refund_pending_amount)
        return self.covered + sum((each.amount for each in given_back if each), Decimal(0))


class OrderToPay(Order):
    """An order; ``transactions`` are all attempts to pay it, those of the checkout that it was made of too."""

    status: Text = ""
    transactions: tuple[Paying, ...] = ()

    @property
    def payable(self) -> bool:
        """True for an order that somebody has placed and nobody has given up."""
        return self.status not in _NEVER_PAID


@dataclass(frozen=True, slots=True)
class Begun:
    """A transaction that Saleor has begun and asked the app about: ``data`` is what the app answered the storefront."""

    transaction_id: str
    message: str
    data: Any


async def order_to_pay(client: SaleorClient, installed: Installed, order_id: str) -> tuple[OrderToPay | None, str]:
    """Return an order, or None where that Saleor has none of that id; and the name of the app as a payment gateway.

    Raises SaleorError.
    """
    data = await client.ask(installed, "order_to_pay", {"id": order_id})
    gateway = (data.get("app") or {}).get("identifier") or ""
    try:
        return (None if data.get("order") is None else OrderToPay.model_validate(data["order"])), gateway
    except ValidationError as exc:
        msg = "Saleor told an order in a way that cannot be read"
        raise SaleorUnreachableError(msg) from exc


async def order_placed(client: SaleorClient, installed: Installed, transaction_id: str) -> PlacedOrder | None:
    """Return the order that a transaction belongs to; None as long as it is still a checkout, or is not known there.

    Raises SaleorError.
    """
    transaction = await client.ask_with_others(installed, "order_of_transaction", {"id": transaction_id})
    order = (transaction or {}).get("order")
    try:
        return None if order is None else PlacedOrder.model_validate(order)
    except ValidationError as exc:
        msg = "Saleor told an order in a way that cannot be read"
        raise SaleorUnreachableError(msg) from exc


async def begin_transaction(
    client: SaleorClient, installed: Installed, *, order_id: str, amount: Decimal, gateway: str, key: str
) -> Begun:
    """Begin a transaction on an order (``transactionInitialize``); the same ``key`` gives the same transaction.

    Saleor asks the app by the usual webhook before it answers. Raises SaleorError: after SaleorUnreachableError it may
    have been begun.
    """
    variables = {"id": order_id, "amount": amount, "idempotencyKey": key, "gateway": gateway}
    data = await client.ask(installed, "transaction_initialize", variables, within=_WITH_THE_APP)
    said = data.get("transactionInitialize")
    if not isinstance(said, Mapping):
        msg = "Saleor answered the beginning of a transaction with nothing"
        raise SaleorUnreachableError(msg)
    for error in said.get("errors") or ():
        raise SaleorRefusedError(str(error.get("code")), error.get("field"), str(error.get("message")))
    begun = said.get("transaction")
    if not isinstance(begun, Mapping) or not isinstance(begun.get("id"), str):
        msg = "Saleor began a transaction that has no name"
        raise SaleorUnreachableError(msg)
    message = (said.get("transactionEvent") or {}).get("message")
    return Begun(begun["id"], str(message or ""), said.get("data"))
