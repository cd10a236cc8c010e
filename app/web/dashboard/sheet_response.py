"""The response to a form that requests a file for spreadsheets, in the language of the person and their time zone."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC

import structlog
from fastapi.responses import StreamingResponse

from app.i18n.messages import gettext_noop
from app.reports.sheet import Row, SheetError, SheetForm, SheetStyle, sheet_bytes, zone_named
from app.web.dashboard.staff import Staff, http_error

log = structlog.get_logger(__name__)

NO_SPACE = gettext_noop("The app has no space left to write this file. Tell whoever runs it; the CSV file needs none.")


def style_of(staff: Staff, params: Mapping[str, str]) -> SheetStyle:
    """Return the style of a file; the browser sends its time zone in the form."""
    return SheetStyle(staff.translation, zone_named(params.get("zone", "UTC")[:64]) or UTC)


async def sheet_response(
    batches: AsyncIterator[Sequence[Row]], form: SheetForm, style: SheetStyle
) -> StreamingResponse:
    """Return the file. Raises HTTPException 503 if there is no space to write it."""
    pieces = sheet_bytes(batches, form, style)
    try:
        first = await anext(pieces, b"")
    except SheetError as error:
        log.warning("file.not_written", error=str(error))
        raise http_error(503, "NO_SPACE", style.language, NO_SPACE) from error
    return StreamingResponse(_for_spreadsheets(first, pieces, form), media_type=form.media_type)


async def _for_spreadsheets(first: bytes, pieces: AsyncIterator[bytes], form: SheetForm) -> AsyncIterator[bytes]:
    """Yield the file; without the byte order mark spreadsheets do not recognise that CSV is in UTF-8."""
    yield "\N{BYTE ORDER MARK}".encode() + first if form is SheetForm.CSV else first
    async for piece in pieces:
        yield piece
