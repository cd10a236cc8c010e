"""Messages in the reader's language, and amounts and dates in the format of that language.

English messages are written in code and templates, where they are used. ``locale`` has the other languages, one
catalogue each; its folders determine which there are. ``make translations`` collects the messages.
"""

import gettext
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache, lru_cache
from io import BytesIO
from pathlib import Path
from unicodedata import bidirectional

from babel import Locale, negotiate_locale
from babel.core import get_global
from babel.dates import format_date, format_datetime, format_interval, format_skeleton, format_timedelta
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_compact_decimal, format_decimal, format_percent, get_decimal_symbol
from babel.units import format_unit
from markupsafe import Markup, escape

from app.i18n.currencies import has_cents
from app.i18n.messages import Joined, LazyMessage, Money, StoredMessage, Value, Verbatim, gettext_noop
from integration_base.amounts import format_amount

LOCALES = Path(__file__).parent / "locale"
ENGLISH = "en"


def languages_in(locales: Path) -> tuple[str, ...]:
    """Return English and the languages for which a folder has catalogues, as ISO 639-1 codes."""
    return (ENGLISH, *sorted(path.parts[-3] for path in locales.glob("*/LC_MESSAGES/messages.po")))


LANGUAGES = languages_in(LOCALES)
_POINTS = gettext_noop("pp")  # percentage points
_WITH_CODE = re.compile(r"(.+?)((?: \(“.*”\))?(?: \[[^\]]*\])?)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Translation:
    """One language: its messages, and its formats of amounts and dates."""

    language: str
    catalogue: gettext.NullTranslations

    def gettext(self, message: str) -> str:
        """Return the message in this language; unchanged if there is no translation."""
        return self.catalogue.gettext(message)

    def duration(self, count: int, unit: str) -> str:
        """Format a number of a ``unit``, which is a day, week, month, quarter or year: ``2 months``."""
        return format_unit(count, f"duration-{unit}", "long", locale=Locale(self.language))

    def money(self, amount: Decimal, currency: str | None) -> str:
        """Format an amount with its currency's code, for example ``1,234.50 UAH``. It never breaks over lines."""
        number = self.amount(amount, currency)
        return f"{number}\N{NO-BREAK SPACE}{currency}" if currency else number

    def amount(self, amount: Decimal, currency: str | None) -> str:
        """Format an amount where its currency stands elsewhere, for example ``1,234.50``.

        It has the decimals of its currency, and more if the amount has: a fee of the gateway may be finer.
        """
        is_whole = not has_cents(currency) and amount == amount.to_integral_value()
        pattern = "#,##0" if is_whole else "#,##0.00########"
        return format_decimal(amount, format=pattern, locale=Locale(self.language))

    def editable(self, number: Decimal, currency: str | None = None) -> str:
        """Format a number for a field in which it can be changed: ``1234.50``, without groups of digits."""
        text = format_amount(number, cents=False) if not has_cents(currency) else f"{number:f}"
        return text.replace(".", get_decimal_symbol(Locale(self.language)))

    def day(self, day: date) -> str:
        """Format a day, for example ``Nov 21, 2026``."""
        return format_date(day, "medium", locale=Locale(self.language))

    def day_and_month(self, day: date) -> str:
        """Format a day without its year, for example ``Nov 21``."""
        return format_skeleton("MMMd", day, locale=Locale(self.language))

    def span(self, first: date, last: date) -> str:
        """Format a range of days, for example ``Nov 17 – 23, 2026``."""
        return format_interval(first, last, "yMMMd", locale=Locale(self.language))

    def number(self, count: int) -> str:
        """Format a whole number, for example ``1,234``."""
        return format_decimal(count, locale=Locale(self.language))

    def percent(self, part: Decimal) -> str:
        """Format a fraction of one as a percentage with one decimal, for example ``98.3%``."""
        return format_percent(part, _percent_pattern(self.language), locale=Locale(self.language))

    def points(self, part: Decimal) -> str:
        """Format the difference of two rates, a fraction of one, in percentage points: ``1.2 pp``."""
        number = format_decimal(part * 100, format="#,##0.0", locale=Locale(self.language))
        return f"{number}\N{NO-BREAK SPACE}{self.gettext(_POINTS)}"

    def compact(self, amount: Decimal) -> str:
        """Format an approximate amount, for the scale of a chart: ``2.5K``."""
        return format_compact_decimal(amount, fraction_digits=1, locale=Locale(self.language))

    def month(self, day: date) -> str:
        """Format the month of a day as a heading, for example ``November 2026``: also where months begin small."""
        name = format_date(day, "LLLL y", locale=Locale(self.language))
        return name[:1].upper() + name[1:]

    def ago(self, age: timedelta) -> str:
        """Format an age as a relative time: ``20 seconds ago``, ``3 days ago``."""
        if age < timedelta(seconds=1):
            return self.gettext("just now")
        return format_timedelta(-age, add_direction=True, locale=Locale(self.language))

    def html(self, text: Value) -> Markup:
        """Return a message in this language as HTML; untranslated English text is marked with ``lang="en"``."""
        match text:
            case LazyMessage():
                message, values = escape(self.gettext(text.message)), text.values
                return message % {name: self.html(value) for name, value in values.items()} if values else message
            case StoredMessage() if found := _WITH_CODE.fullmatch(text):
                translated = self.gettext(found[1])
                return self._english(text) if translated == found[1] else escape(translated + found[2])
            case Verbatim():
                return self._english(text)
            case Joined():
                return escape(text.by).join(self.html(item) for item in text.items)
            case datetime():
                # The page's script converts it to the reader's time zone, like any other time.
                return Markup('<time datetime="{}">{}</time>').format(f"{text:%Y-%m-%dT%H:%M:%SZ}", self._value(text))
            case _:
                said = self._value(text)
                # A number after a name in Arabic or Hebrew letters would stand before it.
                return Markup("<bdi>{}</bdi>").format(said) if _is_right_to_left(said) else escape(said)

    def _value(self, value: Value) -> str:
        match value:
            case Money():
                return self.money(value.amount, value.currency)
            case Decimal():
                return self.amount(value, None)
            case datetime():
                return f"{format_datetime(value, 'medium', tzinfo=UTC, locale=Locale(self.language))} UTC"
            case _:
                return str(value)

    def plain_text(self, text: Value) -> str:
        """Return a message in this language as plain text."""
        return self.html(text).striptags()

    def _english(self, text: str) -> Markup:
        return escape(text) if self.language == ENGLISH else Markup('<span lang="en">{}</span>').format(text)


def _is_right_to_left(text: str) -> bool:
    return any(bidirectional(character) in {"R", "AL"} for character in text)


def _percent_pattern(language: str) -> str:
    """Return a language's percent format, with one decimal."""
    return str(Locale(language).percent_formats[None].pattern).replace("0", "0.0", 1)


@cache
def language_name(language: str) -> str:
    """Return a language's name in that language, as its speakers look for it: ``English``, ``Українська``."""
    name = Locale.parse(language).get_display_name() or language
    return name[:1].upper() + name[1:]


@lru_cache(256)
def usual_code(code: str) -> str:
    """Return the code by which payment pages and translations know a language, in small letters; unknown ones as given.

    Others are in use too: ``nb`` and ``nn`` of the two written forms of Norwegian, former codes (``iw``), those of ISO
    639-2 (``ukr``), and a country's by mistake (``ua``), where no language has it.
    """
    code = str(get_global("language_aliases").get(code, code)).partition("_")[0]
    if code in {"nb", "nn"}:
        return "no"
    english, country = Locale(ENGLISH), code.upper()
    if code in english.languages or country not in english.territories:
        return code
    return str(get_global("likely_subtags").get(f"und_{country}", ENGLISH)).partition("_")[0]


@cache
def translation(language: str) -> Translation:
    """Return the translation of a language of ``LANGUAGES``."""
    if language == ENGLISH:
        return Translation(ENGLISH, gettext.NullTranslations())
    # Compiled on first use, not when the app is packaged: that takes a moment once per process, requires no build step
    # before tests or an editable installation, and a compiled catalogue can never be older than its source.
    compiled = BytesIO()
    with (LOCALES / language / "LC_MESSAGES" / "messages.po").open("rb") as file:
        write_mo(compiled, read_po(file, locale=language))
    compiled.seek(0)
    return Translation(language, gettext.GNUTranslations(compiled))


def translation_for(preferences: str) -> Translation:
    """Return the translation of the first preferred language that we have, else English.

    ``preferences`` is a browser's ``Accept-Language`` (weights are ignored: browsers list the preferred language
    first), or one language as Saleor or a storefront names it: ``uk``, ``uk-UA``, ``UK``, ``PT_BR``.
    """
    languages = [
        preference.partition(";")[0].strip() for preference in preferences.lower().replace("_", "-").split(",")
    ]
    return translation(negotiate_locale(languages, LANGUAGES, sep="-") or ENGLISH)
