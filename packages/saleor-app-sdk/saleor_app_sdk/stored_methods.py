"""Responses for stored payment methods: customers list their stored cards, or delete one.

Saleor omits a method that it cannot read, or all of them (``saleor/webhook/response_schemas/payment.py``); so these
models accept nothing of that kind. It caches a list for five minutes, for each customer and channel, and invalidates it
when one of its methods is deleted.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from saleor_app_sdk.limits import Message, printable
from saleor_app_sdk.responses import WebhookResponse

# Saleor embeds this id in an id of its own, and splits that at its colons.
MethodId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,200}$")]
DisplayText = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(printable)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


class StoredCard(_Part):
    """A stored card. ``expires`` are year and month; None if unknown: Saleor then shows no ``creditCardInfo``."""

    id: MethodId
    name: DisplayText
    brand: DisplayText
    last_digits: Annotated[str, Field(pattern=r"^[0-9]{4}$")]
    expires: tuple[Annotated[int, Field(ge=2000, le=9999)], Annotated[int, Field(ge=1, le=12)]] | None = None

    def dump(self) -> dict[str, Any]:
        """Return the form of Saleor's ``StoredPaymentMethod``."""
        known = {"brand": self.brand, "lastDigits": self.last_digits}
        fields: dict[str, Any] = {
            "id": self.id,
            "supportedPaymentFlows": ["INTERACTIVE"],
            "type": "CARD",
            "name": self.name,
            "data": known,
        }
        if self.expires is not None:
            year, month = self.expires
            fields["creditCardInfo"] = {**known, "expYear": year, "expMonth": month}
        return fields


class StoredMethodsResponse(WebhookResponse):
    """The response to LIST_STORED_PAYMENT_METHODS."""

    cards: tuple[StoredCard, ...] = ()

    def dump(self) -> dict[str, Any]:
        """Return the JSON object for Saleor."""
        return {"paymentMethods": [card.dump() for card in self.cards]}


class MethodDeletedResponse(WebhookResponse):
    """The response to STORED_PAYMENT_METHOD_DELETE_REQUESTED; ``error`` is for the customer."""

    result: Literal["SUCCESSFULLY_DELETED", "FAILED_TO_DELETE"]
    error: Message | None = None

    @classmethod
    def deleted(cls) -> Self:
        """Return the response for a method that is deleted."""
        return cls(result="SUCCESSFULLY_DELETED")

    @classmethod
    def failure(cls, message: str) -> Self:
        """Return the response for a method that was not deleted, with the reason."""
        return cls(result="FAILED_TO_DELETE", error=message)

    def dump(self) -> dict[str, Any]:
        """Return the JSON object for Saleor."""
        return {"result": self.result} | ({"error": self.error} if self.error else {})
