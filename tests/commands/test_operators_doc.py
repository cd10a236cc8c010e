"""docs/operators: every setting with its true default, every command, nothing that does not exist."""

import re
import shlex
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from app.cli import cli
from app.commands.account_keys import read_keys
from app.commands.failure import CommandFailed
from app.settings import PREFIX, Settings
from integration_base_tests.pages import OPERATORS, blocks, rows
from tests.docs.reference import show_default
from tests.sources import source_files

PAGES = sorted(OPERATORS.glob("*.md"))
# They name the program and do not run it.
OTHER_PROGRAMS = ("install ", "journalctl ")
# These belong to a developer's machine and are told in their own page.
ELSEWHERE = {"sandbox", "demo"}


def test_every_setting_is_told_with_its_default_and_no_other() -> None:
    told = {name.strip("`"): default for name, default, *_ in rows((OPERATORS / "settings.md").read_text())}
    assert told == {PREFIX + name.upper(): show_default(field.default) for name, field in Settings.model_fields.items()}


def test_every_setting_says_what_it_means() -> None:
    assert all(len(meaning) > 15 for _, _, meaning in rows((OPERATORS / "settings.md").read_text()))


def test_every_command_is_told_and_no_other() -> None:
    told = {command.strip("`") for command, _ in rows((OPERATORS / "commands.md").read_text())}
    words = {tuple(word for word in command.split()[1:] if word.islower()) for command in told}
    assert words == {path for path in _commands(typer.main.get_command(cli), ()) if not ELSEWHERE & set(path)}


def test_every_command_that_writes_no_json_is_named() -> None:
    (told,) = re.findall(
        r"Every command except (.*?) accepts `--json`", (OPERATORS / "commands.md").read_text(), re.DOTALL
    )
    without = {
        path
        for path in _commands(typer.main.get_command(cli), ())
        if "--json" not in CliRunner().invoke(cli, [*path, "--help"]).output
    }
    assert {tuple(name.split()) for name in re.findall("`(.*?)`", told)} == {
        path for path in without if not ELSEWHERE & set(path)
    }


@pytest.mark.parametrize(
    "line",
    [
        line
        for block in blocks("sh", among=PAGES)
        for line in block.code.splitlines()
        if "saleor-gateway " in line and not line.startswith(OTHER_PROGRAMS)
    ],
)
def test_the_commands_in_examples_can_be_typed(line: str) -> None:
    words = shlex.split(line)
    words = words[[Path(word).name for word in words].index("saleor-gateway") + 1 :]
    said = CliRunner().invoke(cli, [*words, "--help"])  # wrong options are refused even with --help
    assert said.exit_code == 0, said.output


@pytest.mark.parametrize(
    "words",
    [
        cell[1:-1]
        for name in ("problems.md", "monitoring.md")
        for cell in re.findall(r"^\| (`.*?`(?:, `.*?`)*) \|", (OPERATORS / name).read_text(), re.MULTILINE)
        if "..." not in cell
    ],
)
def test_what_the_app_is_quoted_with_it_says(words: str) -> None:
    sources = [path.read_text() for path in source_files()]
    for part in words.split("`, `"):
        assert any(part in source for source in sources), part


def test_the_secrets_file_in_the_page_is_one(tmp_path: Path) -> None:
    (example,) = blocks("toml", among=PAGES)
    file = tmp_path / "secrets.toml"
    file.touch(mode=0o600)
    file.write_text(re.sub(r"^ +", "", example.code, flags=re.MULTILINE))
    assert read_keys(file).api_secret == "..."
    file.write_text(example.code.replace("GATEWAY_API_KEY", "GATEWAY_KEY"))
    with pytest.raises(CommandFailed):
        read_keys(file)


def _commands(command: object, path: tuple[str, ...]) -> set[tuple[str, ...]]:
    """Return the path of every command. Typer has no public name for what it makes of a function."""
    inner = getattr(command, "commands", {})
    return {found for name, command in inner.items() for found in _commands(command, (*path, name))} or {path}
