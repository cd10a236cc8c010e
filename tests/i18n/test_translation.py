"""What is said in English is said anew in the reader's language."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from app.i18n import translation as module
from app.i18n.messages import Joined, LazyMessage, Money, StoredMessage, Value, Verbatim
from app.i18n.translation import languages_in, translation, translation_for


def test_the_first_language_that_we_speak_is_taken() -> None:
    asked = {
        "uk-UA": "uk",
        "uk": "uk",
        "pl, uk;q=0.5, en": "uk",
        "en-GB": "en",
        "pt-BR": "en",
        "": "en",
        "*": "en",
        "UK_UA": "uk",
    }
    assert {accept: translation_for(accept).language for accept in asked} == asked


@pytest.mark.parametrize(("language", "heading"), [("en", "November 2026"), ("uk", "Листопад 2026")])
def test_a_month_is_a_heading(language: str, heading: str) -> None:
    assert translation(language).month(date(2026, 11, 27)) == heading


@pytest.mark.parametrize(
    ("language", "amount", "currency", "written"),
    [
        ("en", "1234.50", "UAH", "1,234.50 UAH"),
        ("uk", "1234.50", "UAH", "1 234,50 UAH"),
        ("en", "0", "JPY", "0 JPY"),
        ("en", "9999999.00", "JPY", "9,999,999 JPY"),
        ("uk", "9999999.00", "JPY", "9 999 999 JPY"),
        ("en", "100.5", "JPY", "100.50 JPY"),
        ("en", "1234.50", "QQQ", "1,234.50 QQQ"),
        ("en", "1.4525", "UAH", "1.4525 UAH"),
        ("en", "9999999999.99", None, "9,999,999,999.99"),
    ],
)
def test_amounts_are_written_as_the_language_writes_them(
    language: str, amount: str, currency: str | None, written: str
) -> None:
    said = translation(language).money(Decimal(amount), currency)
    assert said.replace("\N{NO-BREAK SPACE}", " ") == written


@pytest.mark.parametrize(
    ("amount", "currency", "written", "typed"),
    [
        ("9999999.00", "JPY", "9999999 JPY", "9999999"),
        ("100.50", "JPY", "100.50 JPY", "100,50"),
        ("1234.50", "UAH", "1234.50 UAH", "1234,50"),
    ],
)
def test_amounts_have_the_decimals_of_their_currency(amount: str, currency: str, written: str, typed: str) -> None:
    assert str(Money(Decimal(amount), currency)) == written
    assert translation("uk").editable(Decimal(amount), currency) == typed


@pytest.mark.parametrize(
    ("words", "in_ukrainian"),
    [
        (
            LazyMessage("%(why)s: nothing is left to refund.",
                 why=Joined((LazyMessage("%(sum)s was charged", sum=Money(Decimal("1234.5"), "UAH")),
                             Verbatim("x & y")))),
            'списано 1 234,50 UAH, <span lang="en">x &amp; y</span>: повертати більше нічого.',
        ),
        (StoredMessage("Insufficient funds [4009]"), "Недостатньо коштів [4009]"),
        (StoredMessage("Nobody knows <this> [1]"), '<span lang="en">Nobody knows &lt;this&gt; [1]</span>'),
        (LazyMessage("Merchant account %(name)s", name="<12>"), "Обліковий запис продавця &lt;12&gt;"),
        (
            datetime(2026, 11, 21, 12, 0, tzinfo=UTC),
            '<time datetime="2026-11-21T12:00:00Z">21 лист. 2026 р., 12:00:00 UTC</time>',
        ),
        ("T-1", "T-1"),
    ],
)  # fmt: skip
def test_what_was_said_in_english_is_said_anew(words: Value, in_ukrainian: str) -> None:
    said = translation("uk").html(words)
    assert said.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " ") == in_ukrainian


def test_a_number_stays_behind_a_name_that_is_read_from_the_right() -> None:
    """Browsers show "الورد: 40.00 UAH" with the amount before the name, and its currency after it."""
    said = LazyMessage("%(who)s: %(sum)s", who="الورد", sum=Money(Decimal(40), "UAH"))
    assert translation_for("en").html(said) == "<bdi>الورد</bdi>: 40.00\xa0UAH"
    assert translation_for("en").plain_text(said) == "الورد: 40.00 UAH"


def test_where_no_html_can_be_it_is_said_without() -> None:
    refused = LazyMessage("There is no such payment.")
    assert translation("uk").plain_text(refused) == "Такого платежу немає."
    assert translation("en").plain_text(refused) == str(refused)
    assert translation("uk").plain_text(StoredMessage("Nobody <b>knows</b>")) == "Nobody <b>knows</b>"


def test_a_further_language_needs_its_catalogue_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "pl" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    (folder / "messages.po").write_text('msgid "Pay %(amount)s"\nmsgstr "Zapłać %(amount)s"\n', "utf-8")
    monkeypatch.setattr(module, "LOCALES", tmp_path)
    monkeypatch.setattr(module, "LANGUAGES", languages_in(tmp_path))
    polish = translation_for("pl-PL, en")
    assert polish.language == "pl"
    said = polish.plain_text(LazyMessage("Pay %(amount)s", amount=Money(Decimal("12345.5"), "PLN")))
    assert said.replace("\N{NO-BREAK SPACE}", " ") == "Zapłać 12 345,50 PLN"
    assert polish.plain_text(LazyMessage("Payment received")) == "Payment received"  # until somebody translates it
    assert polish.html(Verbatim("quoted")) == '<span lang="en">quoted</span>'
