"""``installations``: the Saleors that have installed the app."""

import typer
from rich.text import Text

from app.commands.opening import at_desk
from app.commands.terminal import AsJson, plain, say, show, show_json, table
from app.ledger.installations import OpenInstallation
from app.payments.accounts.overview import views
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
    shown = table("Saleor", "State", "Accounts")
    for each in found:
        details = [f"app {each.app_id}"] if each.app_id else []
        details += [f"Saleor {each.schema_version}"] if each.schema_version else []
        where = Text.assemble(plain(each.saleor_api_url), ("\n" + plain(", ".join(details)), "dim"))
        shown.add_row(where, _state(each), str(accounts.count(each.saleor_api_url)))
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
    """Return whether Saleor takes the token that it gave us: it does not before staff have activated the app."""
    if each.pending_token is None:
        return Text("installed", "green") if each.verified else Text("not finished", "yellow")
    return Text("installed again:\nactivate the app" if each.verified else "activate the app", "yellow")
