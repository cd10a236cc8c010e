"""How Saleor 3.23 parses an app's responses (Saleor contract, A.4 and A.5).

Errors::

    ResponseRefusedError   the response is not accepted; the error text becomes the message of a failure event
    SaleorCrashedError     the response makes Saleor itself fail: "Internal Server Error", or a task that dies silently
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, HttpUrl, ValidationError, field_validator

from saleor_app_sdk.testing.money import quantize_stored_amount
from saleor_app_sdk.testing.vocabulary import Action, EventType

_Model = TypeVar("_Model", bound=BaseModel)

MESSAGE_LENGTH = 512
PSP_REFERENCE_LENGTH = 512
EXTERNAL_URL_LENGTH = 200

_SESSION_RESULTS = {
    **dict.fromkeys(("AUTHORIZATION_FAILURE", "CHARGE_FAILURE"), False),
    **dict.fromkeys(("AUTHORIZATION_ACTION_REQUIRED", "CHARGE_ACTION_REQUIRED", "CANCEL_SUCCESS"), False),
    **dict.fromkeys(("AUTHORIZATION_SUCCESS", "CHARGE_SUCCESS"), True),
    **dict.fromkeys(("AUTHORIZATION_REQUEST", "CHARGE_REQUEST"), True),
}
"""The valid results of a session response, and whether each requires a ``pspReference``."""


class ResponseRefusedError(Exception):
    """Saleor does not accept the response; the text is Saleor's."""


class SaleorCrashedError(Exception):
    """The response makes Saleor itself fail. ``code`` is the exception's name as the API shows it."""

    def __init__(self, code: str) -> None:
        super().__init__("Internal Server Error")
        self.code = code


def truncate_message(message: str) -> str:
    """Return the message as Saleor stores it: at most 512 characters, the last an ellipsis if it was longer."""
    return message if len(message) <= MESSAGE_LENGTH else message[: MESSAGE_LENGTH - 1] + "…"


def _known_actions(value: Any) -> Any:
    # Unknown actions are skipped; a value that is not a list invalidates the whole response: pydantic rejects it.
    return [item for item in value if item in list(Action)] if isinstance(value, list) else value


class _CardDetails(BaseModel):
    type: Literal["CARD"]
    name: Annotated[str, Field(max_length=256)]
    brand: Annotated[str, Field(max_length=40)] | None = None
    first_digits: Annotated[str, Field(max_length=4)] | None = Field(None, alias="firstDigits")
    last_digits: Annotated[str, Field(max_length=4)] | None = Field(None, alias="lastDigits")
    exp_month: Annotated[int, Field(ge=1, le=12)] | None = Field(None, alias="expMonth")
    exp_year: Annotated[int, Field(ge=2000, le=9999)] | None = Field(None, alias="expYear")


class _OtherDetails(BaseModel):
    type: Literal["OTHER"]
    name: Annotated[str, Field(max_length=256)]


class _GiftCardDetails(BaseModel):
    type: Literal["GIFT_CARD"]
    name: Annotated[str, Field(max_length=256)]
    brand: Annotated[str, Field(max_length=40)] | None = None
    last_chars: Annotated[str, Field(max_length=4)] | None = Field(None, alias="lastChars")


_MethodDetails = Annotated[_OtherDetails | _CardDetails | _GiftCardDetails, Field(discriminator="type")]


