"""Files for spreadsheets hold numbers, dates and text, and no text is computed."""

import errno
import gc
import os
import re
import tempfile
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile
from zoneinfo import ZoneInfo

import pytest

from app.i18n.translation import translation
from app.reports import sheet
from app.reports.sheet import Row, SheetError, SheetForm, SheetStyle, csv_lines, sheet_bytes, zone_named

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
ROW: Row = ("=1+1", "1042", Decimal("1234.5"), 3, NOON, date(2026, 11, 20), None)


async def batches(*rows: Row) -> AsyncIterator[Sequence[Row]]:
    """Yield the rows one by one."""
    for row in rows:
        yield [row]


async def xlsx(style: SheetStyle, *rows: Row) -> ZipFile:
    pieces = [piece async for piece in sheet_bytes(batches(*rows), SheetForm.XLSX, style)]
    return ZipFile(BytesIO(b"".join(pieces)))


def cells(book: ZipFile, number: int = 1) -> list[tuple[str, str]]:
    """Return each cell's type ("" for a number) and content, from left to right and top to bottom."""
    text = book.read(f"xl/worksheets/sheet{number}.xml").decode()
    found = re.findall(r'<c r="[A-Z]+[0-9]+"(?: s="[0-9]+")?(?: t="([a-zA-Z]+)")?>(.*?)</c>', text)
    return [(kind, re.sub("<[^>]*>", "", content)) for kind, content in found]


@pytest.mark.fault("disk-full")
async def test_a_disk_that_takes_no_file_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was a stack trace, and in the browser a download that broke off."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    words = "cannot be written to the folder of temporary files: No space left on device"
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for where in ("xlsxwriter.workbook.Workbook._store_workbook", "xlsxwriter.worksheet.Worksheet._write_row"):
        with monkeypatch.context() as patched:
            patched.setattr(where, full)
            with pytest.raises(SheetError, match=words):
                await xlsx(SheetStyle(), ROW, ROW)
        assert next(os.walk(tmp_path))[1:] == ([], [])
    gc.collect()  # a file that is still open would be told of here
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(SheetError, match="No such file or directory"):
        await xlsx(SheetStyle(), ROW)


async def test_a_file_that_nobody_waits_for_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser has gone, while the rows are read."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def broken_off() -> AsyncIterator[Sequence[Row]]:
        yield [ROW, ROW]
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await anext(sheet_bytes(broken_off(), SheetForm.XLSX, SheetStyle()))
    gc.collect()
    assert next(os.walk(tmp_path))[1:] == ([], [])


def test_csv_is_written_as_the_language_reads_it() -> None:
    assert csv_lines([ROW], SheetStyle()) == "'=1+1,1042,1234.50,3,2026-11-21 12:00:00,2026-11-20,\r\n"
    in_kyiv = SheetStyle(translation("uk"), ZoneInfo("Europe/Kyiv"))
    assert csv_lines([ROW], in_kyiv) == "'=1+1;1042;1234,50;3;2026-11-21 14:00:00;2026-11-20;\r\n"


@pytest.mark.threat("csv-formulas")
async def test_xlsx_has_numbers_dates_and_text() -> None:
    book = await xlsx(SheetStyle(zone=ZoneInfo("Europe/Kyiv")), ["Heading"] * 7, ROW)
    kinds = cells(book)[7:]
    assert kinds == [
        ("inlineStr", "=1+1"),
        ("inlineStr", "1042"),
        ("", "1234.5"),
        ("", "3"),
        ("", "46347.58333333334"),
        ("", "46346"),
    ]
    assert "<f>" not in book.read("xl/worksheets/sheet1.xml").decode()
    styles = book.read("xl/styles.xml").decode()
    for written in ("#,##0.00####", "yyyy-mm-dd hh:mm:ss", "yyyy-mm-dd"):
        assert f'formatCode="{written}"' in styles


async def test_more_rows_than_a_sheet_holds_go_on_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheet, "_MOST_ROWS", 3)
    book = await xlsx(SheetStyle(), ["Heading"], *[[number] for number in range(5)])
    found = [[content for _, content in cells(book, number)] for number in (1, 2, 3)]
    assert found == [["Heading", "0", "1"], ["Heading", "2", "3"], ["Heading", "4"]]


@pytest.mark.parametrize("name", ["", "../etc/passwd", "/etc/passwd", "Europe/Nowhere", "\0", "x" * 64])
def test_a_zone_that_is_none(name: str) -> None:
    assert zone_named(name) is None
