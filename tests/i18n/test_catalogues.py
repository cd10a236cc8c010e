"""Every sentence that somebody reads in another language is in that language's catalogue, and nothing else is."""

import re
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.frontend import CommandLineInterface
from babel.messages.pofile import read_po

from app.flows.accounts.channels import Missing
from app.flows.accounts.check import FailureReason, Limitation
from app.i18n.messages import LazyMessage, Money, Value
from app.i18n.translation import ENGLISH, LANGUAGES, LOCALES, translation
from app.reports.alerts.texts import ALERT_TEXTS
from app.reports.status import Standing
from app.rules.status_messages import english_status_message
from gateway_client.statuses import TABLE, Status, explain
from integration_base.validation import SENTENCES

ROOT = Path(__file__).parents[2]
OTHERS = [language for language in LANGUAGES if language != ENGLISH]
_PLACEHOLDER = re.compile(r"%\(\w+\)\w")
_TAG = re.compile(r"</?\w+")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """All messages of the app, as ``make translations`` finds them."""
    found = tmp_path_factory.mktemp("messages") / "messages.pot"
    extract = ["--mapping", "pyproject.toml", "--add-location", "file", "--output", str(found), "app", "packages"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        CommandLineInterface().run(["pybabel", "-q", "extract", *extract])  # type: ignore[no-untyped-call]  # untyped
    return read(found)


def read(path: Path, language: str | None = None) -> Catalog:
    with path.open("rb") as file:
        return read_po(file, locale=language)


def places(catalogue: Catalog) -> dict[str, set[str]]:
    """Return in which files each message stands."""
    return {str(message.id): {file for file, _ in message.locations} for message in catalogue if message.id}


def test_the_messages_are_found_wherever_they_are_said(template: Catalog) -> None:
    found = places(template)
    assert found["Payments"] >= {"app/web/dashboard/renderer.py", "app/web/dashboard/templates/payments/list.html"}
    assert found["QR code of the payment page"] >= {"app/web/shopper/templates/page.html"}
    assert found["Payment received"] == {"app/web/shopper/page.py"}
    assert found["Insufficient funds"] == {"packages/gateway-client/gateway_client/statuses.py"}
    assert {"Add your merchant account", "partially refunded", "must be a number", "The card has expired"} <= set(found)
    assert not [message for message, files in found.items() if any("sandbox" in file for file in files)]


def test_what_is_said_from_tables_is_marked_there(template: Catalog) -> None:
    codes = [*TABLE.values(), *(explain(status, None) for status in Status)]
    alerts = [text for words in ALERT_TEXTS.values() for text in (words.title, words.meaning, words.remedy)]
    said = [text_code.value for text_code in (*Standing, *FailureReason, *Limitation, *Missing)]
    said += (
        [text for code in codes for text in (english_status_message(code), code.reason)]
        + alerts
        + list(SENTENCES.values())
    )
    assert set(said) <= set(places(template))


@pytest.mark.parametrize("language", OTHERS)
def test_every_message_is_translated_and_no_translation_is_left_over(language: str, template: Catalog) -> None:
    catalogue = read(LOCALES / language / "LC_MESSAGES" / "messages.po", language)
    assert places(catalogue) == places(template), "run `make translations`, then translate what is new"
    assert not catalogue.obsolete
    for message in catalogue:
        if message.id:
            assert message.string, message.id
            assert not message.fuzzy, message.id
            assert list(message.check(catalogue)) == []


@pytest.mark.parametrize("language", OTHERS)
def test_what_stands_in_a_message_and_its_markup_are_kept(language: str) -> None:
    for message in read(LOCALES / language / "LC_MESSAGES" / "messages.po", language):
        if message.id:
            original, translated = str(message.id), str(message.string)
            assert set(_PLACEHOLDER.findall(translated)) == set(_PLACEHOLDER.findall(original)), original
            assert Counter(_TAG.findall(translated)) == Counter(_TAG.findall(original)), original


@pytest.mark.parametrize("sum_", [Decimal("1708.5"), Money(Decimal("1708.5"), "UAH"), Decimal("1.7085E+3")], ids=repr)
def test_a_sum_in_any_message_has_two_decimals(template: Catalog, sum_: Value) -> None:
    """Saleor and people write 1708.5 too; whatever the message, and wherever it was stored in between."""
    messages = [str(message.id) for message in template if message.id and _PLACEHOLDER.search(str(message.id))]
    assert "%(sum)s cannot be refunded: %(why)s. Refund at most %(left)s." in messages
    for message in messages:
        names = set(re.findall(r"%\((\w+)\)s", message))
        said = LazyMessage(message, **dict.fromkeys(names, sum_))
        assert said.count("1708.50") >= len(names), said
        assert LazyMessage.from_json(said.to_json()) == said
        for language in OTHERS:
            assert translation(language).plain_text(said).count("708,50") >= len(names)
