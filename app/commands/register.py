"""``register``: the gateway's own list of what was done at a point of sale, for any period, as a file."""

from contextlib import aclosing
from typing import Annotated

import typer

from app.commands import sheets
from app.commands.arguments import build_backwards_error, read_moment
from app.commands.failure import CommandFailed
from app.commands.finders import find_account
from app.commands.progress_bar import Stage, show_progress
from app.commands.services import with_services
from app.flows.look_up import client_of
from app.reports.register import (
    USUAL_FIELDS,
    Form,
    RegisterProgress,
    RegisterQuery,
    describe_unreadable,
    incomplete_marker,
    stream_register,
)
from app.services import Services
from gateway_client.errors import GatewayError
from gateway_client.models import Method, Status
from gateway_client.models.reports import RegisterColumn


def register(
    *,
    account: Annotated[str, typer.Option(metavar="ACCOUNT", help="The account's ID or name.")],
    since: Annotated[str, typer.Option("--from", metavar="DATE", help="The first day, or a time with its zone.")],
    until: Annotated[str, typer.Option("--to", metavar="DATE", help="The last day, or a time with its zone.")],
    form: Annotated[Form, typer.Option(help="CSV or XLSX for spreadsheets, or one JSON object per line.")] = Form.CSV,
    status: Annotated[
        list[Status] | None, typer.Option(help="Only lines with this status; can be repeated.", show_default=False)
    ] = None,
    method: Annotated[
        list[Method] | None, typer.Option(help="Only lines with this method; can be repeated.", show_default=False)
    ] = None,
    field: Annotated[
        list[RegisterColumn] | None,
        typer.Option(
            help="A field, in the order given; can be repeated. Default: the usual fields.", show_default=False
        ),
    ] = None,
    language: sheets.InLanguage = sheets.DEFAULT_LANGUAGE,
    time_zone: sheets.InZone = sheets.DEFAULT_ZONE,
) -> None:
    """Write the gateway's register for a period, as CSV, XLSX or JSON lines, to standard output. Days are in UTC.

    If it is interrupted, the last line states that it is incomplete, and the exit status is 1; no XLSX is written then.
    """
    if form is Form.XLSX:
        sheets.require_file()
    start, end = read_moment(since, "--from"), read_moment(until, "--to", last=True)
    if start is None or end is None or start >= end:
        raise build_backwards_error()
    query = RegisterQuery(
        start,
        end,
        tuple(status or ()),
        tuple(method or ()),
        tuple(field or USUAL_FIELDS),
        form,
        sheets.read_style(language, time_zone),
    )
    progress = RegisterProgress()

    async def write(services: Services) -> None:
        client = client_of(services, await find_account(services, account))
        async with (
            show_progress(lambda: _stage(progress)),
            aclosing(stream_register(client, query, progress)) as pieces,
        ):
            with sheets.explained():
                async for piece in pieces:
                    sheets.write_bytes(piece)

    try:
        with_services(write)
    except GatewayError as error:
        if progress.start is not None:
            sheets.write_bytes(incomplete_marker(query, "the register was interrupted here; download it again"))
        raise CommandFailed(f"the register is incomplete: {error}") from error
    if progress.unreadable:
        message = describe_unreadable(progress)
        sheets.write_bytes(incomplete_marker(query, message))
        raise CommandFailed(message)


def _stage(progress: RegisterProgress) -> Stage:
    window = "" if progress.start is None else f"{progress.start:%Y-%m-%d} to {progress.end:%Y-%m-%d}: "
    return Stage(f"{window}lines read", progress.lines, progress.announced)
