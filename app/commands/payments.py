"""``payments``: what became of each payment, and why; and what staff can do when it does not go on by itself."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from app.commands.finding import find_account, find_payment
from app.commands.opening import at_desk
from app.commands.payment_act import cancel, capture, refund, void
from app.commands.payment_settle import resend, settle_payment
from app.commands.payment_show import show_payment
from app.commands.payment_split import split
from app.commands.payment_view import listed, summary
from app.commands.terminal import AsJson, say, show, show_json
from app.ledger.search import Wanted, payments_page
from app.ledger.sheets import Sheet, sheets_of
from app.ledger.tables import State
from app.payments.desk import Desk

commands = typer.Typer(help="What became of each payment, and why.", no_args_is_help=True)
commands.command("show")(show_payment)
commands.command("capture")(capture)
commands.command("void")(void)
commands.command("refund")(refund)
commands.command("cancel")(cancel)
commands.command("settle")(settle_payment)
commands.command("resend")(resend)
commands.command("split")(split)

_MOMENTS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]


@commands.command("list")
def show_payments(
    *,
    problems: Annotated[bool, typer.Option("--problems", help="Only those that somebody must look at.")] = False,
    state: Annotated[
        State | None, typer.Option(help="Only those with an operation in this state.", show_default=False)
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
        typer.Option(metavar="TEXT", help="A part of order id, order number or transaction.", show_default=False),
    ] = None,
    after: Annotated[
        str | None,
        typer.Option(metavar="ORDER_ID", help="Go on after this one, the last of a page.", show_default=False),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, metavar="NUMBER", help="How many, the newest first.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show the newest payments."""

    async def read(desk: Desk) -> list[Sheet]:
        wanted = Wanted(
            problems=problems,
            state=state,
            channel=channel,
            account_id=None if account is None else (await find_account(desk, account)).id,
            since=_in_utc(since),
            until=_in_utc(until),
            search=search,
        )
        last = None if after is None else await _row_of(desk, after)
        async with desk.database.transaction() as session:
            found = await payments_page(session, wanted, most=limit, after=last)
            return await sheets_of(session, found)

    sheets = at_desk(read)
    if as_json:
        show_json([summary(each) for each in sheets])
        return
    if not sheets:
        chosen = any((state, channel, account, since, until, search, after))
        nothing = "No such payment was found." if chosen else "There is no payment yet."
        say("No payment has a problem." if problems and not chosen else nothing)
        return
    show(listed(sheets))
    if len(sheets) == limit:
        say(f"There may be more: --after {sheets[-1].payment.order_id}", "dim")


async def _row_of(desk: Desk, name: str) -> int:
    async with desk.database.transaction() as session:
        return (await find_payment(session, name)).create.payment_id


def _in_utc(given: datetime | None) -> datetime | None:
    return None if given is None else given.replace(tzinfo=UTC)
