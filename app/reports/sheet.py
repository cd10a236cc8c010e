"""Files for spreadsheets, CSV (RFC 4180) and XLSX: headings and texts in one language, times in one zone.

Where clocks go back, an hour comes twice. So the last columns have the offset from UTC of each time: spreadsheets read
no time with its offset as a date.

CSV has the separator and the decimal sign of the language, as spreadsheets in that language read them. Text is never a
formula: in CSV an apostrophe precedes one, in XLSX a cell states that it is text.
"""

import asyncio
import csv
import io
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, tzinfo
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias
from zoneinfo import ZoneInfo

import xlsxwriter
from babel import Locale
from babel.numbers import get_decimal_symbol

from app.i18n.messages import gettext_noop
from app.i18n.translation import ENGLISH, Translation, translation
from integration_base.amounts import format_amount

Cell: TypeAlias = str | int | Decimal | datetime | date | None
Row: TypeAlias = Sequence[Cell]

_LIVE, _TEST = gettext_noop("Live"), gettext_noop("Test project")
_MOST_ROWS = 1_048_576  # of one sheet, with its heading; what is more goes on another
_LONGEST_TEXT = 32_767  # characters of a cell
_PIECE_SIZE = 64_000  # bytes
# Characters that begin a formula in some spreadsheets, also behind white space, which they drop.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_NOT_XML = {0xFFFE: "\N{REPLACEMENT CHARACTER}", 0xFFFF: "\N{REPLACEMENT CHARACTER}"}


class SheetError(Exception):
    """An XLSX file, which is written to the disk first, cannot be written there. Its message says why."""


class SheetForm(StrEnum):
    """The format of a file."""

    CSV = "csv"
    XLSX = "xlsx"

    @property
    def media_type(self) -> str:
        """The media type of such a file."""
        xlsx = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
        return "text/csv" if self is SheetForm.CSV else xlsx


@dataclass(frozen=True, slots=True)
class SheetStyle:
    """The language of a file, and the zone of its times."""

    language: Translation = field(default_factory=lambda: translation(ENGLISH))
    zone: tzinfo = UTC

    @property
    def decimal_sign(self) -> str:
        """The sign before decimals: ``.`` or ``,``."""
        return get_decimal_symbol(Locale(self.language.language))

    def in_zone(self, heading: str) -> str:
        """Return the heading of times, in this language, with their zone."""
        zone = self.zone.key if isinstance(self.zone, ZoneInfo) else "UTC"
        return f"{self.language.gettext(heading)} ({zone})"

    def amount(self, amount: Decimal) -> str:
        """Return an amount as text of a CSV file."""
        return format_amount(amount).replace(".", self.decimal_sign)

    def moment(self, at: datetime) -> str:
        """Return a time as text, as spreadsheets in any language read it."""
        return f"{at.astimezone(self.zone):%Y-%m-%d %H:%M:%S}"

    def moment_in_text(self, at: datetime) -> str:
        """Return a time as a part of a text, with its offset from UTC in the hour that comes twice."""
        local = at.astimezone(self.zone)
        is_twice = local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()
        return f"{self.moment(at)} {_offset(local)}" if is_twice else self.moment(at)

    def offset_headings(self, *headings: str) -> list[str]:
        """Return the headings of the columns of ``offsets`` for these headings of times, in this language."""
        offset = self.language.gettext(gettext_noop("UTC offset"))
        return [] if self.zone is UTC else [f"{self.language.gettext(heading)}: {offset}" for heading in headings]

    def offsets(self, *moments: datetime | None) -> list[str | None]:
        """Return the offset from UTC of each time, like UTC+03:00; none at all where all times are in UTC."""
        if self.zone is UTC:
            return []
        return [None if at is None else _offset(at.astimezone(self.zone)) for at in moments]


def project(is_test: bool) -> str:
    """Return the name of a project, in English: whether its money is real."""
    return _TEST if is_test else _LIVE


def _offset(local: datetime) -> str:
    """Return the offset from UTC with a word before it: a sign at the beginning would be one of a formula."""
    return f"UTC{local.isoformat(timespec='seconds')[19:]}"


def zone_named(name: str) -> tzinfo | None:
    """Return the time zone with this name, like Europe/Kyiv; None when there is none."""
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        return None


def escape_formula(text: str) -> str:
    """Return the text so that no spreadsheet evaluates it as a formula."""
    return f"'{text}" if text.lstrip().startswith(_FORMULA) or text.startswith(_FORMULA) else text


