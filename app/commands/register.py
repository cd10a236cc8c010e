"""``register``: the gateway's own list of what was done at a point of sale, for any period, as CSV or JSON lines."""

import sys
from contextlib import aclosing
from typing import Annotated

import typer

from app.commands.failure import CommandFailed
from app.commands.finding import find_account
from app.commands.opening import with_services
from app.commands.periods import read_moment
from app.commands.progress_bar import Stage, shown
from app.gateway.errors import GatewayError
from app.gateway.models import Method, Status
from app.gateway.models.reports import Detail
from app.payments.operations.look_up import opened
from app.payments.services import Services
from app.payments.staff.register import (
    USUAL_FIELDS,
    Form,
    RegisterProgress,
    RegisterQuery,
    not_whole,
    register_pieces,
)


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

    If it breaks off, the last line says that it is not whole, and the exit status is 1.
    """
    start, end = read_moment(since, "--from"), read_moment(until, "--to", last=True)
    if start is None or end is None or start >= end:
        raise CommandFailed("the period ends before it begins", status=2)
    query = RegisterQuery(start, end, tuple(status or ()), tuple(method or ()), tuple(field or USUAL_FIELDS), form)
    so_far = RegisterProgress()

    async def write(services: Services) -> None:
        client = opened(services, await find_account(services, account))
        async with shown(lambda: _stage(so_far)), aclosing(register_pieces(client, query, so_far)) as pieces:
            async for piece in pieces:
                sys.stdout.write(piece)

    try:
        with_services(write)
    except GatewayError as error:
        if so_far.start is not None:
            sys.stdout.write(not_whole(query, "the register broke off here; ask for it again"))
        raise CommandFailed(f"the register is not whole: {error}") from error
    if so_far.unreadable:
        words = f"{so_far.unreadable} lines of the register cannot be read, and are left out"
        sys.stdout.write(not_whole(query, words))
        raise CommandFailed(words)


def _stage(so_far: RegisterProgress) -> Stage:
    window = "" if so_far.start is None else f"{so_far.start:%Y-%m-%d} to {so_far.end:%Y-%m-%d}: "
    return Stage(f"{window}lines read", so_far.lines, so_far.announced)
