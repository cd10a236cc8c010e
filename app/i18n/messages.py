"""Sentences for people that can be said in more than one language.

A ``LazyMessage`` is to languages what ``Markup`` is to HTML: a ``str`` in English, which goes wherever text goes, to
Saleor, into a log, onto a terminal, and remembers what it was made of. Where somebody reads another language (on a
page, or in a storefront), it is said anew from that (``translation``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Self, TypeAlias


@dataclass(frozen=True, slots=True)
class Money:
    """An amount with its currency."""

    amount: Decimal
    currency: str

    def __str__(self) -> str:
        return f"{self.amount} {self.currency}"


@dataclass(frozen=True, slots=True)
class Joined:
    """Several things, one after the other."""

    items: tuple["Value", ...]
    by: str = ", "

    def __str__(self) -> str:
        return self.by.join(map(_in_english, self.items))


class StoredMessage(str):
    """English words from the database, with perhaps the gateway's code in brackets behind them.

    They are translated if they are one of the sentences that never vary, and shown in English if not.
    """

    __slots__ = ()


class Verbatim(str):
    """What was said in these very words, in English: it is never translated."""

    __slots__ = ()


class LazyMessage(str):
    """A sentence: an English ``message`` with named places (``%(sum)s``), and the ``values`` that stand there."""

    __slots__ = ("message", "values")

    message: str
    values: Mapping[str, "Value"]

    def __new__(cls, message: str, /, **values: "Value") -> Self:
        """Say ``message``; places are only looked for when there are values."""
        text = message % {name: _in_english(value) for name, value in values.items()} if values else message
        sentence = super().__new__(cls, text)
        sentence.message, sentence.values = message, values
        return sentence

    def kept(self) -> dict[str, Any]:
        """Return it as JSON, to be said again by ``LazyMessage.of``."""
        return {"message": self.message, "values": {name: _kept(value) for name, value in self.values.items()}}

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Self:
        """Return what ``kept`` holds."""
        return cls(kept["message"], **{name: _read(value) for name, value in kept["values"].items()})


Value: TypeAlias = str | int | Decimal | datetime | Money | Joined
"""What stands in a sentence.

Text that is not ``LazyMessage``, ``StoredMessage`` or ``Verbatim`` is a name: it has no language.
"""


def gettext_noop(message: str) -> str:
    """Return the message itself: it is translated where it is shown, and found here by whoever collects messages."""
    return message


def _in_english(value: Value) -> str:
    return f"{value.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if isinstance(value, datetime) else str(value)


def _kept(value: Value) -> Any:
    match value:
        case LazyMessage():
            return value.kept()
        case Money():
            return {"amount": str(value.amount), "currency": value.currency}
        case datetime():
            return {"at": value.isoformat()}
        case str() | int():
            return value
        case _:
            return str(value)


def _read(kept: Any) -> Value:
    match kept:
        case {"message": _}:
            return LazyMessage.of(kept)
        case {"amount": amount, "currency": currency}:
            return Money(Decimal(amount), currency)
        case {"at": at}:
            return datetime.fromisoformat(at)
        case str() | int():
            return kept
        case _:
            raise ValueError("nothing of ours")
