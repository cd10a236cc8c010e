"""The gateway's register of any period, as CSV or XLSX for spreadsheets or as JSON lines (gateway interface, 10).

For staff on a page and for operators in a terminal. It is streamed in pieces while it arrives, so it needs no memory
however long it is. Periods longer than the gateway allows are requested window by window.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from app.reports.sheet import Cell, Row, SheetForm, SheetStyle, csv_lines, sheet_bytes
from gateway_client.client import GatewayClient
from gateway_client.models import Method, Status
from gateway_client.models.reports import (
    DEFAULT_DETAILS,
    RegisterColumn,
    RegisterLine,
    RegisterRequest,
    UnreadableLine,
    split_period,
)
from integration_base.exact_json import dumps

_TOTAL_TIMEOUT, _READ_TIMEOUT = 600.0, 60.0  # seconds: for a whole register; between two pieces of it
_BATCH_SIZE = 200  # lines in one piece
_AMOUNTS = {column for column in RegisterColumn if column.value.endswith(("mount", "Fee", "Rate"))}

USUAL_FIELDS = (*DEFAULT_DETAILS, RegisterColumn.ORIGINAL_AMOUNT)
"""The fields of a register unless others are chosen: the gateway's defaults, and the amount without fees."""


class Form(StrEnum):
    """The output format."""

    CSV = "csv"
    XLSX = "xlsx"
    NDJSON = "ndjson"

    @property
    def media_type(self) -> str:
        """The media type of such a file."""
        return "application/x-ndjson" if self is Form.NDJSON else SheetForm(self).media_type


@dataclass(frozen=True, slots=True)
class RegisterQuery:
    """The requested register: from ``start`` to ``end``, with time zones. No ``statuses`` or ``methods``: all."""

    start: datetime
    end: datetime
    statuses: tuple[Status, ...] = ()
    methods: tuple[Method, ...] = ()
    fields: tuple[RegisterColumn, ...] = USUAL_FIELDS
    form: Form = Form.CSV
    style: SheetStyle = field(default_factory=SheetStyle)


@dataclass(slots=True)
class RegisterProgress:
    """The progress: ``lines`` of the current window, of those ``announced``; ``total`` were yielded in all.

    ``unreadable`` were left out. ``start`` and ``end`` are those of the window; None before the first is requested.
    """

    start: datetime | None = None
    end: datetime | None = None
    lines: int = 0
    announced: int | None = None
    total: int = 0
    unreadable: int = 0


async def stream_register(
    client: GatewayClient, query: RegisterQuery, progress: RegisterProgress
) -> AsyncGenerator[bytes, None]:
    """Yield the register as a file, in pieces; the first, which is empty, when the gateway has begun to create it.

    Raises GatewayError, also in the middle: then the output is incomplete, and ``incomplete_marker`` must follow it.
    Of XLSX nothing but the first piece has been yielded then. Unreadable lines are counted and left out.
    """
    async with aclosing(_batches(client, query, progress)) as batches:
        async for _ in batches:  # a window has begun
            break
        yield b""
        if query.form is Form.NDJSON:
            async for lines in batches:
                yield "".join(dumps(line.to_wire()) + "\n" for line in lines).encode()
            return
        async with aclosing(sheet_bytes(_rows(batches, query, progress), SheetForm(query.form), query.style)) as pieces:
            async for piece in pieces:
                yield piece


def incomplete_marker(query: RegisterQuery, why: str) -> bytes:
    """Return the last line of a register that broke off, so that it is not mistaken for a complete one. Pure.

    XLSX has none: without its end it cannot be opened.
    """
    if query.form is Form.XLSX:
        return b""
    text = dumps({"not_whole": why}) + "\n"
    return (text if query.form is Form.NDJSON else csv_lines([[_incomplete(why)]], query.style)).encode()


def describe_unreadable(progress: RegisterProgress) -> str:
    """Describe the lines that were left out, in English."""
    return f"{progress.unreadable} lines of the register could not be read and were left out"


def _incomplete(why: str) -> str:
    return f"NOT WHOLE: {why}"


async def _rows(
    batches: AsyncIterator[Sequence[RegisterLine]], query: RegisterQuery, progress: RegisterProgress
) -> AsyncGenerator[Sequence[Row], None]:
    """Yield the rows of a file for spreadsheets, the first with the headings."""
    yield [_headings(query)]
    async for lines in batches:
        yield [_cells(line, query) for line in lines]
    if progress.unreadable and query.form is Form.XLSX:  # nothing can be appended to it
        yield [[_incomplete(describe_unreadable(progress))]]


async def _batches(
    client: GatewayClient, query: RegisterQuery, progress: RegisterProgress
) -> AsyncGenerator[Sequence[RegisterLine], None]:
    """Yield the lines in batches, the first, which is empty, as the first window begins. Raises GatewayError."""
    batch: list[RegisterLine] = []
    begun = False
    async with aclosing(_lines(client, query, progress)) as lines:
        async for line in lines:
            if line is not None:
                batch.append(line)
            if len(batch) == _BATCH_SIZE or not begun:
                yield batch
                batch, begun = [], True
    if batch:
        yield batch


async def _lines(
    client: GatewayClient, query: RegisterQuery, progress: RegisterProgress
) -> AsyncGenerator[RegisterLine | None, None]:
    """Yield the lines of all windows, and None as each begins. Raises GatewayError."""
    for request in _requests(query):
        ticket = await client.reports.start(request, timeout=_READ_TIMEOUT)
        progress.start, progress.end = request.start_date, request.end_date
        progress.lines, progress.announced = 0, ticket.count
        yield None
        async with aclosing(client.reports.fetch(ticket, patience=_TOTAL_TIMEOUT, timeout=_READ_TIMEOUT)) as lines:
            async for line in _count_lines(lines, progress):
                yield line


async def _count_lines(
    lines: AsyncIterator[RegisterLine | UnreadableLine], progress: RegisterProgress
) -> AsyncIterator[RegisterLine]:
    async for line in lines:
        progress.lines += 1
        if isinstance(line, UnreadableLine):
            progress.unreadable += 1
        else:
            progress.total += 1
            yield line


def _requests(query: RegisterQuery) -> Iterator[RegisterRequest]:
    for start, end in split_period(query.start, query.end):
        yield RegisterRequest(
            start_date=start,
            end_date=end,
            statuses=query.statuses or None,
            methods=query.methods or None,
            transaction_details=query.fields,
        )


def _headings(query: RegisterQuery) -> list[str]:
    """Return the gateway's own names of the fields; the zone of times is added, and their offset from UTC."""
    named = [query.style.in_zone(field) if field is RegisterColumn.DATE_TIME else field.value for field in query.fields]
    return named + (query.style.offset_headings(RegisterColumn.DATE_TIME) if _has_times(query) else [])


def _cells(line: RegisterLine, query: RegisterQuery) -> list[Cell]:
    values = line.to_wire()
    cells = [_cell(line, field, values.get(field.value)) for field in query.fields]
    return [*cells, *(query.style.offsets(line.date_time) if _has_times(query) else [])]


def _has_times(query: RegisterQuery) -> bool:
    return RegisterColumn.DATE_TIME in query.fields


def _cell(line: RegisterLine, field: RegisterColumn, value: object) -> Cell:
    if value is None:
        return None
    if field is RegisterColumn.DATE_TIME:
        return line.date_time
    if field in _AMOUNTS:
        return Decimal(str(value))
    return str(value).encode(errors="replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
