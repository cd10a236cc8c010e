"""Saleor's history of a transaction, and requesting a granted refund once more.

Both need HANDLE_PAYMENTS and nothing else (Saleor's schema: ``Query.transaction``,
``transactionRequestRefundForGrantedRefund``). The status of a granted refund would need MANAGE_ORDERS.
"""

from datetime import datetime
from decimal import Decimal

from pydantic import AwareDatetime, ValidationError

from saleor_app_sdk.answers import read_mutation_result, read_object, refusal_for_mutation
from saleor_app_sdk.errors import SaleorUnreachableError
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.installation import Installation
from saleor_app_sdk.source import SaleorModel, Text
from saleor_app_sdk.vocabulary import AvailableAction

REFUND_IS_PENDING = "REFUND_IS_PENDING"
REFUND_ALREADY_PROCESSED = "REFUND_ALREADY_PROCESSED"


class _Amount(SaleorModel):
    amount: Decimal


class HistoryEntry(SaleorModel):
    """One event of a transaction. ``idempotency_key`` is that of a request; ``psp_reference`` is "" when it has none.

    ``type`` is left as text: newer Saleors may know more types.
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
        """Return True when it is a request of that kind: a charge, refund or cancelation."""
        return self.type == f"{kind}_REQUEST"

    def is_later_than(self, moment: datetime | None) -> bool:
        """Return True unless it was written before ``moment``; an entry without a time counts as later."""
        return moment is None or self.created_at is None or self.created_at >= moment


async def fetch_history(
    client: SaleorClient, installation: Installation, transaction_id: str
) -> tuple[HistoryEntry, ...] | None:
    """Return Saleor's history of a transaction; None if that Saleor shows no such transaction.

    Raises SaleorError.
    """
    data = await client.execute(installation, "transaction_history", {"id": transaction_id})
    if data.get("transaction") is None:
        return None
    try:
        return tuple(HistoryEntry.model_validate(event) for event in read_object(data["transaction"])["events"])
    except (KeyError, TypeError, ValidationError) as exc:
        msg = "Saleor returned an unreadable history of a transaction"
        raise SaleorUnreachableError(msg) from exc


async def request_granted_refund(
    client: SaleorClient, installation: Installation, transaction_id: str, granted_refund_id: str
) -> None:
    """Make Saleor request a granted refund once more: it sends the usual webhook.

    Raises SaleorError; ``SaleorRefusedError`` with the code ``REFUND_IS_PENDING`` or ``REFUND_ALREADY_PROCESSED`` when
    the granted refund is in that state. After SaleorUnreachableError it may have been requested.
    """
    variables = {"id": transaction_id, "grantedRefundId": granted_refund_id}
    data = await client.execute(installation, "request_granted_refund", variables)
    read_mutation_result(data.get("transactionRequestRefundForGrantedRefund"), refusal_for_mutation)
