"""Who gets what, as a store owner sets it up once for a merchant account, written as TOML or JSON. Pure.

Kept in ``MerchantAccount.split_rules``; neither staff nor a storefront ever computes a share.
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
from app.validation import Invalid, found_wrong

METADATA_KEY = "sub_merchant_id"
_HUNDRED = Decimal(100)


LONGEST = 1_000_000  # characters


class RulesError(Exception):
    """Rules that cannot be kept. ``reasons`` are for the person who wrote them."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


def sub_merchant(text: str) -> str:
    """Return a sub-merchant's id in the one form that everything here compares. Raises ValueError."""
    try:
        return str(UUID(text.strip()))
    except ValueError:
        raise ValueError(f"{text!r} is not a sub-merchant: the gateway's support gives out UUIDs") from None


def _where(text: str) -> str:
    return text if text in {"default", "lines"} else sub_merchant(text)


def _exact(value: object) -> object:
    """Read a percentage from its digits: 33.3 in a file means 33.3, not the nearest binary fraction."""
    return str(value) if isinstance(value, float) else value


SubMerchant = Annotated[str, AfterValidator(sub_merchant)]
Percent = Annotated[Decimal, BeforeValidator(_exact), Field(gt=0, le=_HUNDRED)]
Bearer = Literal["lines", "default"]


class SplitMode(StrEnum):
    """How it is decided who gets what."""

    OFF = "off"
    METADATA = "metadata"
    PERCENTAGES = "percentages"


class SplitRules(BaseModel):
    """The rules of one account.

    ``metadata``: each line goes to the sub-merchant that public metadata of its variant, else its product, else its
    product type names under ``metadata_key``; a line that names nobody goes to ``default``. ``percentages``: every
    payment is divided by the same percentages, whatever is in it.

    ``names`` is how people call the sub-merchants. If it is given, it is also the complete list: a payment for anybody
    else is refused, which catches a mistyped UUID before money goes astray.

    For ``metadata`` only: ``shipping`` goes to the default sub-merchant, by the ``lines`` in proportion to their value,
    or to the sub-merchant named. ``discounts``: with ``lines`` everybody gets what was paid for their lines; with
    ``default`` everybody gets the price before discounts and the default sub-merchant bears the difference, as far as
    its own share goes. ``gift_cards`` pay for a part in proportion (``lines``), or for the default sub-merchant's part
    first. ``rounding``: cents that cannot be divided go to those who lose most by it, or all to ``default``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: SplitMode = SplitMode.OFF
    default: SubMerchant | None = None
    metadata_key: str = Field(default=METADATA_KEY, min_length=1, max_length=128)
    percentages: dict[SubMerchant, Percent] = Field(default_factory=dict)
    names: dict[SubMerchant, Annotated[str, Field(min_length=1, max_length=100)]] = Field(default_factory=dict)
    shipping: Annotated[str, AfterValidator(_where)] = "default"
    discounts: Bearer = "lines"
    gift_cards: Bearer = "lines"
    rounding: Literal["largest_remainder", "default"] = "largest_remainder"

    @property
    def on(self) -> bool:
        """Whether payments are split."""
        return self.mode is not SplitMode.OFF

    def known(self, who: str) -> bool:
        """Whether money may go to that sub-merchant."""
        return not self.names or who in self.names

    def name_of(self, who: str) -> str:
        """Return what people call a sub-merchant."""
        return self.names.get(who, who)

    @model_validator(mode="after")
    def _make_sense(self) -> "SplitRules":
        if self.mode is SplitMode.PERCENTAGES:
            self._percentages_make_a_whole()
        elif self.percentages:
            raise ValueError(f"percentages are for mode = 'percentages'; the mode is {self.mode.value!r}")
        if self.mode is not SplitMode.OFF:
            self._default_is_named()
        for who in (*self.percentages, *filter(None, [self.default, self._carrier])):
            if not self.known(who):
                raise ValueError(f"{who} is not among the names: add it, or correct it")
        return self

    @property
    def _carrier(self) -> str | None:
        return None if self.shipping in {"default", "lines"} else self.shipping

    def _percentages_make_a_whole(self) -> None:
        whole = sum(self.percentages.values(), Decimal())
        if whole != _HUNDRED:
            raise ValueError(f"the percentages sum to {whole}, not to 100")

    def _default_is_named(self) -> None:
        if self.default is not None:
            return
        bears = ["rounding"] if self.rounding == "default" else []
        if self.mode is SplitMode.METADATA:
            bears += [name for name in ("shipping", "discounts", "gift_cards") if getattr(self, name) == "default"]
        if bears:
            raise ValueError(
                f"{' and '.join(bears)}: the default sub-merchant, but none is named: give its UUID as default"
                + (", or say shipping = 'lines'" if "shipping" in bears else "")
            )


def read_rules(data: Mapping[str, Any] | None) -> SplitRules:
    """Return the rules in ``data`` (None: nothing is split). Raises RulesError."""
    if data is not None and not isinstance(data, Mapping):
        raise RulesError(["these are no rules: begin with mode = 'metadata' or mode = 'percentages'"])
    try:
        return SplitRules.model_validate(data or {})
    except ValidationError as error:
        found = found_wrong(error)
    raise RulesError([_words(each) for each in found])


def _words(wrong: Invalid) -> str:
    """Return what is wrong so that it can be said in another language; what our own checks say is only in English."""
    return LazyMessage("%(field)s: %(why)s", field=wrong.field, why=wrong.words) if wrong.where else wrong.words


def names_of(data: Mapping[str, Any] | None) -> Mapping[str, str]:
    """Return what people call the sub-merchants, by UUID; nothing when ``data`` is not right any more."""
    try:
        return read_rules(data).names
    except RulesError:
        return {}


def rules_in(text: str, *, as_json: bool = False) -> SplitRules:
    """Return the rules in a text; no text splits nothing. Raises RulesError."""
    if len(text) > LONGEST:
        raise RulesError([f"rules have at most {LONGEST} characters"])
    try:
        is_json = as_json or text.lstrip().startswith("{")
        # Not ``exact_json``, whose errors say nothing of what they have read: people need the place in what they wrote.
        data: Any = json.loads(text, parse_float=Decimal) if is_json else tomllib.loads(text, parse_float=Decimal)
    except (ValueError, InvalidOperation, RecursionError) as error:
        raise RulesError([LazyMessage("it is neither TOML nor JSON (%(place)s)", place=_place(error))]) from error
    return read_rules(data)


def _place(error: Exception) -> str:
    """Return where reading ended."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.lineno}:{error.colno}"
    found = re.search(r"\(at line (\d+), column (\d+)\)$", str(error))
    return f"{found[1]}:{found[2]}" if found else "-"
