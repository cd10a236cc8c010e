"""``balances``: the merchant's money at the gateway."""

from dataclasses import dataclass
from typing import Annotated

import typer

from app.commands.finding import find_account
from app.commands.opening import with_services
from app.commands.terminal import AsJson, complain, plain, say, show, show_json, table
from app.db.tables import MerchantAccount
from app.gateway.errors import GatewayError
from app.gateway.models.accounts import BalanceAccount
from app.payments.operations.look_up import opened
from app.payments.services import Services


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the gateway says of one merchant account, or why it does not."""

    account: MerchantAccount
    balances: tuple[BalanceAccount, ...] = ()
    error: str | None = None


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

    async def ask(services: Services) -> list[_Asked]:
        meant = list(await services.accounts.all()) if account is None else [await find_account(services, account)]
        return [await _ask(services, each) for each in meant]

    asked = with_services(ask)
    if as_json:
        show_json([_to_json(each) for each in asked])
    elif not asked:
        say("There is no merchant account yet.")
    else:
        _show(asked)
    if any(each.error for each in asked):
        raise typer.Exit(1)


async def _ask(services: Services, account: MerchantAccount) -> _Asked:
    try:
        client = opened(services, account)
        found = await client.balances.accounts(timeout=services.schedule.budget.total_seconds())
    except GatewayError as error:
        return _Asked(account, error=str(error))
    return _Asked(account, found)


def _show(asked: list[_Asked]) -> None:
    shown = table("Merchant account", "Balance", "Currency", "Available", "In reserve")
    for column in shown.columns[3:]:
        column.justify = "right"
    for each in asked:
        for one in each.balances:
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
        if each.error is not None:
            complain(f"{each.account.name}: {each.error}")


def _to_json(asked: _Asked) -> dict[str, object]:
    return {
        "account": asked.account.id,
        "account_name": asked.account.name,
        "error": asked.error,
        "balances": [
            {
                "id": each.id,
                "name": each.name,
                "currency": each.currency,
                "available": each.balances.available,
                "rolling_reserve": each.balances.rolling_reserve,
            }
            for each in asked.balances
        ],
    }
