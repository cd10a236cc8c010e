"""The options of commands that write files for spreadsheets, and the writing of them to standard output."""

import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, TypeAlias

import typer

from app.commands.failure import CommandFailed
from app.i18n.translation import ENGLISH, LANGUAGES, translation
from app.reports.sheet import Row, SheetError, SheetForm, SheetStyle, sheet_bytes, zone_named

AsXlsx: TypeAlias = Annotated[bool, typer.Option("--xlsx", help="Write the same as an XLSX file, to a pipe or a file.")]
InLanguage: TypeAlias = Annotated[
    str,
    typer.Option("--language", metavar="LANGUAGE", help=f"The language of a CSV or XLSX file: {', '.join(LANGUAGES)}."),
]
InZone: TypeAlias = Annotated[
    str, typer.Option("--time-zone", metavar="ZONE", help="The time zone of the times in it, like Europe/Kyiv.")
]
DEFAULT_LANGUAGE, DEFAULT_ZONE = ENGLISH, "UTC"


def chosen_form(*, as_csv: bool, as_xlsx: bool) -> SheetForm | None:
    """Return the format of the requested file, if any. Raises CommandFailed."""
    if as_csv and as_xlsx:
        raise CommandFailed("use either --csv or --xlsx", status=2)
    if as_xlsx:
        require_file()
        return SheetForm.XLSX
    return SheetForm.CSV if as_csv else None


def require_file() -> None:
    """Raise CommandFailed if standard output, which is to be an XLSX file, is a terminal."""
    if sys.stdout.isatty():
        raise CommandFailed("an XLSX file is not for a terminal: add > FILE.xlsx", status=2)


def read_style(language: str, zone: str) -> SheetStyle:
    """Return the style of a file. Raises CommandFailed."""
    if language not in LANGUAGES:
        raise CommandFailed(f"--language: {language!r} is none of {', '.join(LANGUAGES)}", status=2)
    found = zone_named(zone)
    if found is None:
        raise CommandFailed(f"--time-zone: {zone!r} is not a time zone: write it like Europe/Kyiv", status=2)
    return SheetStyle(translation(language), found)


async def write_sheet(batches: AsyncIterator[Sequence[Row]], form: SheetForm, style: SheetStyle) -> None:
    """Write the file to standard output."""
    with explained():
        async for piece in sheet_bytes(batches, form, style):
            write_bytes(piece)


@contextmanager
def explained() -> Iterator[None]:
    """Raise CommandFailed if a file cannot be written to the disk, where XLSX is written first."""
    try:
        yield
    except SheetError as exc:
        raise CommandFailed(f"{exc}: set TMPDIR to a folder with space, or write CSV") from exc


def write_bytes(piece: bytes) -> None:
    """Write a piece of a file to standard output."""
    sys.stdout.flush()  # text that was written before
    sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()
