"""The parts of a payment request: attributes, the payer's browser, split items, subscription plan."""

import re
import unicodedata
from collections.abc import Iterable
from datetime import time as time_of_day
from decimal import Decimal
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field, PlainSerializer, field_validator, model_validator
from pydantic.alias_generators import to_pascal

from gateway_client.errors import InvalidRequestError
from gateway_client.luhn import passes_luhn
from gateway_client.models.base import RequestModel
from gateway_client.models.products import Products
from gateway_client.models.values import Amount, Day, Url, Uuid
from integration_base.amounts import format_amount

LONGEST_KEY, LONGEST_VALUE, MOST_ATTRIBUTES = 45, 250, 20
_CARD_NUMBER = re.compile(r"(?<!\d)[2-6](?:[ -]?\d){12,18}(?!\d)")


class Attribute(RequestModel):
    """One pair that staff can search for in the merchant portal (gateway interface, Payment attributes).

    A key of at most 45 characters and a value of at most 250, with Latin or Cyrillic letters and no card numbers.
    """

    _repr_fields: ClassVar[tuple[str, ...]] = ("key",)

    key: str = Field(min_length=1, max_length=LONGEST_KEY)
    value: str = Field(max_length=LONGEST_VALUE)

    @field_validator("key", "value")
    @classmethod
    def _check_text(cls, text: str) -> str:
        if any(not _is_allowed_character(character) for character in text):
            raise ValueError("letters are Latin or Cyrillic")
        if any(passes_luhn(found.group()) for found in _CARD_NUMBER.finditer(text)):
            raise ValueError("no card numbers in attributes")
        return text

    @classmethod
    def fitting(cls, key: str, value: str) -> "Attribute":
        """Return the pair adapted to the rules: truncated, other letters replaced by ``?``, card numbers removed.

        For text that shoppers typed: a payment must not fail over an optional detail.
        """

        def clean(text: str) -> str:
            plain = "".join(character if _is_allowed_character(character) else "?" for character in text)
            return _CARD_NUMBER.sub(lambda found: "(number)" if passes_luhn(found.group()) else found.group(), plain)

        return cls(key=clean(key)[:LONGEST_KEY] or "?", value=clean(value)[:LONGEST_VALUE])


def _is_allowed_character(character: str) -> bool:
    return not character.isalpha() or unicodedata.name(character, "").startswith(("LATIN", "CYRILLIC"))


Attributes = Annotated[tuple[Attribute, ...], Field(max_length=MOST_ATTRIBUTES)]


class BrowserFingerprint(RequestModel):
    """The payer's browser, for 3-D Secure 2. All ten members are strings; numbers and booleans are written as such."""

    # color_depth is browserColorDepth on the wire.
    model_config = ConfigDict(alias_generator=lambda name: "browser" + to_pascal(name), coerce_numbers_to_str=True)

    color_depth: str
    screen_height: str
    screen_width: str
    java_enabled: str
    language: str
    time_zone: str
    time_zone_offset: str
    accept_header: str
    ip_address: str
    user_agent: str

    @field_validator("*", mode="before")
    @classmethod
    def _write_boolean(cls, value: object) -> object:
        return str(value).lower() if isinstance(value, bool) else value


class SplitItem(RequestModel):
    """The part of an amount that belongs to one sub-merchant."""

    _repr_fields: ClassVar[tuple[str, ...]] = ("sub_merchant_id", "amount")

    amount: Amount
    sub_merchant_id: Uuid
    products: Products | None = None


def check_split(split: Iterable[SplitItem], amount: Decimal, *, once_each: bool = False) -> None:
    """Raise ``InvalidRequestError`` unless the items sum exactly to ``amount`` and, with ``once_each`` (for refunds),
    name each payee once.

    The interface does not state the rule; with a split that does not add up, some money would belong to nobody.
    """
    items = tuple(split)
    total = sum((item.amount for item in items), Decimal())
    if total != amount:
        raise InvalidRequestError(
            "split", f"sums to the amount {format_amount(amount)}", f"items that sum to {format_amount(total)}"
        )
    if once_each and len({item.sub_merchant_id for item in items}) != len(items):
        raise InvalidRequestError("split", "one item per sub-merchant", f"{len(items)} items")


Split = Annotated[tuple[SplitItem, ...], Field(min_length=1)]

# Hours between two retries of a charge: those of a daily subscription must fit into the day.
_MAX_RETRY_HOURS_BY_UNIT = {"day": 23}
_MAX_RETRY_HOURS = 72


class RecurringPlan(RequestModel):
    """The schedule of a subscription. Provisional: the interface mentions subscriptions, but not how to start them.

    The gateway's defaults: 3 attempts, 2 hours apart for daily plans and 24 for others; ``start_date`` and ``time``
    (UTC), ``amount`` and, for notifications, ``server_url`` of the first payment.
    """

    _repr_fields: ClassVar[tuple[str, ...]] = ("interval_count", "interval_unit")

    interval_unit: Literal["day", "week", "month", "quarter", "year"]
    interval_count: int = Field(ge=1, le=30)
    retry_attempts: int | None = Field(default=None, ge=0, le=7)
    retry_interval_hours: int | None = Field(default=None, ge=1, le=_MAX_RETRY_HOURS)
    start_date: Day | None = None
    expiry_date: Day | None = None
    time: Annotated[time_of_day, PlainSerializer(lambda moment: moment.strftime("%H:%M:%S"))] | None = None
    notification_url: Url | None = None
    amount: Amount | None = None

    @model_validator(mode="after")
    def _check_schedule(self) -> "RecurringPlan":
        longest = _MAX_RETRY_HOURS_BY_UNIT.get(self.interval_unit, _MAX_RETRY_HOURS)
        if self.retry_interval_hours is not None and self.retry_interval_hours > longest:
            raise InvalidRequestError("retry_interval_hours", f"at most {longest}", str(self.retry_interval_hours))
        if self.start_date and self.expiry_date and self.expiry_date < self.start_date:
            raise InvalidRequestError("expiry_date", "not before start_date", self.expiry_date.isoformat())
        return self