class TransactionResponse(BaseModel):
    """A parsed response with a ``result``. ``amount`` and ``time`` are None where Saleor fills them in."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    result: EventType
    psp_reference: str | None = Field(None, alias="pspReference")
    amount: Decimal | None = None
    time: datetime | None = None
    external_url: HttpUrl | None = Field(None, alias="externalUrl")
    message: Annotated[str, BeforeValidator(lambda value: truncate_message(str(value or "")))] = ""
    actions: Annotated[list[str] | None, BeforeValidator(_known_actions)] = None

    @field_validator("time", mode="before")
    @classmethod
    def _iso_8601(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return datetime.fromisoformat(value)
        except ValueError as exc:
            # The braces are in Saleor's own text: its placeholder is never filled in.
            msg = "Invalid value for field 'time': {time}. Expected ISO 8601 format."
            raise ValueError(msg) from exc

    @field_validator("time", mode="after")
    @classmethod
    def _aware(cls, value: datetime | None) -> datetime | None:
        return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value

    @field_validator("amount", mode="after")
    @classmethod
    def _three_decimals(cls, value: Decimal | None) -> Decimal | None:
        try:
            return None if value is None else quantize_stored_amount(value)
        except InvalidOperation as exc:  # more digits than Python's decimals have
            code = "InvalidOperation"
            raise SaleorCrashedError(code) from exc

    @property
    def url(self) -> str:
        """``externalUrl`` as text, empty if there is none."""
        return "" if self.external_url is None else str(self.external_url)

    def check_column_lengths(self) -> Self:
        """Raise SaleorCrashedError if a value is too long for its column: Saleor does not check these limits itself."""
        if len(self.psp_reference or "") > PSP_REFERENCE_LENGTH or len(self.url) > EXTERNAL_URL_LENGTH:
            code = "DataError"
            raise SaleorCrashedError(code)
        return self


class SessionResponse(TransactionResponse):
    """The response to initialize or process."""

    data: Any = None
    method_details: _MethodDetails | None = Field(None, alias="paymentMethodDetails")


class _WithReference(BaseModel):
    psp_reference: str = Field(alias="pspReference")


class AsyncActionResponse(_WithReference):
    """The asynchronous response to an action: no result, only a reference (and, fatally, ``actions``)."""

    actions: Annotated[list[str] | None, BeforeValidator(_known_actions)] = None


class _SessionResponseWithReference(SessionResponse):
    psp_reference: str = Field(alias="pspReference")


class _ActionResponseWithReference(TransactionResponse):
    psp_reference: str = Field(alias="pspReference")


def parse_session_response(response: Mapping[str, Any]) -> SessionResponse:
    """Return the parsed response to a session webhook; raise ResponseRefusedError or SaleorCrashedError."""
    result = response.get("result")
    if not isinstance(result, str) or result not in _SESSION_RESULTS:
        raise ResponseRefusedError(truncate_message(_invalid_result_message(result, list(EventType))))
    model = _SessionResponseWithReference if _SESSION_RESULTS[result] else SessionResponse
    return _parse(model, response).check_column_lengths()


def parse_action_response(response: Mapping[str, Any], action: Action) -> TransactionResponse | AsyncActionResponse:
    """Return the parsed response to a staff action; raise ResponseRefusedError or SaleorCrashedError."""
    success, failure = f"{action}_SUCCESS", f"{action}_FAILURE"
    result = response.get("result")
    if result is None:
        pending = _parse(AsyncActionResponse, response)
        if len(pending.psp_reference) > PSP_REFERENCE_LENGTH:
            code = "DataError"
            raise SaleorCrashedError(code)
        return pending
    if result not in [success, failure]:
        raise ResponseRefusedError(truncate_message(_invalid_result_message(result, [success, failure])))
    return _parse(
        _ActionResponseWithReference if result == success else TransactionResponse, response
    ).check_column_lengths()


def _invalid_result_message(result: Any, possible: Sequence[str]) -> str:
    return f"Missing or invalid value for `result`: {result}. Possible values: {', '.join(possible)}."


def _parse(model: type[_Model], response: Mapping[str, Any]) -> _Model:
    try:
        return model.model_validate(response)
    except ValidationError as exc:
        raise ResponseRefusedError(truncate_message("\n\n".join(map(_error_message, exc.errors())))) from exc


def _error_message(error: Any) -> str:
    field = error["loc"][0]
    if error["type"] == "missing":
        return f"Missing value for field: {field}. Input: {error['input']}."
    return f"Incorrect value ({error['input']}) for field: {field}. Error: {error['msg']}."
