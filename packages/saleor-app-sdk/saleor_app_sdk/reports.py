"""Transaction events that an app reports on its own initiative (``transactionEventReport``; Saleor contract, A.7)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, model_validator

from saleor_app_sdk.answers import read_optional_object
from saleor_app_sdk.limits import Amount, Link, Message, Reference
from saleor_app_sdk.payment_methods import PaymentMethod
from saleor_app_sdk.transaction_source import PlacedOrder, TransactionSource
from saleor_app_sdk.versions import WITH_PAYMENT_METHODS, Version
from saleor_app_sdk.vocabulary import AvailableAction, EventType


class EventReport(BaseModel):
    """One event for one transaction. Saleor recognises a duplicate by ``type`` and ``psp_reference``.

    ``amount`` is in the main unit, at most two decimals; only failures, reversals, charge-backs and notes may omit
    it. There is no ``time``: an old one leaves granted refunds pending, and Saleor's own "now" is never wrong.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    transaction_id: str
    type: EventType
    psp_reference: Reference
    amount: Amount | None = None
    message: Message | None = None
    available_actions: tuple[AvailableAction, ...] | None = None
    external_url: Link | None = None
    payment_method_details: PaymentMethod | None = None

    @model_validator(mode="after")
    def _require_amount(self) -> Self:
        if self.amount is None and self.type.endswith(("_SUCCESS", "_REQUEST", "_ACTION_REQUIRED", "_ADJUSTMENT")):
            msg = f"{self.type} needs its amount"
            raise ValueError(msg)
        return self

    def variables(self, version: Version) -> dict[str, Any]:
        """Return the mutation's variables for a Saleor of that version, amounts still as ``Decimal``."""
        details = self.payment_method_details if version >= WITH_PAYMENT_METHODS else None
        fields = {
            "id": self.transaction_id,
            "type": self.type,
            "pspReference": self.psp_reference,
            "amount": self.amount,
            "message": self.message,
            "availableActions": self.available_actions,
            "externalUrl": self.external_url,
            "paymentMethodDetails": details.graphql_input() if details else None,
        }
        return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True, slots=True)
class ReportOutcome:
    """Saleor has the event. ``already_processed``: it had one of this type, reference and amount.

    ``order``: the order of the transaction; None as long as it is still a checkout's, or Saleor does not provide it.
    ``source``: what the transaction pays for; None if Saleor does not state it readably.
    """

    already_processed: bool
    event_id: str | None = None
    order: PlacedOrder | None = None
    source: TransactionSource | None = field(default=None, compare=False)

    @classmethod
    def from_response(cls, report: Mapping[str, Any]) -> Self:
        """Return the outcome of a report that Saleor accepted, whatever it says about the order."""
        event_id = read_optional_object(report.get("transactionEvent")).get("id")
        source = TransactionSource.read(report.get("transaction"))
        return cls(
            already_processed=bool(report.get("alreadyProcessed")),
            event_id=event_id,
            order=None if source is None else source.order,
            source=source,
        )
