"""``installation``: the Saleors that have installed the app."""

import typer
from rich.text import Text

from app.commands.account_view import views
from app.commands.opening import at_desk
from app.commands.terminal import AsJson, say, show, show_json, table
from app.ledger.installations import OpenInstallation
from app.payments.desk import Desk

commands = typer.Typer(help="The Saleors that have installed the app.", no_args_is_help=True)


@commands.command("list")
def show_installations(as_json: AsJson = False) -> None:
    """Show which Saleors have installed the app, and whether they know it."""

    async def read(desk: Desk) -> tuple[list[OpenInstallation], list[str], str]:
        accounts = [each.saleor for each in await views(desk)]
        return await desk.installations.all(), accounts, desk.addresses.base_url

    found, accounts, base_url = at_desk(read)
    if as_json:
        show_json([_to_json(each, accounts.count(each.saleor_api_url)) for each in found])
        return
    if not found:
        say(f"No Saleor has installed this app yet. Its manifest: {base_url}/api/manifest")
        return
    shown = table("Saleor", "App", "State", "Accounts")
    for each in found:
        shown.add_row(each.saleor_api_url, each.app_id or "", _state(each), str(accounts.count(each.saleor_api_url)))
    show(shown)


def _to_json(each: OpenInstallation, accounts: int) -> dict[str, object]:
    return {
        "saleor": each.saleor_api_url,
        "app_id": each.app_id,
        "saleor_version": each.schema_version,
        "verified": each.verified,
        "pending": each.pending_token is not None,
        "accounts": accounts,
    }


def _state(each: OpenInstallation) -> Text:
    if each.verified and each.pending_token:
        return Text("installed again: activate the app", "yellow")
    if each.verified:
        return Text("installed", "green")
    return Text("waits: activate the app", "yellow")
