"""The two kinds of model: what we ask for (strict) and what the gateway says (tolerant)."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    PlainSerializer,
    SecretStr,
    SerializationInfo,
    ValidationError,
    WrapValidator,
    model_validator,
)
from pydantic_core import ErrorDetails
from pydantic_core.core_schema import ValidatorFunctionWrapHandler

from app.gateway.errors import InvalidRequestError, quoted
from app.validation import words_of

_WIRE = object()

# Never shown, not even in part, wherever they stand.
CARD_FIELDS = frozenset(
    {"cc_number", "exp_month", "exp_year", "card_cvv", "cc_token", "cryptogram", "token", "recipient_cc_number"}
)
# Shown as "a text of 12 characters": a log is no place for people's names and addresses.
_PERSONAL_PREFIXES = ("customer_", "recipient_", "wallet_", "browser")


def unveiled(info: SerializationInfo) -> bool:
    """Whether a model is being written into the request itself, not into a log or a test's output."""
    return info.context is _WIRE


def _reveal(value: SecretStr, info: SerializationInfo) -> str | SecretStr:
    return value.get_secret_value() if unveiled(info) else value


# A card token or card field. Dumped as asterisks, except into the request itself (``to_wire``).
Secret = Annotated[SecretStr, PlainSerializer(_reveal)]


def _digits(least: int, most: int) -> Callable[[SecretStr], SecretStr]:
    def check(value: SecretStr) -> SecretStr:
        text = value.get_secret_value()
        if not (text.isascii() and text.isdecimal() and least <= len(text) <= most):
            raise ValueError(f"{least} to {most} digits")
        return value

    return check


CardNumber = Annotated[Secret, AfterValidator(_digits(12, 19))]
CardCvv = Annotated[Secret, AfterValidator(_digits(3, 4))]

T = TypeVar("T")


def _or_nothing(value: object, handler: ValidatorFunctionWrapHandler) -> Any:
    try:
        return handler(value)
    except ValidationError:
        return None


# A part of a record that explains and does not decide. If it is malformed, the record is read without it: no payment
# is lost over the shape of its fee.
Aside = Annotated[T | None, WrapValidator(_or_nothing)]


class _Model(BaseModel):
    # repr shows these fields only: models meet logs and tracebacks.
    _shown: ClassVar[tuple[str, ...]] = ()

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        for name in self._shown:
            value = getattr(self, name, None)
            if value is not None:
                yield name, str(value)

    def __str__(self) -> str:
        return repr(self)


class ResponseModel(_Model):
    """What the gateway says. Unknown fields are kept in ``model_extra``; numbers where text belongs are accepted."""

    model_config = ConfigDict(
        extra="allow",
        frozen=True,
        validate_by_name=True,
        validate_by_alias=True,
        coerce_numbers_to_str=True,
        hide_input_in_errors=True,
    )

    def to_wire(self) -> dict[str, Any]:
        """The JSON members as the gateway writes them (``wire.dumps`` writes them out): what was set, nulls too."""
        return self.model_dump(by_alias=True, exclude_unset=True, context=_WIRE)


class RequestModel(_Model):
    """What we ask for. Construction raises ``InvalidRequestError`` for whatever breaks a limit of the interface."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        validate_by_name=True,
        validate_by_alias=True,
        hide_input_in_errors=True,
        allow_inf_nan=False,
    )

    def to_wire(self) -> dict[str, Any]:
        """The JSON members of the request; what is not given is left out."""
        return self.model_dump(by_alias=True, exclude_none=True, context=_WIRE)

    @model_validator(mode="wrap")
    @classmethod
    def _in_our_words(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(data)
        except ValidationError as error:
            found = error.errors(include_url=False)[0]
        # Outside of the handler: the validation error holds what was given, which may be a card.
        field = ".".join(str(part) for part in found["loc"]) or cls.__name__
        given = "nothing" if found["type"] == "missing" else shown(field, found["input"])
        raise InvalidRequestError(field, _limit(found), given)


# pydantic's words for a broken limit, in ours.
_LIMITS = {
    "missing": "is required",
    "extra_forbidden": "is no field of this request",
    "string_too_long": "at most {max_length} characters",
    "string_too_short": "at least {min_length} characters",
    "too_long": "at most {max_length} of them",
    "too_short": "at least {min_length} of them",
    "value_error": "{error}",
}


def _limit(found: ErrorDetails) -> str:
    words = _LIMITS.get(found["type"])
    return words.format_map(found.get("ctx", {})) if words else words_of(found)


def shown(field: str, value: object) -> str:
    """What of ``value`` may be told: short plain values; of people's data only the size; of cards nothing."""
    name = field.rsplit(".", 1)[-1]
    parts = set(field.split("."))
    if parts & CARD_FIELDS:
        return "(not shown)"
    match value:
        case None:
            return "nothing"
        case dict() | list() | tuple():
            return f"{len(value)} items"
        case str() if len(value) > 64 or name.startswith(_PERSONAL_PREFIXES):
            return f"a text of {len(value)} characters"
        case bool() | int() | str():
            return quoted(str(value)) or "an empty text"
        case _:
            text = str(value) if type(value).__str__ is not object.__str__ else type(value).__name__
            return quoted(text)[:64]
