"""Every word of the pages is there in every language."""

from decimal import Decimal

import pytest

from app.dashboard.translation import LANGUAGES, catalogue, translation, translation_for
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
