"""``payments list``: the payments, the newest first, those that somebody looks for."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

from app.commands.failure import CommandFailed
from app.commands.finding import find_account, find_installation, find_payment
from app.commands.opening import with_services
from app.commands.payment_view import listed, summary
from app.commands.terminal import AsJson, say, show, show_json
from app.db.aggregates import PaymentAggregate, outlines_of
from app.db.search import Wanted, payments_page
from app.db.tables import Payment, PaymentStatus
from app.payments.services import Services
from app.payments.staff.csv_export import csv_of
from app.payments.staff.search_query import ByEmail, Typed, narrowed, read

_A_PAGE = 20
_MOMENTS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]


def list_payments(
    *,
    problems: Annotated[bool, typer.Option("--problems", help="Only those that somebody must look at.")] = False,
    status: Annotated[PaymentStatus | None, typer.Option(help="Only those that stand so.", show_default=False)] = None,
    saleor: Annotated[
        str | None, typer.Option(metavar="URL", help="Only those of a Saleor, by its address.", show_default=False)
    ] = None,
    channel: Annotated[
        str | None, typer.Option(metavar="CHANNEL", help="Only those of a sales channel.", show_default=False)
    ] = None,
    account: Annotated[
        str | None, typer.Option(metavar="ACCOUNT", help="Only those of a merchant account.", show_default=False)
    ] = None,
    since: Annotated[
        datetime | None,
        typer.Option(formats=_MOMENTS, help="Only those begun then or later (UTC).", show_default=False),
    ] = None,
    until: Annotated[
        datetime | None, typer.Option(formats=_MOMENTS, help="Only those begun before (UTC).", show_default=False)
    ] = None,
    search: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Any name of a payment, the beginning of its order id, or its amount: 1234.50, 1000 UAH.",
            show_default=False,
        ),
    ] = None,
    by_email: Annotated[
        bool, typer.Option("--by-email", help="Ask for a shopper's e-mail address, or read it from standard input.")
    ] = False,
    after: Annotated[
        str | None,
        typer.Option(metavar="ORDER_ID", help="Go on after this one, the last of a page.", show_default=False),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, max=500, metavar="NUMBER", help="How many, the newest first.", show_default=str(_A_PAGE)),
    ] = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Write all that are found as CSV, for spreadsheets.")] = False,
) -> None:
    """Show the newest payments."""
    if as_csv and (as_json or after or limit):
        raise CommandFailed("--csv writes all that are found: it takes no --json, --after or --limit", status=2)
    typed, most = _typed(search, by_email=by_email), limit or _A_PAGE

    async def wanted_by(services: Services) -> Wanted:
        installations = [await find_installation(services, saleor)] if saleor else await services.installations.all()
        wanted = Wanted(
            installation_id=installations[0].id if saleor else None,
            problems=problems,
            status=status,
            channel=channel,
            account_id=None if account is None else (await find_account(services, account)).id,
            since=_in_utc(since),
            until=_in_utc(until),
        )
        return narrowed(wanted, typed, services.emails, [each.id for each in installations])

    async def write(services: Services) -> None:
        async for lines in csv_of(services, await wanted_by(services)):
            sys.stdout.write(lines)

    async def find(services: Services) -> list[PaymentAggregate]:
        wanted = await wanted_by(services)
        last = None if after is None else await _payment(services, after)
        async with services.database.transaction() as session:
            found = await payments_page(session, wanted, most=most, after=last)
            return await outlines_of(session, found)

    if as_csv:
        with_services(write)
        return
    aggregates = with_services(find)
    if as_json:
        show_json([summary(each) for each in aggregates])
        return
    chosen = any((status, saleor, channel, account, since, until, typed, after))
    _show(aggregates, most, nothing=_nothing(problems=problems, chosen=chosen))


def _show(aggregates: Sequence[PaymentAggregate], limit: int, nothing: str) -> None:
    if not aggregates:
        say(nothing)
        return
    show(listed(aggregates))
    if len(aggregates) == limit:
        say(f"There may be more: --after {aggregates[-1].payment.order_id}", "dim")


def _nothing(*, problems: bool, chosen: bool) -> str:
    if chosen:
        return "No such payment was found."
    return "No payment has a problem." if problems else "There is no payment yet."


def _typed(search: str | None, *, by_email: bool) -> Typed | None:
    """Return what is looked for. An address is never an argument: it would stay in the shell's history."""
    typed = read(search or "")
    if isinstance(typed, ByEmail):
        raise CommandFailed("an address would stay in the shell's history: use --by-email, which asks for it", status=2)
    if not by_email:
        return typed
    if typed is not None:
        raise CommandFailed("give either --search or --by-email", status=2)
    prompt = sys.stdin.isatty()
    address = typer.prompt("E-mail address", err=True) if prompt else sys.stdin.readline()
    typed = read(address)
    if not isinstance(typed, ByEmail):
        raise CommandFailed("this is no e-mail address", status=2)
    return typed


async def _payment(services: Services, name: str) -> Payment:
    async with services.database.transaction() as session:
        return (await find_payment(session, name)).payment


def _in_utc(given: datetime | None) -> datetime | None:
    return None if given is None else given.replace(tzinfo=UTC)
