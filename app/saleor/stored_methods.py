"""What Saleor is answered when customers look at the cards that are kept for them, or have one deleted.

Saleor leaves a method out, or all of them, that it cannot read (``saleor/webhook/response_schemas/payment.py``); so
nothing of that kind can be said here. It keeps a list for five minutes, for each customer and channel, and forgets it
when something of it was deleted.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from app.saleor.answers import Answer
from app.saleor.limits import Message, printable

# Saleor makes an id of its own of this one, with colons between its parts, and takes it apart by them.
MethodId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,200}$")]
Shown = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(printable)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


class StoredCard(_Part):
    """A card that is kept. ``expires`` are year and month; None: not known, and Saleor shows no ``creditCardInfo``."""

    id: MethodId
    name: Shown
    brand: Shown
    last_digits: Annotated[str, Field(pattern=r"^[0-9]{4}$")]
    expires: tuple[Annotated[int, Field(ge=2000, le=9999)], Annotated[int, Field(ge=1, le=12)]] | None = None

    def dump(self) -> dict[str, Any]:
        """Return the form of Saleor's ``StoredPaymentMethod``."""
        known = {"brand": self.brand, "lastDigits": self.last_digits}
        said: dict[str, Any] = {
            "id": self.id,
            "supportedPaymentFlows": ["INTERACTIVE"],
            "type": "CARD",
            "name": self.name,
            "data": known,
        }
        if self.expires is not None:
            year, month = self.expires
            said["creditCardInfo"] = {**known, "expYear": year, "expMonth": month}
        return said


class StoredMethodsAnswer(Answer):
    """The answer to LIST_STORED_PAYMENT_METHODS."""

    cards: tuple[StoredCard, ...] = ()

    def dump(self) -> dict[str, Any]:
        """Return the JSON object for Saleor."""
        return {"paymentMethods": [each.dump() for each in self.cards]}


class MethodDeletedAnswer(Answer):
    """The answer to STORED_PAYMENT_METHOD_DELETE_REQUESTED; ``error`` is for the customer."""

    result: Literal["SUCCESSFULLY_DELETED", "FAILED_TO_DELETE"]
    error: Message | None = None

    @classmethod
    def deleted(cls) -> Self:
        """Say that it is kept no longer."""
        return cls(result="SUCCESSFULLY_DELETED")

    @classmethod
    def failure(cls, message: str) -> Self:
        """Say that nothing was deleted, and why."""
        return cls(result="FAILED_TO_DELETE", error=message)

    def dump(self) -> dict[str, Any]:
        """Return the JSON object for Saleor."""
        return {"result": self.result} | ({"error": self.error} if self.error else {})
