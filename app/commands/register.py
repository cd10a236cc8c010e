"""``register``: the gateway's own list of what was done at a point of sale, for any period, as CSV or JSON lines."""

import csv
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

import typer

from app.commands.failure import CommandFailed
from app.commands.finding import find_account
from app.commands.opening import with_services
from app.commands.periods import read_moment
from app.commands.progress_bar import Stage, shown
from app.exact_json import dumps
from app.gateway.client import GatewayClient
from app.gateway.errors import GatewayError
from app.gateway.models import Method, Status
from app.gateway.models.reports import DEFAULT_DETAILS, Detail, RegisterLine, RegisterRequest, UnreadableLine, periods
from app.payments.operations.look_up import opened
from app.payments.services import Services
from app.payments.staff.csv_export import harmless

_PATIENCE, _SILENCE = 600.0, 60.0  # seconds that a register is waited for; between two pieces of it
_AMOUNTS = {each for each in Detail if each.value.endswith(("mount", "Fee", "Rate"))}


class Form(StrEnum):
    """How lines are written."""

    CSV = "csv"
    NDJSON = "ndjson"


@dataclass(slots=True)
class _Written:
    """How far it is: lines of the present window, of so many that were announced; ``unreadable`` in all."""

    window: str = ""
    lines: int = 0
    announced: int | None = None
    unreadable: int = 0


def register(
    *,
    account: Annotated[str, typer.Option(metavar="ACCOUNT", help="Its id or its name.")],
    since: Annotated[str, typer.Option("--from", metavar="DATE", help="The first day, or a moment with its zone.")],
    until: Annotated[str, typer.Option("--to", metavar="DATE", help="The last day, or a moment with its zone.")],
    form: Annotated[Form, typer.Option(help="CSV for spreadsheets, or a JSON object a line.")] = Form.CSV,
    status: Annotated[
        list[Status] | None, typer.Option(help="Only what is so; may be repeated.", show_default=False)
    ] = None,
    method: Annotated[
        list[Method] | None, typer.Option(help="Only what is that; may be repeated.", show_default=False)
    ] = None,
    field: Annotated[
        list[Detail] | None,
        typer.Option(
            help="Which fields, in which order; may be repeated. The usual ones unless given.", show_default=False
        ),
    ] = None,
) -> None:
    """Write the gateway's register of a period, as CSV or JSON lines, to standard output. Days are those of UTC.

    What has been written is not all of it if the exit status is 1.
    """
    start, end = read_moment(since, "--from"), read_moment(until, "--to", last=True)
    if start is None or end is None or start >= end:
        raise CommandFailed("the period ends before it begins", status=2)
    fields = tuple(field or (*DEFAULT_DETAILS, Detail.ORIGINAL_AMOUNT))
    asked = _Asked(tuple(status or ()), tuple(method or ()), fields)
    so_far = _Written()

    async def write(services: Services) -> None:
        client = opened(services, await find_account(services, account))
        async with shown(lambda: Stage(f"{so_far.window}: lines written", so_far.lines, so_far.announced)):
            rows = csv.writer(sys.stdout)
            if form is Form.CSV:
                rows.writerow(fields)
            async for line in _lines(client, (start, end), asked, so_far):
                if form is Form.CSV:
                    rows.writerow(_cells(line, fields))
                else:
                    sys.stdout.write(dumps(line.to_wire()) + "\n")

    try:
        with_services(write)
    except GatewayError as error:
        raise CommandFailed(f"the register is not whole: {error}") from error
    if so_far.unreadable:
        raise CommandFailed(f"{so_far.unreadable} lines of the register cannot be read, and are left out")


@dataclass(frozen=True, slots=True)
class _Asked:
    statuses: tuple[Status, ...]
    methods: tuple[Method, ...]
    fields: tuple[Detail, ...]


async def _lines(
    client: GatewayClient, period: tuple[datetime, datetime], asked: _Asked, so_far: _Written
) -> AsyncIterator[RegisterLine]:
    """Give the lines of all windows. Raises GatewayError."""
    for start, end in periods(*period):
        request = RegisterRequest(
            start_date=start,
            end_date=end,
            statuses=asked.statuses or None,
            methods=asked.methods or None,
            transaction_details=asked.fields,
        )
        ticket = await client.reports.start(request, timeout=_SILENCE)
        so_far.window, so_far.lines, so_far.announced = f"{start:%Y-%m-%d} to {end:%Y-%m-%d}", 0, ticket.count
        async with aclosing(client.reports.fetch(ticket, patience=_PATIENCE, timeout=_SILENCE)) as lines:
            async for line in lines:
                so_far.lines += 1
                if isinstance(line, UnreadableLine):
                    so_far.unreadable += 1
                else:
                    yield line


def _cells(line: RegisterLine, fields: tuple[Detail, ...]) -> list[str]:
    said = line.to_wire()
    return [_cell(line, each, said.get(each.value)) for each in fields]


def _cell(line: RegisterLine, field: Detail, value: object) -> str:
    """Return what a spreadsheet shows: moments in UTC, amounts as they are, nothing that it would compute."""
    if value is None:
        return ""
    if field is Detail.DATE_TIME:
        return "" if line.date_time is None else f"{line.date_time:%Y-%m-%dT%H:%M:%SZ}"
    return str(value) if field in _AMOUNTS else harmless(str(value))
