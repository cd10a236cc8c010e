"""The response to a form that requests a file for spreadsheets, in the language of the person and their time zone."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC

from fastapi.responses import StreamingResponse

from app.reports.sheet import Row, SheetForm, SheetStyle, sheet_bytes, zone_named
from app.web.dashboard.staff import Staff


def style_of(staff: Staff, params: Mapping[str, str]) -> SheetStyle:
    """Return the style of a file; the browser sends its time zone in the form."""
    return SheetStyle(staff.translation, zone_named(params.get("zone", "UTC")[:64]) or UTC)


def sheet_response(batches: AsyncIterator[Sequence[Row]], form: SheetForm, style: SheetStyle) -> StreamingResponse:
    """Return the file."""
    return StreamingResponse(_for_spreadsheets(sheet_bytes(batches, form, style), form), media_type=form.media_type)


async def _for_spreadsheets(pieces: AsyncIterator[bytes], form: SheetForm) -> AsyncIterator[bytes]:
    """Yield the file; without the byte order mark spreadsheets do not recognise that CSV is in UTF-8."""
    if form is SheetForm.CSV:
        yield "\N{BYTE ORDER MARK}".encode()
    async for piece in pieces:
        yield piece
