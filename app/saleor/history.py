"""What stands in Saleor's history of a transaction, and asking Saleor to ask for a granted refund once more.

Both need HANDLE_PAYMENTS and nothing else (Saleor's schema: ``Query.transaction``,
``transactionRequestRefundForGrantedRefund``). The status of a granted refund would need MANAGE_ORDERS.
"""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from pydantic import AwareDatetime, ValidationError

from app.saleor.errors import SaleorRefusedError, SaleorUnreachableError
from app.saleor.graphql import SaleorClient
from app.saleor.installation import Installed
from app.saleor.source import FromSaleor, Text
from app.saleor.vocabulary import AvailableAction

IS_PENDING = "REFUND_IS_PENDING"
ALREADY_PROCESSED = "REFUND_ALREADY_PROCESSED"


class _Amount(FromSaleor):
    amount: Decimal


class HistoryEntry(FromSaleor):
    """One event of a transaction. ``idempotency_key`` is that of a request; ``psp_reference`` is "" when it has none.

    ``type`` is left as text: newer Saleors may know more of them.
    """

    type: Text = ""
    psp_reference: Text = ""
    amount: _Amount | None = None
    idempotency_key: str | None = None
    created_at: AwareDatetime | None = None

    @property
    def money(self) -> Decimal | None:
        """The amount in the main unit, without its currency."""
        return None if self.amount is None else self.amount.amount

    def is_request(self, kind: AvailableAction) -> bool:
        """Return True when it asks for a charge, refund or cancelation."""
        return self.type == f"{kind}_REQUEST"

    def is_later_than(self, moment: datetime | None) -> bool:
        """Return True unless it was written before ``moment``; what has no time counts as later."""
        return moment is None or self.created_at is None or self.created_at >= moment


async def transaction_history(
    client: SaleorClient, installed: Installed, transaction_id: str
) -> tuple[HistoryEntry, ...] | None:
    """Return all that stands in Saleor's history of a transaction; None where that Saleor shows no such transaction.

    Raises SaleorError.
    """
    data = await client.ask(installed, "transaction_history", {"id": transaction_id})
    transaction = data.get("transaction")
    if transaction is None:
        return None
    try:
        return tuple(HistoryEntry.model_validate(each) for each in transaction["events"])
    except (KeyError, TypeError, ValidationError) as exc:
        msg = "Saleor told the history of a transaction in a way that cannot be read"
        raise SaleorUnreachableError(msg) from exc


async def request_granted_refund(
    client: SaleorClient, installed: Installed, transaction_id: str, granted_refund_id: str
) -> None:
    """Let Saleor ask for a granted refund once more: it sends the usual webhook.

    Raises SaleorError; ``SaleorRefusedError`` with the code ``IS_PENDING`` or ``ALREADY_PROCESSED`` where the granted
    refund stands so. After SaleorUnreachableError it may have been asked for.
    """
    variables = {"id": transaction_id, "grantedRefundId": granted_refund_id}
    data = await client.ask(installed, "request_granted_refund", variables)
    said: Any = data.get("transactionRequestRefundForGrantedRefund")
    if not isinstance(said, Mapping):
        msg = "Saleor answered the request for a granted refund with nothing"
        raise SaleorUnreachableError(msg)
    for error in said.get("errors") or ():
        raise SaleorRefusedError(str(error.get("code")), error.get("field"), str(error.get("message")))
