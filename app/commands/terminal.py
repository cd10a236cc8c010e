"""What commands write: text for people, JSON for scripts; complaints and warnings on standard error.

Text from outside (names, messages of the gateway) is shown as it is: neither taken for markup nor let through to the
terminal as control characters.
"""

import re
import sys
from datetime import datetime
from typing import Annotated

import typer
from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from app.commands.failure import CommandFailed
from app.exact_json import dumps

AsJson = Annotated[bool, typer.Option("--json", help="Write JSON, for scripts: nothing else is on standard output.")]

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """Return ``text`` on one line, without characters that do something to a terminal."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", " ".join(text.split()))


def show(what: RenderableType = "") -> None:
    """Write to standard output, as wide as the terminal is (80 columns where there is none)."""
    _console().print(what)


def say(text: str, style: str = "") -> None:
    """Write a line. It is not broken, so that a command or an address in it can be copied."""
    _console().print(Text(plain(text), style), soft_wrap=True)


def warn(text: str) -> None:
    """Say on standard error what does not hinder the command, but should be mended."""
    _complain("warning: ", "yellow", text)


def complain(text: str) -> None:
    """Say in one line on standard error why the command ends."""
    _complain("error: ", "bold red", text)


def require_somebody_to_ask(instead: str) -> None:
    """Raise CommandFailed, which says what to do ``instead``, unless a person sits at this terminal."""
    if not sys.stdin.isatty():
        raise CommandFailed(f"nobody can be asked here: {instead}", status=2)


def confirm(question: str) -> None:
    """Ask a person to confirm. Raises Abort when they do not."""
    typer.confirm(plain(question), abort=True, err=True)


def show_json(value: object) -> None:
    """Write JSON and nothing else; amounts are exact numbers, moments are text in UTC."""
    sys.stdout.write(dumps(value) + "\n")


def moment(at: datetime | None) -> str | None:
    """Return a moment for JSON: ISO 8601 in UTC."""
    return None if at is None else at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def table(*headings: str) -> Table:
    """Return a table of which long words are folded, never cut."""
    shape = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold", show_edge=False)
    for heading in headings:
        shape.add_column(heading, overflow="fold")
    return shape


def fact_sheet() -> Table:
    """Return a list of names and values, to be filled with ``fact``."""
    shape = Table.grid(padding=(0, 2))
    shape.add_column(no_wrap=True, style="dim")
    shape.add_column(overflow="fold")
    return shape


def fact(aggregate: Table, name: str, value: str, style: str = "") -> None:
    """Add a line to a fact aggregate."""
    aggregate.add_row(f"  {name}", Text(plain(value), style))


def _complain(label: str, style: str, text: str) -> None:
    _console(stderr=True).print(Text.assemble((label, style), plain(text)), soft_wrap=True)


def _console(*, stderr: bool = False) -> Console:
    return Console(stderr=stderr, markup=False, highlight=False, emoji=False)
