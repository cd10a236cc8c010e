"""The Dashboard pages' words in the language of whoever reads them, and amounts as that language writes them.

Words are written in English, in templates and code; ``locale`` has the others, in a folder for
each language with a catalogue for each room. They are compiled when they are first
needed.
"""

import gettext
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from io import BytesIO
from pathlib import Path

from babel import Locale
from babel.dates import format_datetime
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal
from markupsafe import Markup, escape

from app.payments.core.messages import Joined, LazyMessage, Money, StoredMessage, Value, Verbatim, gettext_noop

__all__ = ["CATALOGUES", "LANGUAGES", "Translation", "catalogue", "gettext_noop", "translation", "translation_for"]

CATALOGUES = Path(__file__).parent / "locale"
LANGUAGES = ("en", "uk")
_WITH_CODE = re.compile(r"(.+?)((?: \[[^\]]*\])?)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Translation:
    """One language: its words, and its way of writing amounts."""

    language: str
    words: gettext.NullTranslations

    def gettext(self, message: str) -> str:
        """Return the message in this language; itself where nobody has translated it."""
        return self.words.gettext(message)

    def money(self, amount: Decimal, currency: str | None) -> str:
        """Return an amount with its currency's code, for example ``1,234.50 UAH``.

        It has two decimals, or as many as there are: a fee of the gateway may be finer. It is never broken over lines.
        """
        number = format_decimal(amount, format="#,##0.00########", locale=Locale(self.language))
        return f"{number}\N{NO-BREAK SPACE}{currency}" if currency else number

    def html(self, text: Value) -> Markup:
        """Return a message in this language; English words that nobody can translate say that they are."""
        match text:
            case LazyMessage():
                message, values = escape(self.gettext(text.message)), text.values
                return message % {name: self.html(value) for name, value in values.items()} if values else message
            case StoredMessage() if found := _WITH_CODE.fullmatch(text):
                words = self.gettext(found[1])
                return self._english(text) if words == found[1] else escape(words + found[2])
            case Verbatim():
                return self._english(text)
            case Joined():
                return escape(text.by).join(self.html(each) for each in text.items)
            case _:
                return escape(self._value(text))

    def _value(self, value: Value) -> str:
        match value:
            case Money():
                return self.money(value.amount, value.currency)
            case Decimal():
                return self.money(value, None)
            case datetime():
                return f"{format_datetime(value, 'medium', tzinfo=UTC, locale=Locale(self.language))} UTC"
            case _:
                return str(value)

    def say(self, text: str) -> str:
        """Return the same without HTML."""
        return self.html(text).striptags()

    def _english(self, text: str) -> Markup:
        return escape(text) if self.language == "en" else Markup('<span lang="en">{}</span>').format(text)


@cache
def translation(language: str) -> Translation:
    """Return a language of ``LANGUAGES``."""
    if language == "en":
        return Translation("en", gettext.NullTranslations())
    compiled = BytesIO()
    write_mo(compiled, catalogue(language))
    compiled.seek(0)
    return Translation(language, gettext.GNUTranslations(compiled))


def catalogue(language: str) -> Catalog:
    """Return all that is translated into a language, of all rooms. Raises ValueError for what two of them translate."""
    whole = Catalog(locale=language)
    for path in sorted((CATALOGUES / language).glob("*.po")):
        with path.open("rb") as file:
            for message in read_po(file, locale=language):
                if message.id and message.id in whole:
                    raise ValueError(f"{path.name} translates what another catalogue does: {message.id}")
                whole[message.id] = message
    return whole


def translation_for(accept_language: str) -> Translation:
    """Return the first language named that we speak, else English. The Dashboard names exactly one."""
    for item in accept_language.lower().split(","):
        primary = item.partition(";")[0].strip().partition("-")[0]
        if primary in LANGUAGES:
            return translation(primary)
    return translation("en")
