"""What the documentation tells of the code is so: codes, fields, messages, commands, tables. Nothing is left out."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from sqlmodel import SQLModel
from typer.core import TyperGroup

from app.cli import cli
from app.commands.deferred import Deferred
from app.core.vocabulary import State
from app.rules.refusal import RefusalCode, RefusalError
from app.rules.requests.languages import PAGE_LANGUAGES
from app.rules.requests.storefront import StorefrontData, parse_data
from app.settings import FORMER_NAMES, PREFIX, Settings
from gateway_client.statuses import TABLE, CodeKind, Status
from integration_base_tests.pages import (
    ARCHITECTURE,
    DATABASE,
    DOCS,
    EXTENDING,
    OPERATORS,
    README,
    STORE_OWNERS,
    STOREFRONT,
    backticked,
    blocks,
    links,
    pages,
    prose,
    rows,
    section,
)
from integration_base_tests.places import REPOSITORY
from tests.docs.reference import APP_ERROR, STOREFRONT_CODES, TOO_LONG
from tests.sources import HOUSES


def paths_told(page: Path) -> list[str]:
    """What stands in backticks and is the path of a folder or of a module."""
    return sorted({code for code in backticked(page.read_text()) if re.fullmatch(r"\w[\w/]*(/|\.(py|po|js))", code)})


def test_every_error_code_is_told_once_and_no_other() -> None:
    text = section(STOREFRONT, "## Error codes")
    told = [backticked(row[0])[0] for row in rows(text.partition("###")[0])]
    assert sorted(told) == sorted(STOREFRONT_CODES)


def test_the_app_says_the_sdks_codes_where_the_page_says_so() -> None:
    assert {APP_ERROR, TOO_LONG} <= {*sentences(REPOSITORY / "packages" / "saleor-app-sdk").splitlines()}


def test_every_code_of_the_gateway_that_ends_a_payment_is_told_with_the_right_advice() -> None:
    told = {backticked(row[0])[0]: row[2] for row in rows(section(STOREFRONT, "### Codes of the gateway"))}
    assert set(told) == {code for code, row in TABLE.items() if row.status is Status.FAILURE}
    for code, advice in told.items():
        assert advice.startswith("no" if TABLE[code].kind is CodeKind.FINAL else "yes"), code


def test_every_field_of_data_is_told() -> None:
    told = {name for row in rows(section(STOREFRONT, "## What you pass in `data`")) for name in backticked(row[0])}
    fields = {field.alias for name, field in StorefrontData.model_fields.items() if name != "customer"}
    customer = {f"customer.{field.alias}" for field in type(StorefrontData().customer).model_fields.values()}
    assert told == fields | customer


def test_every_card_field_that_is_named_is_refused() -> None:
    names = backticked(
        STOREFRONT.read_text().partition("refused by the names of the fields alone (")[2].partition(")")[0]
    )
    assert len(names) > 3
    for name in names:
        with pytest.raises(RefusalError) as refusal:
            parse_data({"customer": {name: "anything"}})
        assert refusal.value.code is RefusalCode.CARD_DATA_REFUSED, name


def test_the_languages_of_the_payment_page_are_told() -> None:
    said = STOREFRONT.read_text().partition("<!-- languages -->")[2].partition("<!-- /languages -->")[0]
    assert re.findall(r"[A-Z]{2}", said) == sorted(PAGE_LANGUAGES)


def sentences(*folders: Path) -> str:
    """Every text in the code of these folders, one a line, with ``…`` for what varies in it."""
    found: list[str] = []
    for path in (path for folder in folders for path in folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.JoinedStr(values=values):
                    parts = (part.value if isinstance(part, ast.Constant) else "…" for part in values)
                    found.append("".join(map(str, parts)))
                case ast.Constant(value=str(text)):
                    found.append(re.sub(r"%\(\w+\)s", "…", text))
    # "… …" is an amount with its currency. The last is a sentence that the code keeps apart because it says it often.
    return "\n".join(found).replace("… …", "…").replace("…: try again", "Nothing was charged or changed: try again")


def test_every_message_that_staff_are_told_of_is_said_by_the_app() -> None:
    said = sentences(*(REPOSITORY / "app" / room for room in ("rules", "flows", "reports")))
    told = [backticked(row[0])[0] for row in rows(section(STORE_OWNERS, "## What the messages mean"))]
    assert len(told) > 10
    for message in told:
        assert message in said, message


def test_every_message_of_the_installation_is_said_by_the_app_or_by_saleor() -> None:
    said = sentences(REPOSITORY / "packages" / "saleor-app-sdk")
    recorded = "".join(path.read_text() for path in (REPOSITORY / "cassettes" / "saleor" / "install").glob("*.json"))
    told = [backticked(row[0])[0] for row in rows(section(STORE_OWNERS, "### When installing fails"))]
    assert len(told) > 5
    for message in told:
        assert message in said or message in recorded, message


def commands_told() -> Iterator[tuple[str, str]]:
    for page in pages():
        text = "\n".join([*backticked(prose(page)), *(block.code for block in blocks("sh", "console", among=[page]))])
        for line in re.findall(r"^(?:\$ )?saleor-gateway ([^\n]+)", text, re.MULTILINE):
            yield page.name, line


@pytest.mark.parametrize(("page", "line"), sorted(set(commands_told())))
def test_every_command_that_is_told_of_exists(page: str, line: str) -> None:
    command = typer.main.get_command(cli)
    words = line.split()
    while isinstance(command, TyperGroup) and not (words and words[0].startswith("--")):
        assert words, f"{page}: {line!r} is only a group of commands"
        assert words[0] in command.commands, f"{page}: there is no {line!r}"
        command = command.commands[words.pop(0)]
        command = command.load() if isinstance(command, Deferred) else command
    options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    for word in words:
        assert not word.startswith("--") or word.partition("=")[0] in options, f"{page}: {word} in {line!r}"


def test_every_setting_that_is_named_exists() -> None:
    known = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    renamed = [(PREFIX + former.upper(), PREFIX + name.upper()) for former, name in FORMER_NAMES.items()]
    told = section(OPERATORS / "settings.md", "## Former names")
    assert re.findall(r"^- `(\w+)` is `(\w+)`\.$", told, re.MULTILINE) == renamed
    for page in pages():
        text = page.read_text().replace(told, "")
        named = set(re.findall(rf"`({PREFIX}[A-Z_]+)`", text)) - {APP_ERROR}
        if page.name == "CHANGELOG.md":  # what it says of earlier releases stays as it was
            named -= {former for former, _ in renamed}
        assert named <= known, page.name


def test_every_table_and_state_is_told() -> None:
    text = DATABASE.read_text()
    for table in (table for table in SQLModel.__subclasses__() if table.metadata is SQLModel.metadata):
        assert f"| `{table.__name__}` |" in text, table.__name__
    for state in State:
        assert re.search(rf"\b{state.value}\b", section(DATABASE, "## How far an operation is")), state


def test_the_architecture_has_each_room_once_and_what_is_inside_it() -> None:
    tree = section(ARCHITECTURE, "## Packages").partition("\npackages/")[0]
    told: dict[str, list[str]] = {}
    for indent, names in re.findall(r"^( +)(\S.*?)(?:  |$)", tree, re.MULTILINE):
        rooms = re.findall(r"(\w+)/", names)
        if len(indent) == 2:
            told |= {room: [] for room in rooms}
        elif len(indent) == 4:
            told[list(told)[-1]] += rooms
    assert sorted(told) == packages(REPOSITORY / "app")
    for room in ("flows", "ops", "reports", "rules", "web"):
        assert sorted(told[room]) == packages(REPOSITORY / "app" / room)


def packages(folder: Path) -> list[str]:
    found = sorted(path.parent.name for path in folder.glob("*/__init__.py"))
    assert found
    return found


def test_the_architecture_says_who_may_import_whom_as_it_is_checked() -> None:
    contracts = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [layer.replace("app.", "").split(" | ") for layer in contracts[0]["layers"]]
    lines = section(ARCHITECTURE, "## Who may import whom").partition("```text\n")[2].splitlines()
    assert [line.split()[: len(layer)] for line, layer in zip(lines, layers, strict=False)] == layers
    assert lines[len(layers)] == ""
    inside = [re.findall(r"\w+", layer) for layer in contracts[1]["layers"]]
    lines = section(ARCHITECTURE, "## Who may import whom").rpartition("```text\n")[2].splitlines()
    assert [line.split() for line in lines[: len(inside)]] == inside


def test_the_architecture_fits_two_screens_and_leads_to_ten_places_in_two_steps() -> None:
    assert len(ARCHITECTURE.read_text().splitlines()) <= 110
    places = rows(section(ARCHITECTURE, "## Where is it?"))
    assert len(places) >= 10
    for _, room, module in places:
        assert module.partition("](")[2].startswith(f"{room.partition('](')[2].removesuffix(')')}/"), module


@pytest.mark.parametrize("path", paths_told(EXTENDING), ids=str)
def test_every_path_that_is_told_exists(path: str) -> None:
    roots = (REPOSITORY, *HOUSES[:1], *(house.parent for house in HOUSES[1:]))
    assert any((root / path).exists() for root in roots)


def test_every_decision_is_listed_and_says_what_one_wants_to_know() -> None:
    records = sorted((DOCS / "decisions").glob("[0-9]*.md"))
    listed = rows((DOCS / "decisions" / "README.md").read_text())
    assert [row[0] for row in listed] == [f"[{record.name[:4]}]({record.name})" for record in records]
    for record in records:
        for part in ("Context", "Decision", "Consequences", "Alternatives"):
            assert f"\n**{part}.**" in record.read_text(), (record.name, part)


def test_the_readme_leads_everywhere() -> None:
    text = README.read_text()
    for page in DOCS.glob("*.md"):
        assert f"(docs/{page.name})" in text, page.name


def test_the_page_for_operators_leads_to_each_of_theirs() -> None:
    theirs = sorted(f"operators/{page.name}" for page in OPERATORS.glob("*.md"))
    assert len(theirs) > 10
    led_to = {link for link in links(DOCS / "operators.md") if link.startswith("operators/")}
    assert sorted(led_to) == theirs
