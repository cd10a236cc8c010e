"""The output of commands: text for people, JSON for scripts; errors and warnings on standard error.

External text (names, messages of the gateway) is printed literally: it is never interpreted as markup, and its control
characters never reach the terminal.
"""

import os
import re
import sys
from collections.abc import Collection
from datetime import datetime
from typing import Annotated

import typer
from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from app.commands.failure import CommandFailed
from integration_base.exact_json import dumps

AsJson = Annotated[bool, typer.Option("--json", help="Write JSON for scripts, and nothing else to standard output.")]

_WITHOUT_TERMINAL = 10_000  # columns: a program that reads lines wants each row on one
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """Return ``text`` on one line, without control characters."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", " ".join(text.split()))


def show(what: RenderableType = "") -> None:
    """Print to standard output, in the terminal's width; where there is none nothing is wrapped."""
    _console().print(what)


def print_line(text: str, style: str = "", *, indent: int = 0) -> None:
    """Print a line without wrapping it, so that a command or an address in it can be copied."""
    _console().print(Text(" " * indent + plain(text), style), soft_wrap=True)


def print_warning(text: str) -> None:
    """Print a warning to standard error: a problem that does not stop the command, but should be fixed."""
    _print_message("warning: ", "yellow", text)


def print_error(text: str) -> None:
    """Print one line to standard error: why the command fails."""
    _print_message("error: ", "bold red", text)


def require_interactive(instead: str) -> None:
    """Raise CommandFailed, which states what to do ``instead``, unless standard input is a terminal."""
    if not sys.stdin.isatty():
        raise CommandFailed(f"this is not an interactive terminal: {instead}", status=2)


def confirm(question: str) -> None:
    """Prompt the user to confirm. Raises Abort when they decline."""
    typer.confirm(plain(question), abort=True, err=True)


def show_json(value: object) -> None:
    """Print JSON and nothing else; amounts are exact numbers, moments are text in UTC."""
    sys.stdout.write(dumps(value) + "\n")


def moment(at: datetime | None) -> str | None:
    """Return a moment as text for JSON: ISO 8601 in UTC."""
    return None if at is None else at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def table(*headings: str, amounts: Collection[str] = ()) -> Table:
    """Return a table that folds long words, and never truncates them; ``amounts``: columns with these headings."""
    layout = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold", show_edge=False)
    for heading in headings:
        layout.add_column(heading, overflow="fold", justify="right" if heading in amounts else "left")
    return layout


def grid(*, fixed: int, columns: int) -> Table:
    """Return a table without headings, whose first ``fixed`` columns are never wrapped."""
    layout = Table.grid(padding=(0, 2))
    for column in range(columns):
        layout.add_column(no_wrap=column < fixed, overflow="fold", style="" if column else "dim")
    return layout


def fact_sheet() -> Table:
    """Return an empty list of names and values, to be filled with ``add_fact``."""
    return grid(fixed=1, columns=2)


def add_fact(sheet: Table, name: str, value: str, style: str = "") -> None:
    """Add a line to a fact sheet."""
    sheet.add_row(f"  {name}", Text(plain(value), style))


def _print_message(label: str, style: str, text: str) -> None:
    _console(stderr=True).print(Text.assemble((label, style), plain(text)), soft_wrap=True)


def _console(*, stderr: bool = False) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else _WITHOUT_TERMINAL
    return Console(stderr=stderr, markup=False, highlight=False, emoji=False, width=width)


def count_text(number: int, one: str) -> str:
    """Return how many of something there are; ``one`` is its name for one: ``1 payment``, ``2 payments``."""
    return f"{number} {one}" if number == 1 else f"{number} {one}s"
