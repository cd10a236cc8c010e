"""How Saleor parses an app's responses about the payment methods that it stores for customers.

Source: ``saleor/webhook/response_schemas/payment.py`` and ``saleor/webhook/transport/list_stored_payment_methods.py``.
An invalid method is left out, and so is an invalid ``creditCardInfo``; an unreadable response is an empty list.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

_PREFIX = "app"


def _digits(value: Any) -> Any:
    return None if value is None else str(value)


class _CreditCard(BaseModel):
    brand: str
    last_digits: Annotated[str, BeforeValidator(_digits)] = Field(alias="lastDigits")
    exp_year: int = Field(alias="expYear")
    exp_month: int = Field(alias="expMonth")
    first_digits: Annotated[str | None, BeforeValidator(_digits)] = Field(None, alias="firstDigits")


class _Method(BaseModel):
    id: str
    flows: list[Literal["INTERACTIVE"]] | None = Field(None, alias="supportedPaymentFlows")
    type: str
    name: str | None = None
    data: Any = None


class _Deletion(BaseModel):
    result: Literal["SUCCESSFULLY_DELETED", "FAILED_TO_DELETE", "FAILED_TO_DELIVER"]
    error: str | None = None


def parse_methods(response: Any, app_identifier: str) -> list[dict[str, Any]]:
    """Return the methods as ``storedPaymentMethods`` shows them, without invalid ones."""
    listed = response.get("paymentMethods") if isinstance(response, dict) else None
    shown = []
    for raw in listed if isinstance(listed, list) else ():
        try:
            method = _Method.model_validate(raw)
        except ValidationError:
            continue
        shown.append(
            {
                "id": f"{_PREFIX}:{app_identifier}:{method.id}",
                "payment_method_id": method.id,
                "gateway": app_identifier,
                "type": method.type,
                "name": method.name,
                "flows": method.flows or [],
                "credit_card_info": _parse_card(raw.get("creditCardInfo")),
                "data": method.data,
            }
        )
    return shown


def parse_method_id(shown_id: str) -> tuple[str, str] | None:
    """Return the app's identifier and its own id for an id that ``storedPaymentMethods`` shows; None if invalid."""
    parts = shown_id.split(":")
    return (parts[1], parts[2]) if len(parts) == 3 and parts[0] == _PREFIX and all(parts) else None


def parse_deletion(response: Any) -> tuple[str, str | None]:
    """Return result and error of ``storedPaymentMethodRequestDelete``; ``response`` None: there was no response."""
    if response is None:
        return "FAILED_TO_DELIVER", "Failed to delivery request."
    try:
        deletion = _Deletion.model_validate(response)
    except ValidationError:
        return "FAILED_TO_DELETE", f"Incorrect value ({response}) for field: result."
    return deletion.result, deletion.error


def _parse_card(raw: Any) -> dict[str, Any] | None:
    try:
        return _CreditCard.model_validate(raw).model_dump()
    except ValidationError:
        return None