def csv_lines(rows: Sequence[Row], style: SheetStyle) -> str:
    """Return rows as CSV text."""
    written = io.StringIO()
    separator = ";" if style.decimal_sign == "," else ","
    csv.writer(written, delimiter=separator).writerows([_csv_cell(cell, style) for cell in row] for row in rows)
    return written.getvalue()


def _csv_cell(cell: Cell, style: SheetStyle) -> str:
    match cell:
        case None:
            return ""
        case str():
            return escape_formula(cell)
        case Decimal():
            return style.amount(cell)
        case datetime():
            return style.moment(cell)
        case _:
            return str(cell)


async def sheet_bytes(
    batches: AsyncIterator[Sequence[Row]], form: SheetForm, style: SheetStyle
) -> AsyncGenerator[bytes, None]:
    """Yield a file in pieces. The first row has the headings. Raises SheetError, before the first piece."""
    if form is SheetForm.CSV:
        async for rows in batches:
            yield csv_lines(rows, style).encode()
        return
    with _temporary_folder() as folder:
        path = folder / "sheet.xlsx"
        with closing(_Book(path, style)) as book:
            async for rows in batches:
                with _explained():
                    book.add(rows)
            with _explained():
                await asyncio.to_thread(book.finish)
        with path.open("rb") as file:
            while piece := await asyncio.to_thread(file.read, _PIECE_SIZE):
                yield piece


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """Yield a new folder, which is removed at the end. Raises SheetError if there is no place for one."""
    with _explained():
        folder = TemporaryDirectory(ignore_cleanup_errors=True)
    with folder as path:
        yield Path(path)


@contextmanager
def _explained() -> Iterator[None]:
    """Raise SheetError when the disk does not take what is written."""
    try:
        yield
    except (OSError, xlsxwriter.exceptions.FileCreateError) as exc:
        reason = exc if isinstance(exc, OSError) else exc.args[0]
        raise SheetError(
            "the file cannot be written to the folder of temporary files: "
            f"{getattr(reason, 'strerror', None) or type(reason).__name__}"
        ) from exc


class _Book:
    """An XLSX file while it is written, row by row, onto the disk."""

    def __init__(self, path: Path, style: SheetStyle) -> None:
        self._style = style
        self._book = xlsxwriter.Workbook(path, {"constant_memory": True, "tmpdir": str(path.parent)})
        self._bold = self._book.add_format({"bold": True})
        self._amount = self._book.add_format({"num_format": "#,##0.00####"})
        self._moment = self._book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        self._day = self._book.add_format({"num_format": "yyyy-mm-dd"})
        self._headings: Row | None = None
        self._rows = _MOST_ROWS

    def add(self, rows: Sequence[Row]) -> None:
        for row in rows:
            if self._headings is None:
                self._headings = row
                self._begin_sheet(row)
                continue
            if self._rows == _MOST_ROWS:
                self._begin_sheet(self._headings)
            for column, cell in enumerate(row):
                self._write(column, cell)
            self._rows += 1

    def _begin_sheet(self, headings: Row) -> None:
        self._sheet = self._book.add_worksheet()
        self._sheet.set_column(0, len(headings) - 1, 20)
        self._sheet.freeze_panes(1, 0)
        for column, heading in enumerate(headings):
            self._sheet.write_string(0, column, str(heading), self._bold)
        self._rows = 1

    def _write(self, column: int, cell: Cell) -> None:
        match cell:
            case None:
                pass
            case str():
                self._sheet.write_string(self._rows, column, cell[:_LONGEST_TEXT].translate(_NOT_XML))
            case Decimal():
                self._sheet.write_number(self._rows, column, cell, self._amount)
            case int():
                self._sheet.write_number(self._rows, column, cell)
            case datetime():
                local = cell.astimezone(self._style.zone).replace(tzinfo=None)
                self._sheet.write_datetime(self._rows, column, local, self._moment)
            case date():
                self._sheet.write_datetime(self._rows, column, cell, self._day)

    def finish(self) -> None:
        """Write the file, of which only the rows were written so far."""
        self._book.close()

    def close(self) -> None:
        """Close the rows of a file that was not finished: the library keeps them open."""
        for sheet in self._book.worksheets():
            with suppress(OSError):  # what waits to be written has no space either
                sheet.row_data_fh.close()
