"""``balances``: the merchant's money at the gateway."""

import asyncio
from typing import Annotated

import typer

from app.commands.failure import CommandFailed
from app.commands.finders import find_account
from app.commands.messages import figure_text
from app.commands.services import with_services
from app.commands.terminal import AsJson, moment, plain, print_error, print_line, show, show_json, table
from app.flows.accounts.balances import AccountBalances, read_balances
from app.flows.accounts.gateway_access import CONSEQUENCES
from app.services import Services

_TIMEOUT = 12.0  # seconds: longer than the timeout of the gateway


def balances(
    account: Annotated[
        str | None,
        typer.Option(metavar="ACCOUNT", help="The account's ID or name. Default: all accounts.", show_default=False),
    ] = None,
    balance: Annotated[
        str | None,
        typer.Option(
            metavar="UUID",
            help="Only the balance with this ID, as the merchant portal shows it; needs --account.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the merchant's balances at the gateway: what can be paid out or refunded, and what is held in reserve.

    The exit status is 1 if the balances of an account are not available.
    """
    if balance is not None and account is None:
        raise CommandFailed("name the --account of this balance", status=2)

    async def read(services: Services) -> list[AccountBalances]:
        accounts = list(await services.accounts.all()) if account is None else [await find_account(services, account)]
        return await asyncio.gather(*(read_balances(services, row, only=balance, timeout=_TIMEOUT) for row in accounts))

    results = with_services(read)
    if as_json:
        show_json([_to_json(result) for result in results])
    elif not results:
        print_line("There is no merchant account yet.")
    else:
        _print_balances(results)
    if any(result.balances is None for result in results):
        raise typer.Exit(1)


def _print_balances(results: list[AccountBalances]) -> None:
    amounts = ("Available", "In reserve")
    rows = table("Merchant account", "Balance", "Currency", *amounts, amounts=amounts)
    for result in results:
        for one in result.balances or ():
            reserve = one.balances.rolling_reserve
            rows.add_row(
                plain(result.account.name),
                plain(one.name),
                plain(one.currency),
                figure_text(one.balances.available, one.currency),
                "" if reserve is None else figure_text(reserve, one.currency),
            )
    if rows.row_count:
        show(rows)
    for result in results:
        trouble = result.trouble
        if trouble is not None:
            print_error(f"{result.account.name}: {trouble.access}: {trouble.why}. {CONSEQUENCES[trouble.area]}")


def _to_json(result: AccountBalances) -> dict[str, object]:
    return {
        "account": result.account.id,
        "account_name": result.account.name,
        "as_of": moment(result.as_of),
        "access": result.trouble.access.value if result.trouble else "works",
        "error": str(result.trouble.why) if result.trouble else None,
        "balances": [
            {
                "id": balance.id,
                "name": balance.name,
                "currency": balance.currency,
                "available": balance.balances.available,
                "rolling_reserve": balance.balances.rolling_reserve,
            }
            for balance in result.balances or ()
        ],
    }
