"""An order that may still have to be paid, as an app with HANDLE_PAYMENTS sees it, and starting a transaction on it.

With that permission an app may look up an order by its id and see its transactions; a list of orders would need more
(Saleor's schema: ``Query.order``, ``Order.transactions``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from pydantic import ValidationError

from saleor_app_sdk.answers import read_mutation_result, read_object, read_optional_object, refusal_for_mutation
from saleor_app_sdk.errors import SaleorUnreachableError
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.installation import Installation
from saleor_app_sdk.source import Order, Text
from saleor_app_sdk.transaction_source import TransactionSource

# Saleor calls the app before it responds, and waits 18 seconds for it (Saleor contract, A.2).
_INITIALIZE_TIMEOUT = timedelta(seconds=22)
_UNPAYABLE_STATUSES = {"DRAFT", "CANCELED", "EXPIRED"}


class OrderToPay(Order):
    """An order; ``transactions`` are all attempts to pay it, those of the checkout that it was made of too."""

    status: Text = ""

    @property
    def is_payable(self) -> bool:
        """True for an order that was placed and is neither canceled nor expired."""
        return self.status not in _UNPAYABLE_STATUSES


@dataclass(frozen=True, slots=True)
class InitializedTransaction:
    """A transaction that Saleor has begun, after calling the app: ``data`` is the app's response to the storefront."""

    transaction_id: str
    message: str
    data: Any


async def fetch_order_to_pay(
    client: SaleorClient, installation: Installation, order_id: str
) -> tuple[OrderToPay | None, str]:
    """Return an order, or None where that Saleor has none of that id; and the app's payment gateway id.

    Raises SaleorError.
    """
    data = await client.execute(installation, "order_to_pay", {"id": order_id})
    gateway = read_optional_object(data.get("app")).get("identifier") or ""
    if not isinstance(gateway, str):
        msg = "Saleor returned an unreadable app"
        raise SaleorUnreachableError(msg)
    try:
        return (None if data.get("order") is None else OrderToPay.model_validate(data["order"])), gateway
    except ValidationError as exc:
        msg = "Saleor returned an unreadable order"
        raise SaleorUnreachableError(msg) from exc


async def fetch_source(
    client: SaleorClient, installation: Installation, transaction_id: str
) -> TransactionSource | None:
    """Return the order or checkout of a transaction; None if that Saleor does not know the transaction.

    Raises SaleorError.
    """
    transaction = await client.execute_batched(installation, "order_of_transaction", {"id": transaction_id})
    if transaction is None:
        return None
    source = TransactionSource.read(transaction)
    if source is None:
        msg = "Saleor returned an unreadable order"
        raise SaleorUnreachableError(msg)
    return source


async def initialize_transaction(
    client: SaleorClient,
    installation: Installation,
    *,
    order_id: str,
    amount: Decimal,
    gateway: str,
    key: str,
    data: Mapping[str, str] | None = None,
) -> InitializedTransaction:
    """Begin a transaction on an order (``transactionInitialize``); the same ``key`` gives the same transaction.

    ``data`` is what a storefront would pass for the app.
    Saleor calls the app by the usual webhook before it responds. Raises SaleorError: after SaleorUnreachableError the
    transaction may have been begun.
    """
    variables = {"id": order_id, "amount": amount, "idempotencyKey": key, "gateway": gateway, "data": dict(data or {})}
    response = await client.execute(installation, "transaction_initialize", variables, timeout=_INITIALIZE_TIMEOUT)
    result = read_mutation_result(response.get("transactionInitialize"), refusal_for_mutation)
    transaction_id = read_object(result.get("transaction")).get("id")
    if not isinstance(transaction_id, str):
        msg = "Saleor started a transaction that has no name"
        raise SaleorUnreachableError(msg)
    message = read_optional_object(result.get("transactionEvent")).get("message")
    return InitializedTransaction(transaction_id, str(message or ""), result.get("data"))
