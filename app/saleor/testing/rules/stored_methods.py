"""How Saleor reads what an app answers about the payment methods that it keeps for customers.

Source: ``saleor/webhook/response_schemas/payment.py`` and ``saleor/webhook/transport/list_stored_payment_methods.py``.
A method that cannot be read is left out, and so is a ``creditCardInfo``; an answer that nobody can read is an empty
list.
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


def read_methods(answer: Any, app_identifier: str) -> list[dict[str, Any]]:
    """Return the methods as ``storedPaymentMethods`` shows them; what cannot be read is left out."""
    listed = answer.get("paymentMethods") if isinstance(answer, dict) else None
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
                "credit_card_info": _card(raw.get("creditCardInfo")),
                "data": method.data,
            }
        )
    return shown


def own_id(shown_id: str) -> tuple[str, str] | None:
    """Return the app and the app's own id of what ``storedPaymentMethods`` has shown; None: it names none."""
    parts = shown_id.split(":")
    return (parts[1], parts[2]) if len(parts) == 3 and parts[0] == _PREFIX and all(parts) else None


def read_deletion(answer: Any) -> tuple[str, str | None]:
    """Return the result and the error of ``storedPaymentMethodRequestDelete``; ``answer`` None: nothing came back."""
    if answer is None:
        return "FAILED_TO_DELIVER", "Failed to delivery request."
    try:
        deletion = _Deletion.model_validate(answer)
    except ValidationError:
        return "FAILED_TO_DELETE", f"Incorrect value ({answer}) for field: result."
    return deletion.result, deletion.error


def _card(raw: Any) -> dict[str, Any] | None:
    try:
        return _CreditCard.model_validate(raw).model_dump()
    except ValidationError:
        return None
