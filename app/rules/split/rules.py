"""Split rules, which a store owner configures once for a merchant account as TOML or JSON. Pure.

Stored in ``MerchantAccount.split_rules``; neither staff nor a storefront ever computes a share.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from app.i18n.messages import Joined, LazyMessage, gettext_noop
from app.i18n.validation import FieldError, find_field_errors

METADATA_KEY = "sub_merchant_id"
_HUNDRED = Decimal(100)


MAX_CHARACTERS = 1_000_000  # characters
_MOST_QUOTED = 80  # characters of a line

_NOT_A_SUB_MERCHANT = gettext_noop("%(text)s is not a sub-merchant: the gateway's support gives out UUIDs")
_NO_RULES = LazyMessage("these are not split rules: begin with mode = 'metadata' or mode = 'percentages'")
_NO_DEFAULT = gettext_noop("%(bears)s: the default sub-merchant, but none is named: give its UUID as default")
_NO_DEFAULT_OR_LINES = gettext_noop(
    "%(bears)s: the default sub-merchant, but none is named: give its UUID as default, or set shipping = 'lines'"
)


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
        raise ValueError(LazyMessage(_NOT_A_SUB_MERCHANT, text=repr(text))) from None


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

    def allowing(self, others: Iterable[str]) -> "SplitRules":
        """Return the rules by which those may have money too: whoever received some may have gone since."""
        return self.model_copy(update={"names": {who: who for who in others} | self.names}) if self.names else self

    def name_of(self, who: str) -> str:
        """Return the display name of a sub-merchant."""
        return self.names.get(who, who)

    @model_validator(mode="after")
    def _check_consistency(self) -> "SplitRules":
        if self.mode is SplitMode.PERCENTAGES:
            self._check_percentages()
        elif self.percentages:
            mode = repr(self.mode.value)
            raise ValueError(LazyMessage("percentages are for mode = 'percentages'; the mode is %(mode)s", mode=mode))
        if self.mode is not SplitMode.OFF:
            self._check_default()
        for who in (*self.percentages, *filter(None, [self.default, self._shipping_recipient])):
            if not self.allows(who):
                raise ValueError(LazyMessage("%(who)s is not among the names: add it, or correct it", who=who))
        return self

    @property
    def _shipping_recipient(self) -> str | None:
        return None if self.shipping in {"default", "lines"} else self.shipping

    def _check_percentages(self) -> None:
        whole = sum(self.percentages.values(), Decimal())
        if whole != _HUNDRED:
            # As rules are written: with a point, in every language.
            raise ValueError(LazyMessage("the percentages sum to %(sum)s, not to 100", sum=str(whole)))

    def _check_default(self) -> None:
        if self.default is not None:
            return
        bears = ["rounding"] if self.rounding == "default" else []
        if self.mode is SplitMode.METADATA:
            bears += [name for name in ("shipping", "discounts", "gift_cards") if getattr(self, name) == "default"]
        if bears:
            message = _NO_DEFAULT_OR_LINES if "shipping" in bears else _NO_DEFAULT
            raise ValueError(LazyMessage(message, bears=Joined(tuple(bears))))


def read_rules(data: Mapping[str, Any] | None) -> SplitRules:
    """Return the rules in ``data`` (None: payments are not split). Raises RulesError."""
    if data is not None and not isinstance(data, Mapping):
        raise RulesError([_NO_RULES])
    return _validate(data or {}, "")


def _validate(data: Mapping[str, Any], text: str) -> SplitRules:
    """Return the rules in ``data``, which was parsed from ``text``: errors name its lines. Raises RulesError."""
    try:
        return SplitRules.model_validate(data)
    except ValidationError as error:
        found = find_field_errors(error)
    raise RulesError([_reason(wrong, _line_of(wrong, text)) for wrong in found])


def _reason(wrong: FieldError, line: int | None) -> str:
    """Return the error as a translatable message."""
    if not wrong.path:
        return wrong.message
    reason = LazyMessage("%(field)s: %(why)s", field=wrong.field, why=wrong.message)
    return reason if line is None else LazyMessage("line %(line)s: %(reason)s", line=line, reason=reason)


def _line_of(wrong: FieldError, text: str) -> int | None:
    """Return the number of the line in which the field of an error stands; None where it is not found."""
    for name in reversed(wrong.path):
        key = re.compile(rf"""^\s*["']?{re.escape(name)}["']?\s*[=:]|["'{{,\s]{re.escape(name)}["']?\s*[=:]""")
        for number, line in enumerate(text.splitlines(), start=1):
            if key.search(line):
                return number
    return None


def format_rules(rules: SplitRules) -> str:
    """Return rules as TOML, without those that have their defaults."""
    given = rules.model_dump(mode="json", exclude_defaults=True)
    lines = [f"{name} = {_toml_text(value)}" for name, value in given.items() if isinstance(value, str)]
    for name, table in given.items():
        if isinstance(table, dict):
            plain = name == "percentages"
            rows = [f"{who} = {value if plain else _toml_text(value)}" for who, value in table.items()]
            lines += ["", f"[{name}]", *rows]
    return "\n".join(lines)


def _toml_text(text: str) -> str:
    """Return a basic string, whose escapes are those of JSON; TOML also wants one for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def names_of(data: Mapping[str, Any] | None) -> Mapping[str, str]:
    """Return the display names of the sub-merchants, by UUID; empty when ``data`` is no longer valid."""
    try:
        return read_rules(data).names
    except RulesError:
        return {}


def parse_rules(text: str, *, as_json: bool = False) -> SplitRules:
    """Parse rules from text; empty text means that payments are not split. Raises RulesError."""
    if len(text) > MAX_CHARACTERS:
        raise RulesError([LazyMessage("rules have at most %(count)s characters", count=MAX_CHARACTERS)])
    try:
        is_json = as_json or text.lstrip().startswith("{")
        # Not ``exact_json``, whose errors omit all input: people need the position of the error in their text.
        data: Any = json.loads(text, parse_float=Decimal) if is_json else tomllib.loads(text, parse_float=Decimal)
    except (ValueError, InvalidOperation, RecursionError) as error:
        raise RulesError([_parse_error(error, text)]) from error
    if not isinstance(data, Mapping):
        return read_rules(data)
    return _validate(data, text)


def _parse_error(error: Exception, text: str) -> LazyMessage:
    """Return where the text cannot be parsed: its line and column, and what stands there."""
    lines = text.splitlines() or [""]
    if isinstance(error, json.JSONDecodeError):
        line, column = error.lineno, error.colno
    elif found := re.search(r"\(at line (\d+), column (\d+)\)$", str(error)):
        line, column = int(found[1]), int(found[2])
    elif str(error).endswith("(at end of document)"):
        line, column = len(lines), len(lines[-1]) + 1
    else:  # a number that is too long, or nesting that is too deep
        return LazyMessage("it is neither TOML nor JSON")
    return LazyMessage(
        "it is neither TOML nor JSON: line %(line)s, column %(column)s: %(text)s",
        line=line,
        column=column,
        text=lines[line - 1].strip()[:_MOST_QUOTED] if line <= len(lines) else "",
    )
