"""Split rules, which a store owner configures once for a merchant account as TOML or JSON. Pure.

Stored in ``MerchantAccount.split_rules``; neither staff nor a storefront ever computes a share.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from app.i18n.messages import LazyMessage
from app.validation import FieldError, find_field_errors

METADATA_KEY = "sub_merchant_id"
_HUNDRED = Decimal(100)


MAX_CHARACTERS = 1_000_000  # characters


class RulesError(Exception):
    """Rules that are invalid. ``reasons`` are shown to the person who wrote them."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


def parse_sub_merchant(text: str) -> str:
    """Return a sub-merchant's id in canonical form, in which ids are compared everywhere. Raises ValueError."""
    try:
        return str(UUID(text.strip()))
    except ValueError:
        raise ValueError(f"{text!r} is not a sub-merchant: the gateway's support gives out UUIDs") from None


def _parse_shipping(text: str) -> str:
    return text if text in {"default", "lines"} else parse_sub_merchant(text)


def _float_to_text(value: object) -> object:
    """Convert a float to its decimal digits: 33.3 in a file means 33.3, not the nearest binary fraction."""
    return str(value) if isinstance(value, float) else value


SubMerchant = Annotated[str, AfterValidator(parse_sub_merchant)]
Percent = Annotated[Decimal, BeforeValidator(_float_to_text), Field(gt=0, le=_HUNDRED)]
Bearer = Literal["lines", "default"]


class SplitMode(StrEnum):
    """How a payment is divided among sub-merchants."""

    OFF = "off"
    METADATA = "metadata"
    PERCENTAGES = "percentages"


class SplitRules(BaseModel):
    """The rules of one account.

    ``metadata``: each line goes to the sub-merchant named under ``metadata_key`` in the public metadata of its variant,
    else of its product, else of its product type; a line that names none goes to ``default``. ``percentages``: every
    payment is divided by the same percentages, whatever is in it.

    ``names`` are display names of the sub-merchants. If given, it is also the complete list: a payment for any other
    sub-merchant is refused, which catches a mistyped UUID before money goes to the wrong account.

    For ``metadata`` only: ``shipping`` goes to the default sub-merchant, to the owners of the ``lines`` in proportion
    to their value, or to the named sub-merchant. ``discounts``: with ``lines`` each gets the price paid for its lines;
    with ``default`` each gets the price before discounts, and the default sub-merchant bears the difference, up to its
    own share. ``gift_cards`` pay for all parts in proportion (``lines``), or for the default sub-merchant's
    part first. ``rounding``: leftover cents go to the sub-merchants that lose most by rounding, or all to ``default``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: SplitMode = SplitMode.OFF
    default: SubMerchant | None = None
    metadata_key: str = Field(default=METADATA_KEY, min_length=1, max_length=128)
    percentages: dict[SubMerchant, Percent] = Field(default_factory=dict)
    names: dict[SubMerchant, Annotated[str, Field(min_length=1, max_length=100)]] = Field(default_factory=dict)
    shipping: Annotated[str, AfterValidator(_parse_shipping)] = "default"
    discounts: Bearer = "lines"
    gift_cards: Bearer = "lines"
    rounding: Literal["largest_remainder", "default"] = "largest_remainder"

    @property
    def on(self) -> bool:
        """Whether payments are split."""
        return self.mode is not SplitMode.OFF

    def allows(self, who: str) -> bool:
        """Return whether money may go to that sub-merchant."""
        return not self.names or who in self.names

    def name_of(self, who: str) -> str:
        """Return the display name of a sub-merchant."""
        return self.names.get(who, who)

    @model_validator(mode="after")
    def _check_consistency(self) -> "SplitRules":
        if self.mode is SplitMode.PERCENTAGES:
            self._check_percentages()
        elif self.percentages:
            raise ValueError(f"percentages are for mode = 'percentages'; the mode is {self.mode.value!r}")
        if self.mode is not SplitMode.OFF:
            self._check_default()
        for who in (*self.percentages, *filter(None, [self.default, self._shipping_recipient])):
            if not self.allows(who):
                raise ValueError(f"{who} is not among the names: add it, or correct it")
        return self

    @property
    def _shipping_recipient(self) -> str | None:
        return None if self.shipping in {"default", "lines"} else self.shipping

    def _check_percentages(self) -> None:
        whole = sum(self.percentages.values(), Decimal())
        if whole != _HUNDRED:
            raise ValueError(f"the percentages sum to {whole}, not to 100")

    def _check_default(self) -> None:
        if self.default is not None:
            return
        bears = ["rounding"] if self.rounding == "default" else []
        if self.mode is SplitMode.METADATA:
            bears += [name for name in ("shipping", "discounts", "gift_cards") if getattr(self, name) == "default"]
        if bears:
            raise ValueError(
                f"{' and '.join(bears)}: the default sub-merchant, but none is named: give its UUID as default"
                + (", or set shipping = 'lines'" if "shipping" in bears else "")
            )


def read_rules(data: Mapping[str, Any] | None) -> SplitRules:
    """Return the rules in ``data`` (None: payments are not split). Raises RulesError."""
    if data is not None and not isinstance(data, Mapping):
        raise RulesError(["these are not split rules: begin with mode = 'metadata' or mode = 'percentages'"])
    try:
        return SplitRules.model_validate(data or {})
    except ValidationError as error:
        found = find_field_errors(error)
    raise RulesError([_reason(each) for each in found])


def _reason(wrong: FieldError) -> str:
    """Return the error as a translatable message; messages of our own checks are in English only."""
    return LazyMessage("%(field)s: %(why)s", field=wrong.field, why=wrong.message) if wrong.path else wrong.message


def names_of(data: Mapping[str, Any] | None) -> Mapping[str, str]:
    """Return the display names of the sub-merchants, by UUID; empty when ``data`` is no longer valid."""
    try:
        return read_rules(data).names
    except RulesError:
        return {}


def parse_rules(text: str, *, as_json: bool = False) -> SplitRules:
    """Parse rules from text; empty text means that payments are not split. Raises RulesError."""
    if len(text) > MAX_CHARACTERS:
        raise RulesError([f"rules have at most {MAX_CHARACTERS} characters"])
    try:
        is_json = as_json or text.lstrip().startswith("{")
        # Not ``exact_json``, whose errors omit all input: people need the position of the error in their text.
        data: Any = json.loads(text, parse_float=Decimal) if is_json else tomllib.loads(text, parse_float=Decimal)
    except (ValueError, InvalidOperation, RecursionError) as error:
        raise RulesError(
            [LazyMessage("it is neither TOML nor JSON (%(place)s)", place=_error_position(error))]
        ) from error
    return read_rules(data)


def _error_position(error: Exception) -> str:
    """Return the position of a parse error as line:column, or a dash."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.lineno}:{error.colno}"
    found = re.search(r"\(at line (\d+), column (\d+)\)$", str(error))
    return f"{found[1]}:{found[2]}" if found else "-"
