"""Every word of the pages is there in every language."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from app.dashboard.translation import LANGUAGES, catalogue, translation, translation_for
from app.payments.core.messages import Joined, LazyMessage, Money, StoredMessage, Value, Verbatim
from tests.dashboard.messages import messages

OTHERS = [language for language in LANGUAGES if language != "en"]


@pytest.mark.parametrize("language", OTHERS)
def test_every_message_has_a_translation_and_no_translation_is_left_over(language: str) -> None:
    whole = catalogue(language)
    translated = {str(each.id): each for each in whole if each.id}
    assert set(translated) == messages()
    for message in translated.values():
        assert message.string
        assert not message.fuzzy
        assert list(message.check(whole)) == []


def test_the_messages_are_found() -> None:
    found = messages()
    assert {"Payments", "Add your merchant account", "partly refunded", "This page needs JavaScript."} <= found


def test_the_first_language_that_we_speak_is_taken() -> None:
    asked = {"uk-UA": "uk", "uk": "uk", "pl, uk;q=0.5, en": "uk", "en-GB": "en", "pt-BR": "en", "": "en", "*": "en"}
    assert {accept: translation_for(accept).language for accept in asked} == asked


@pytest.mark.parametrize(
    ("language", "amount", "currency", "written"),
    [
        ("en", "1234.50", "UAH", "1,234.50 UAH"),
        ("uk", "1234.50", "UAH", "1 234,50 UAH"),
        ("en", "0", "JPY", "0.00 JPY"),
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
    ("words", "in_ukrainian"),
    [
        (
            LazyMessage("%(why)s: nothing is left to refund.",
                 why=Joined((LazyMessage("%(sum)s was taken", sum=Money(Decimal("1234.5"), "UAH")),
                             Verbatim("x & y")))),
            'списано 1 234,50 UAH, <span lang="en">x &amp; y</span>: повертати більше нічого.',
        ),
        (StoredMessage("Insufficient funds [4009]"), "Недостатньо коштів [4009]"),
        (StoredMessage("Nobody knows <this> [1]"), '<span lang="en">Nobody knows &lt;this&gt; [1]</span>'),
        (LazyMessage("delivered at %(time)s", time="<12>"), "доставлено о &lt;12&gt;"),
        (datetime(2026, 11, 21, 12, 0, tzinfo=UTC), "21 лист. 2026 р., 12:00:00 UTC"),
        ("T-1", "T-1"),
    ],
)  # fmt: skip
def test_what_was_said_in_english_is_said_anew(words: Value, in_ukrainian: str) -> None:
    said = translation("uk").html(words)
    assert said.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " ") == in_ukrainian


def test_where_no_html_can_be_it_is_said_without() -> None:
    refused = LazyMessage("There is no such payment.")
    assert translation("uk").say(refused) == "Такого платежу немає."
    assert translation("en").say(refused) == str(refused)
    assert translation("uk").say(StoredMessage("Nobody <b>knows</b>")) == "Nobody <b>knows</b>"
