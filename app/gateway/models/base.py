"""The two kinds of model: what we ask for (strict) and what the gateway says (tolerant)."""

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

from app.gateway.errors import BrokenRule, InvalidRequestError, quoted
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


# Whether a request is being made of which another is a part: that one tells what is wrong with all of it.
_INSIDE: ContextVar[bool] = ContextVar("inside", default=False)


class _BrokenInsideError(ValueError):
    """What is wrong with a part of a request, on its way to the whole."""

    def __init__(self, broken: Sequence[BrokenRule]) -> None:
        super().__init__()
        self.broken = broken


class RequestModel(_Model):
    """What we ask for.

    Construction raises one ``InvalidRequestError``, which tells every field that breaks a rule of the interface, those
    inside of others too.
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
        """The JSON members of the request; what is not given is left out."""
        return self.model_dump(by_alias=True, exclude_none=True, context=_WIRE)

    @classmethod
    def _go_together(cls, given: Set[str]) -> Iterator[BrokenRule]:  # noqa: ARG003 - for those that have such rules
        """What is wrong with which fields are there at all, whatever stands in them."""
        yield from ()

    @model_validator(mode="wrap")
    @classmethod
    def _in_our_words(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        inside = _INSIDE.get()
        around = _INSIDE.set(True)
        broken: list[BrokenRule] = []
        try:
            made = handler(data)
        except ValidationError as error:
            broken.extend(_broken(cls, error))
        except InvalidRequestError as error:  # of a rule about several fields
            broken.extend(error.broken)
        finally:
            _INSIDE.reset(around)
        told = {rule.field for rule in broken}
        if isinstance(data, Mapping):
            there = frozenset(name for name, value in data.items() if value is not None)
            broken.extend(rule for rule in cls._go_together(there) if rule.field not in told)
        # Outside of the handlers: the validation error holds what was given, which may be a card.
        if not broken:
            return made
        if inside:
            raise _BrokenInsideError(broken)
        order_id = data.get("order_id") if isinstance(data, Mapping) and "order_id" not in told else None
        raise InvalidRequestError.of(broken, order_id=order_id)


def _broken(model: type[BaseModel], error: ValidationError) -> Iterator[BrokenRule]:
    """The rules that pydantic has found to be broken, in our words."""
    found_wrong = error.errors(include_url=False)
    wrong = [found["loc"] for found in found_wrong]
    for found in found_wrong:
        if any(len(loc) > len(found["loc"]) and loc[: len(found["loc"])] == found["loc"] for loc in wrong):
            continue  # a list that is too short without what is wrong in it
        steps = [str(step) for step in found["loc"] if not str(step).startswith("[")]  # which kind of a union it is
        cause = found.get("ctx", {}).get("error")
        if isinstance(cause, _BrokenInsideError):
            for rule in cause.broken:
                yield BrokenRule(".".join([*steps, rule.field]), rule.limit, rule.given)
        else:
            field = ".".join(steps) or model.__name__
            given = "nothing" if found["type"] == "missing" else shown(field, found["input"])
            yield BrokenRule(field, _limit(found), given)


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
        case bool() | int() | float() | str():
            return quoted(str(value)) or "an empty text"
        case _:
            text = str(value) if type(value).__str__ is not object.__str__ else type(value).__name__
            return quoted(text)[:64]
