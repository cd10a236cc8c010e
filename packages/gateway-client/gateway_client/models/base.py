"""The two base models: requests (strict) and responses of the gateway (tolerant)."""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextvars import ContextVar
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

from gateway_client.errors import BrokenRule, InvalidRequestError, sanitize
from integration_base.validation import error_message

_WIRE = object()

# Never shown, not even in part, wherever they occur.
CARD_FIELDS = frozenset(
    {"cc_number", "exp_month", "exp_year", "card_cvv", "cc_token", "cryptogram", "token", "recipient_cc_number"}
)
# Shown as "a text of 12 characters": people's names and addresses do not belong in a log.
_PERSONAL_PREFIXES = ("customer_", "recipient_", "wallet_", "browser")


def is_for_wire(info: SerializationInfo) -> bool:
    """Return True if a model is being serialized for the request itself, not for a log or a test's output."""
    return info.context is _WIRE


def _reveal(value: SecretStr, info: SerializationInfo) -> str | SecretStr:
    return value.get_secret_value() if is_for_wire(info) else value


# A card token or card field. Dumped as asterisks, except into the request itself (``to_wire``).
Secret = Annotated[SecretStr, PlainSerializer(_reveal)]


def _digits_validator(least: int, most: int) -> Callable[[SecretStr], SecretStr]:
    def check(value: SecretStr) -> SecretStr:
        text = value.get_secret_value()
        if not (text.isascii() and text.isdecimal() and least <= len(text) <= most):
            raise ValueError(f"{least} to {most} digits")
        return value

    return check


CardNumber = Annotated[Secret, AfterValidator(_digits_validator(12, 19))]
CardCvv = Annotated[Secret, AfterValidator(_digits_validator(3, 4))]

T = TypeVar("T")


def _or_none(value: object, handler: ValidatorFunctionWrapHandler) -> Any:
    try:
        return handler(value)
    except ValidationError:
        return None


# A field of a record that is informative, not decisive. If it is malformed, it is read as ``None``: no payment is lost
# over the shape of its fee.
Lenient = Annotated[T | None, WrapValidator(_or_none)]


class _Model(BaseModel):
    # The only fields in the repr, because models end up in logs and tracebacks.
    _repr_fields: ClassVar[tuple[str, ...]] = ()

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        for name in self._repr_fields:
            value = getattr(self, name, None)
            if value is not None:
                yield name, str(value)

    def __str__(self) -> str:
        return repr(self)


class ResponseModel(_Model):
    """A model of a response. Unknown fields are stored in ``model_extra``; numbers are accepted where text belongs."""

    model_config = ConfigDict(
        extra="allow",
        frozen=True,
        validate_by_name=True,
        validate_by_alias=True,
        coerce_numbers_to_str=True,
        hide_input_in_errors=True,
    )

    def to_wire(self) -> dict[str, Any]:
        """Return the JSON members as the gateway writes them: the fields that were set, nulls included.

        ``exact_json.dumps`` formats them.
        """
        return self.model_dump(by_alias=True, exclude_unset=True, context=_WIRE)


# Whether an enclosing request is being validated: then that one reports the errors of all its parts.
_IS_NESTED: ContextVar[bool] = ContextVar("inside", default=False)


class _NestedBrokenRulesError(ValueError):
    """The broken rules of a part of a request, passed on to the whole."""

    def __init__(self, broken: Sequence[BrokenRule]) -> None:
        super().__init__()
        self.broken = broken


class RequestModel(_Model):
    """A model of a request.

    Construction raises one ``InvalidRequestError``, which names every field that breaks a rule of the interface,
    including nested fields.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        validate_by_name=True,
        validate_by_alias=True,
        hide_input_in_errors=True,
        allow_inf_nan=False,
    )

    def to_wire(self) -> dict[str, Any]:
        """Return the JSON members of the request, without fields that are not given."""
        return self.model_dump(by_alias=True, exclude_none=True, context=_WIRE)

    @classmethod
    def _check_combination(cls, given: Set[str]) -> Iterator[BrokenRule]:  # noqa: ARG003 - for subclasses that use it
        """Yield the rules that the combination of given fields breaks, whatever their values."""
        yield from ()

    @model_validator(mode="wrap")
    @classmethod
    def _raise_invalid_request(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        nested = _IS_NESTED.get()
        token = _IS_NESTED.set(True)
        broken: list[BrokenRule] = []
        try:
            model = handler(data)
        except ValidationError as error:
            broken.extend(_broken_rules(cls, error))
        except InvalidRequestError as error:  # of a rule about several fields
            broken.extend(error.broken)
        finally:
            _IS_NESTED.reset(token)
        broken_fields = {rule.field for rule in broken}
        if isinstance(data, Mapping):
            given = frozenset(name for name, value in data.items() if value is not None)
            broken.extend(rule for rule in cls._check_combination(given) if rule.field not in broken_fields)
        # Raised outside of the handlers: the validation error holds the input, which may be a card.
        if not broken:
            return model
        if nested:
            raise _NestedBrokenRulesError(broken)
        order_id = data.get("order_id") if isinstance(data, Mapping) and "order_id" not in broken_fields else None
        raise InvalidRequestError.of(broken, order_id=order_id)


def _broken_rules(model: type[BaseModel], error: ValidationError) -> Iterator[BrokenRule]:
    """Yield the broken rules that pydantic found, in our wording."""
    errors = error.errors(include_url=False)
    locations = [found["loc"] for found in errors]
    for found in errors:
        if any(len(loc) > len(found["loc"]) and loc[: len(found["loc"])] == found["loc"] for loc in locations):
            continue  # a list that is only too short because some of its items are invalid
        steps = [str(step) for step in found["loc"] if not str(step).startswith("[")]  # "[...]" is the tag of a union
        cause = found.get("ctx", {}).get("error")
        if isinstance(cause, _NestedBrokenRulesError):
            for rule in cause.broken:
                yield BrokenRule(".".join([*steps, rule.field]), rule.limit, rule.given)
        else:
            field = ".".join(steps) or model.__name__
            given = "nothing" if found["type"] == "missing" else displayable(field, found["input"])
            yield BrokenRule(field, _limit_text(found), given)


# Our wording of a broken limit, by pydantic's error type.
_LIMITS = {
    "missing": "is required",
    "extra_forbidden": "is no field of this request",
    "string_too_long": "at most {max_length} characters",
    "string_too_short": "at least {min_length} characters",
    "too_long": "at most {max_length} of them",
    "too_short": "at least {min_length} of them",
    "value_error": "{error}",
}


def _limit_text(found: ErrorDetails) -> str:
    template = _LIMITS.get(found["type"])
    return template.format_map(found.get("ctx", {})) if template else error_message(found)


def displayable(field: str, value: object) -> str:
    """Return what may be shown of ``value``: short plain values; only the size of personal data; nothing of cards."""
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
        case bool() | int() | float() | str():
            return sanitize(str(value)) or "an empty text"
        case _:
            text = str(value) if type(value).__str__ is not object.__str__ else type(value).__name__
            return sanitize(text)[:64]
