"""``installations``: the Saleors that have installed the app."""

from typing import Annotated

import typer
from rich.text import Text

from app.commands.failure import CommandFailed
from app.commands.finding import find_installation
from app.commands.opening import at_desk
from app.commands.terminal import AsJson, plain, say, show, show_json, table
from app.dashboard.way_in import dashboard_of
from app.ledger.installations import OpenInstallation
from app.payments.accounts.overview import views
from app.payments.desk import Desk
from app.saleor.dashboard_address import read_dashboard_address

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
        dashboard = dashboard_of(each)
        details += [f"Dashboard {dashboard}"] if dashboard else []
        where = Text.assemble(plain(each.saleor_api_url), ("\n" + plain(", ".join(details)), "dim"))
        shown.add_row(where, _state(each), str(accounts.count(each.saleor_api_url)))
    show(shown)


@commands.command("set")
def set_installation(
    *,
    saleor: Annotated[
        str | None, typer.Option(metavar="URL", help="Which Saleor, if several have installed the app.")
    ] = None,
    dashboard_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where its Dashboard is, which is not told by Saleor.")
    ] = None,
    no_dashboard_url: Annotated[
        bool, typer.Option("--no-dashboard-url", help="Forget where its Dashboard is.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say what Saleor does not tell of itself.

    With the Dashboard's address, the link that Saleor shows at each transaction leads to the payment's page in the
    Dashboard. In Saleor Cloud the address is known.
    """
    if (dashboard_url is not None) == no_dashboard_url:
        raise CommandFailed("give --dashboard-url or --no-dashboard-url", status=2)
    try:
        address = None if dashboard_url is None else read_dashboard_address(dashboard_url)
    except ValueError as exc:
        raise CommandFailed(str(exc), status=2) from exc

    async def do(desk: Desk) -> tuple[OpenInstallation, int]:
        meant = await find_installation(desk, saleor)
        await desk.installations.set_dashboard(meant.id, address)
        accounts = [each.saleor for each in await views(desk)]
        return await desk.installations.get(meant.id), accounts.count(meant.saleor_api_url)

    changed, accounts = at_desk(do)
    if as_json:
        show_json(_to_json(changed, accounts))
        return
    say(f"The Dashboard of {changed.saleor_api_url} is at {dashboard_of(changed) or 'an address that is not known'}.")


def _to_json(each: OpenInstallation, accounts: int) -> dict[str, object]:
    return {
        "saleor": each.saleor_api_url,
        "app_id": each.app_id,
        "saleor_version": each.schema_version,
        "verified": each.verified,
        "dashboard_url": dashboard_of(each),
        "pending": each.pending_token is not None,
        "accounts": accounts,
    }


def _state(each: OpenInstallation) -> Text:
    """Return whether Saleor takes the token that it gave us: it does not before staff have activated the app."""
    if each.pending_token is None:
        return Text("installed", "green") if each.verified else Text("not finished", "yellow")
    return Text("installed again:\nactivate the app" if each.verified else "activate the app", "yellow")
