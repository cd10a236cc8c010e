"""The generated pages of the reference have what there is, and fit what people have written of it."""

import re

from app.settings import PREFIX, Settings
from gateway_client.statuses import TABLE
from integration_base_tests.pages import DOCS, OPERATORS, backticked, prose, rows, section
from saleor_app_sdk import WEBHOOK_EVENTS
from tests.docs import reference

OBSERVABILITY = DOCS / "observability.md"
# These belong to a developer's machine and are told in their own page.
ELSEWHERE = {"demo", "sandbox"}
_EVENT_NAME = re.compile(r"[a-z_]+\.[a-z_]+")


def first_cells(text: str) -> list[str]:
    return [backticked(row[0])[0] for row in rows(text)]


def test_every_setting_is_there_with_what_it_accepts() -> None:
    page = {name.strip("`"): accepted for name, accepted, _ in rows(reference.settings_page())}
    assert list(page) == [PREFIX + name.upper() for name in Settings.model_fields]
    assert page["APP_WEBHOOK_TIMEOUT_SECONDS"] == "number, above 0, at most 13"
    assert page["APP_LOG_FORMAT"] == "one of `console`, `json`"
    assert page["APP_DATA_DIR"] == "path"
    assert page["APP_ALLOWED_SALEOR_URLS"] == "list, separated by commas"


def test_every_command_is_there_with_its_options() -> None:
    page = reference.commands_page()
    there = {line.strip("# `") for line in re.findall(r"^## .*$", page, re.MULTILINE)}
    told = {" ".join(word for word in command.split() if word.islower()) for command in first_cells(commands_told())}
    assert {command for command in there if not ELSEWHERE & set(command.split())} == told
    settle = page.partition("## `saleor-gateway payments settle`\n")[2].partition("\n## ")[0]
    options = {name for row in rows(settle) for name in backticked(row[0])}
    assert options >= {"PAYMENT", "--as", "--amount", "--reason", "--by", "--operation"}


def commands_told() -> str:
    return (OPERATORS / "commands.md").read_text()


def test_the_metrics_are_those_that_are_told() -> None:
    told = {}
    for name, kind, *others in rows(section(OBSERVABILITY, "## Metrics")):
        labels = backticked(others[0]) if len(others) == 2 else []  # no label: an empty cell
        told[backticked(name)[0]] = (kind, set(labels))
    assert {name: (kind, set(labels)) for name, kind, labels, _ in reference.metrics()} == told


def test_the_log_lines_are_there_with_their_levels_and_names() -> None:
    lines = reference.log_lines()
    told = {line for row in rows((OPERATORS / "monitoring.md").read_text()) for line in backticked(row[0])}
    assert len(told) > 5
    assert told <= {event for event, _ in lines}
    named = {name for row in rows(section(OBSERVABILITY, "## Log lines")) for name in backticked(row[0])}
    assert set().union(*lines.values()) <= named
    assert lines["channel.mapped", "info"] == {"account", "channel", "staff"}
    assert ("job.failed", "error") in lines
    assert [event for event, _ in lines if not _EVENT_NAME.fullmatch(event)] == []


def test_every_code_is_there() -> None:
    page = reference.error_codes_page()
    codes = first_cells(page)
    assert {*reference.STOREFRONT_CODES, *TABLE} <= set(codes)
    assert "| `other_amount` | The gateway reports …, but … was requested. |" in page
    assert set(first_cells(prose(OPERATORS / "attention.md"))) <= set(codes)


def test_every_webhook_event_is_there_with_the_versions_that_send_it() -> None:
    page = {backticked(name)[0]: versions for name, _, _, versions in rows(reference.webhook_events_page())}
    assert page.keys() == WEBHOOK_EVENTS.keys()
    assert page["ORDER_CREATED"] == "3.21 and newer"
    assert page["GIFT_CARD_EXPORT_COMPLETED"] == "3.21 to 3.23"
