"""``payments``: what became of each payment, and why."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from app.commands.finding import find_payment
from app.commands.opening import at_desk
from app.commands.payment_shares import share_table, shares_to_json
from app.commands.payment_split import split
from app.commands.standing import standing
from app.commands.terminal import AsJson, fact, fact_sheet, moment, plain, say, show, show_json, table
from app.commands.timeline import Entry, Expected, Tone, expectations, timeline
from app.ledger.inbox import Kept
from app.ledger.sheets import Sheet, find_by_order, former_orders, recent
from app.ledger.tables import MerchantAccount
from app.payments.balance import balance
from app.payments.desk import Desk
from app.payments.split.rules import names_of
from app.payments.split.standing import is_split

commands = typer.Typer(help="What became of each payment, and why.", no_args_is_help=True)
commands.command("split")(split)

_STYLES = {Tone.NEUTRAL: "", Tone.GOOD: "green", Tone.OPEN: "yellow", Tone.BAD: "red"}


@commands.command("list")
def show_payments(
    problems: Annotated[bool, typer.Option("--problems", help="Only those that somebody must look at.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=500, metavar="NUMBER", help="How many, the newest first.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show the newest payments."""

    async def read(desk: Desk) -> list[Sheet]:
        async with desk.database.transaction() as session:
            found = await recent(session, most=limit, problems_only=problems)
            sheets = [await find_by_order(session, each.order_id) for each in found]
        return [each for each in sheets if each is not None]

    sheets = at_desk(read)
    if as_json:
        show_json([_summary(each) for each in sheets])
        return
    if not sheets:
        say("No payment has a problem." if problems else "There is no payment yet.")
        return
    shown = table("Begun (UTC)", "Gateway order", "Amount", "Standing")
    shown.columns[1].width = 32  # an order id, which people copy
    shown.columns[2].justify = "right"
    for each in sheets:
        payment = each.payment
        words = Text(standing(each))
        if payment.problem is not None:
            words.append(f"\nproblem: {plain(payment.problem)}", "red")
        order = f"\nSaleor order {plain(payment.order_number)}" if payment.order_number else ""
        shown.add_row(
            f"{payment.created_at:%Y-%m-%d}\n{payment.created_at:%H:%M:%S}",
            f"{payment.order_id}{order}",
            f"{payment.amount}\n{payment.currency}",
            words,
        )
    show(shown)


@commands.command("show")
def show_payment(
    payment: Annotated[
        str,
        typer.Argument(
            metavar="ORDER_ID|TRANSACTION_ID",
            help="The gateway's order id, or the id of the transaction in Saleor.",
            show_default=False,
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Show the timeline of a payment: what was asked and answered, what Saleor was told, what is being waited for."""

    async def read(desk: Desk) -> tuple[Sheet, MerchantAccount, str, Sequence[Kept]]:
        async with desk.database.transaction() as session:
            sheet = await find_payment(session, payment.strip())
            orders = [sheet.payment.order_id, *await former_orders(session, sheet.payment)]
        account = await desk.accounts.find(sheet.payment.account_id)
        assert account is not None  # noqa: S101 - an account with payments is never deleted
        saleor = (await desk.installations.get(sheet.payment.installation_id)).saleor_api_url
        return sheet, account, saleor, await desk.inbox.of_order(account.id, *orders)

    sheet, account, saleor, notifications = at_desk(read)
    names = names_of(account.split_rules)
    entries, expected = timeline(sheet, notifications, names), expectations(sheet, notifications)
    if as_json:
        show_json(_to_json(sheet, account, saleor, entries, expected))
        return
    show(_facts(sheet, account, saleor))
    if sheet.payment.problem is not None:
        show()
        show(Text(f"Problem: {plain(sheet.payment.problem)}", "bold red"))
    if is_split(sheet):
        show()
        show(share_table(sheet, names))
    show()
    show(_lines(entries))
    show()
    show(_waits(expected) if expected else "Nothing is being waited for.")


def _summary(sheet: Sheet) -> dict[str, object]:
    payment = sheet.payment
    return {
        "order_id": payment.order_id,
        "transaction_id": payment.transaction_id,
        "order_number": payment.order_number,
        "channel": payment.channel,
        "account": payment.account_id,
        "flow": payment.flow.value,
        "amount": payment.amount,
        "currency": payment.currency,
        "standing": standing(sheet),
        "problem": payment.problem,
        "created_at": moment(payment.created_at),
        "updated_at": moment(payment.updated_at),
        "expires_at": moment(payment.expires_at),
    }


def _to_json(
    sheet: Sheet, account: MerchantAccount, saleor: str, entries: Sequence[Entry], expected: Sequence[Expected]
) -> dict[str, object]:
    now = balance(sheet.payment.flow, sheet.operations)
    return {
        **_summary(sheet),
        "saleor": saleor,
        "account_name": account.name,
        "authorized": now.authorized,
        "charged": now.charged,
        "refunded": now.refunded,
        "possible": [each.value for each in now.actions],
        "timeline": [
            {"at": moment(each.at), "who": each.who.value, "what": each.what, "words": each.words, **each.facts}
            for each in entries
        ],
        "split": shares_to_json(sheet) if is_split(sheet) else None,
        "waiting_for": [{"words": each.words, "until": moment(each.until)} for each in expected],
    }


def _facts(sheet: Sheet, account: MerchantAccount, saleor: str) -> Table:
    payment = sheet.payment
    now = balance(payment.flow, sheet.operations)
    facts = fact_sheet()
    fact(facts, "payment", f"{payment.amount} {payment.currency}: {standing(sheet)}", "bold")
    fact(facts, "gateway order", payment.order_id)
    fact(facts, "transaction", payment.transaction_id)
    number = f"order {payment.order_number}, " if payment.order_number else ""
    fact(facts, "Saleor", f"{saleor} ({number}channel {payment.channel})")
    fact(facts, "account", f"{account.name} ({account.id})")
    reserved = f"{now.authorized} reserved, " if now.authorized else ""
    fact(facts, "money", f"{reserved}{now.charged} charged, {now.refunded} refunded")
    possible = ", ".join(each.value.lower() for each in now.actions)
    fact(facts, "possible next", possible or "nothing")
    return facts


def _lines(entries: Sequence[Entry]) -> Table:
    lines = Table.grid(padding=(0, 2))
    lines.add_column(no_wrap=True, style="dim")
    lines.add_column(no_wrap=True)
    lines.add_column(overflow="fold")
    day = None
    for each in entries:
        if each.at.date() != day:
            day = each.at.date()
            lines.add_row(f"{day:%Y-%m-%d}", Text("UTC", "dim"), "")
        lines.add_row(f"  {each.at:%H:%M:%S}", each.who.value, Text(plain(each.words), _STYLES[each.tone]))
    return lines


def _waits(expected: Sequence[Expected]) -> Table:
    waits = Table.grid(padding=(0, 2))
    waits.add_column(no_wrap=True, style="dim")
    waits.add_column(overflow="fold")
    waits.add_row(Text("Waiting for", "bold"), "")
    for each in expected:
        until = f"{each.until:%Y-%m-%d %H:%M:%S}" if each.until else ""
        waits.add_row(f"  {until}", Text(plain(each.words), "yellow"))
    return waits
