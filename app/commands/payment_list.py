"""``payments list``: the payments, filtered, the newest first."""

import sys
from collections.abc import Sequence
from datetime import UTC
from typing import Annotated

import typer

from app.commands import sheets
from app.commands.arguments import build_backwards_error, read_moment
from app.commands.failure import CommandFailed
from app.commands.finders import find_account, find_installation, find_payment
from app.commands.payment_view import payment_table, summary
from app.commands.services import with_services
from app.commands.terminal import AsJson, print_line, show, show_json
from app.core.payment import Payment, PaymentAggregate
from app.core.vocabulary import PaymentStatus
from app.reports.payment_rows import payment_rows
from app.reports.search_query import ByEmail, ParsedQuery, narrow, parse_query
from app.services import Services
from app.store.aggregates import load_outlines
from app.store.search import PaymentFilter, payments_page

_PAGE_SIZE = 20


def list_payments(
    *,
    problems: Annotated[bool, typer.Option("--problems", help="Only payments that need attention.")] = False,
    status: Annotated[
        PaymentStatus | None, typer.Option(help="Only payments with this status.", show_default=False)
    ] = None,
    saleor: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Only payments of the store at this Saleor API URL.", show_default=False),
    ] = None,
    channel: Annotated[
        str | None, typer.Option(metavar="CHANNEL", help="Only payments of this sales channel.", show_default=False)
    ] = None,
    account: Annotated[
        str | None, typer.Option(metavar="ACCOUNT", help="Only payments of this merchant account.", show_default=False)
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            help="Only payments started on this day (UTC), or at this time, or later.",
            show_default=False,
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            help="Only payments started up to the end of this day (UTC), or before this time.",
            show_default=False,
        ),
    ] = None,
    search: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Any ID of a payment, the start of its order ID, or its amount: 1234.50, 1000 UAH.",
            show_default=False,
        ),
    ] = None,
    by_email: Annotated[
        bool, typer.Option("--by-email", help="Prompt for a shopper's e-mail address, or read it from standard input.")
    ] = False,
    after: Annotated[
        str | None,
        typer.Option(
            metavar="ORDER_ID", help="Continue after this payment, the last one of a page.", show_default=False
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, max=500, metavar="NUMBER", help="How many to show, newest first.", show_default=str(_PAGE_SIZE)
        ),
    ] = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Write all results as CSV, for spreadsheets.")] = False,
    as_xlsx: sheets.AsXlsx = False,
    language: sheets.InLanguage = sheets.DEFAULT_LANGUAGE,
    time_zone: sheets.InZone = sheets.DEFAULT_ZONE,
) -> None:
    """Show the newest payments."""
    form, style = sheets.chosen_form(as_csv=as_csv, as_xlsx=as_xlsx), sheets.read_style(language, time_zone)
    if form and (as_json or after or limit):
        raise CommandFailed(f"--{form} writes all results: do not combine it with --json, --after or --limit", status=2)
    start, end = read_moment(since, "--since", zone=UTC), read_moment(until, "--until", last=True, zone=UTC)
    if start is not None and end is not None and start >= end:
        raise build_backwards_error()
    typed, most = _parse_search(search, by_email=by_email), limit or _PAGE_SIZE

    async def build_filter(services: Services) -> PaymentFilter:
        installations = (
            await services.installations.all() if saleor is None else [await find_installation(services, saleor)]
        )
        criteria = PaymentFilter(
            installation_id=None if saleor is None else installations[0].id,
            problems=problems,
            status=status,
            channel=channel,
            account_id=None if account is None else (await find_account(services, account)).id,
            since=start,
            until=end,
        )
        return narrow(criteria, typed, services.emails, [installation.id for installation in installations])

    async def write(services: Services) -> None:
        assert form is not None  # noqa: S101 - it is what calls this
        await sheets.write_sheet(payment_rows(services, await build_filter(services), style), form, style)

    async def find(services: Services) -> list[PaymentAggregate]:
        criteria = await build_filter(services)
        last = None if after is None else await _load_payment(services, after)
        async with services.database.transaction() as session:
            found = await payments_page(session, criteria, most=most, after=last)
            return await load_outlines(session, found)

    if form:
        with_services(write)
        return
    aggregates = with_services(find)
    if as_json:
        show_json([summary(aggregate) for aggregate in aggregates])
        return
    chosen = any((status, saleor, channel, account, since, until, typed, after))
    _print_payments(aggregates, most, nothing=_describe_nothing_found(problems=problems, chosen=chosen))


def _print_payments(aggregates: Sequence[PaymentAggregate], limit: int, nothing: str) -> None:
    if not aggregates:
        print_line(nothing)
        return
    show(payment_table(aggregates))
    if len(aggregates) == limit:
        print_line(f"There may be more: --after {aggregates[-1].payment.order_id}", "dim")


def _describe_nothing_found(*, problems: bool, chosen: bool) -> str:
    if chosen:
        return "No matching payments found."
    return "No payment has a problem." if problems else "There are no payments yet."


def _parse_search(search: str | None, *, by_email: bool) -> ParsedQuery | None:
    """Return the parsed search. An address is never an argument: it would stay in the shell's history.

    Raises CommandFailed.
    """
    typed = parse_query(search or "")
    if isinstance(typed, ByEmail):
        raise CommandFailed(
            "an e-mail address would stay in the shell's history: use --by-email, which prompts for it", status=2
        )
    if not by_email:
        return typed
    if typed is not None:
        raise CommandFailed("use either --search or --by-email", status=2)
    prompt = sys.stdin.isatty()
    address = typer.prompt("E-mail address", err=True) if prompt else sys.stdin.readline()
    typed = parse_query(address)
    if not isinstance(typed, ByEmail):
        raise CommandFailed("this is not an e-mail address", status=2)
    return typed


async def _load_payment(services: Services, name: str) -> Payment:
    async with services.database.transaction() as session:
        return (await find_payment(session, name)).payment
