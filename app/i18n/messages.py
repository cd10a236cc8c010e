"""Messages for people, translatable into several languages.

A ``LazyMessage`` is to languages what ``Markup`` is to HTML: an English ``str`` that can be used wherever text can (for
Saleor, in a log, on a terminal), and that retains its template and values. Where the reader's language is another one
(on a page, or in a storefront), it is rendered again from those (``translation``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Self, TypeAlias

from app.i18n.currencies import has_cents
from integration_base.amounts import format_amount
from integration_base.messages import gettext_noop

__all__ = [
    "Joined",
    "LazyMessage",
    "Money",
    "StoredMessage",
    "Value",
    "Verbatim",
    "gettext_noop",
    "value_from_json",
    "value_to_json",
]


@dataclass(frozen=True, slots=True)
class Money:
    """An amount with its currency."""

    amount: Decimal
    currency: str

    def __str__(self) -> str:
        return f"{format_amount(self.amount, cents=has_cents(self.currency))} {self.currency}"


@dataclass(frozen=True, slots=True)
class Joined:
    """Several values, joined by a separator."""

    items: tuple["Value", ...]
    by: str = ", "

    def __str__(self) -> str:
        return self.by.join(map(_in_english, self.items))


class StoredMessage(str):
    """English text from the database, optionally followed by the gateway's code in brackets.

    It is translated if it is one of the fixed messages, and shown in English if not.
    """

    __slots__ = ()


class Verbatim(str):
    """English text that is quoted literally and never translated."""

    __slots__ = ()


class LazyMessage(str):
    """A sentence: an English ``message`` with named placeholders (``%(sum)s``), and their ``values``."""

    __slots__ = ("message", "values")

    message: str
    values: Mapping[str, "Value"]

    def __new__(cls, message: str, /, **values: "Value") -> Self:
        """Format ``message``; placeholders are only replaced when there are values."""
        text = message % {name: _in_english(value) for name, value in values.items()} if values else message
        sentence = super().__new__(cls, text)
        sentence.message, sentence.values = message, values
        return sentence

    def to_json(self) -> dict[str, Any]:
        """Return the message as JSON, from which ``LazyMessage.from_json`` restores it."""
        return {"message": self.message, "values": {name: value_to_json(value) for name, value in self.values.items()}}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the message that ``stored`` holds, as ``to_json`` returned it."""
        return cls(stored["message"], **{name: value_from_json(value) for name, value in stored["values"].items()})


Value: TypeAlias = str | int | Decimal | datetime | Money | Joined
"""A value in a sentence.

Text that is not ``LazyMessage``, ``StoredMessage`` or ``Verbatim`` is a name: it has no language.
"""


def _in_english(value: Value) -> str:
    match value:
        case datetime():
            return f"{value.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        case Decimal():
            return format_amount(value)
        case _:
            return str(value)


def value_to_json(value: Value) -> Any:
    """Return a value as JSON, from which ``value_from_json`` restores it."""
    match value:
        case LazyMessage():
            return value.to_json()
        case Money():
            return {"amount": str(value.amount), "currency": value.currency}
        case datetime():
            return {"at": value.isoformat()}
        case str() | int():
            return value
        case _:
            return _in_english(value)


def value_from_json(stored: Any) -> Value:
    """Return a stored value. Raises ValueError for what is none of ours."""
    match stored:
        case {"message": _}:
            return LazyMessage.from_json(stored)
        case {"amount": amount, "currency": currency}:
            return Money(Decimal(amount), currency)
        case {"at": at}:
            return datetime.fromisoformat(at)
        case str() | int():
            return stored
        case _:
            raise ValueError("nothing of ours")
