"""``balances``: the merchant's money at the gateway."""

import asyncio
from typing import Annotated

import typer

from app.commands.finding import find_account
from app.commands.opening import with_services
from app.commands.terminal import AsJson, complain, moment, plain, say, show, show_json, table
from app.payments.accounts.areas import LOST
from app.payments.accounts.balances import AccountBalances, read_balances
from app.payments.services import Services

_WITHIN = 12.0  # seconds: longer than the gateway is waited for


def balances(
    account: Annotated[
        str | None,
        typer.Option(metavar="ACCOUNT", help="Its id or its name; all accounts unless given.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what the merchant has at the gateway: what can be paid out or refunded, and what is held in reserve.

    The exit status is 1 when an account could not be asked.
    """

    async def ask(services: Services) -> list[AccountBalances]:
        meant = list(await services.accounts.all()) if account is None else [await find_account(services, account)]
        return await asyncio.gather(*(read_balances(services, each, within=_WITHIN) for each in meant))

    asked = with_services(ask)
    if as_json:
        show_json([_to_json(each) for each in asked])
    elif not asked:
        say("There is no merchant account yet.")
    else:
        _show(asked)
    if any(each.balances is None for each in asked):
        raise typer.Exit(1)


def _show(asked: list[AccountBalances]) -> None:
    shown = table("Merchant account", "Balance", "Currency", "Available", "In reserve")
    for column in shown.columns[3:]:
        column.justify = "right"
    for each in asked:
        for one in each.balances or ():
            reserve = one.balances.rolling_reserve
            shown.add_row(
                plain(each.account.name),
                plain(one.name),
                plain(one.currency),
                str(one.balances.available),
                "" if reserve is None else str(reserve),
            )
    if shown.row_count:
        show(shown)
    for each in asked:
        if each.trouble is not None:
            complain(f"{each.account.name}: {each.trouble.access}: {each.trouble.why}. {LOST[each.trouble.area]}")


def _to_json(asked: AccountBalances) -> dict[str, object]:
    return {
        "account": asked.account.id,
        "account_name": asked.account.name,
        "as_of": moment(asked.as_of),
        "access": asked.trouble.access.value if asked.trouble else "works",
        "error": str(asked.trouble.why) if asked.trouble else None,
        "balances": [
            {
                "id": each.id,
                "name": each.name,
                "currency": each.currency,
                "available": each.balances.available,
                "rolling_reserve": each.balances.rolling_reserve,
            }
            for each in asked.balances or ()
        ],
    }
