"""``installations``: the Saleors that have installed the app."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from app.commands.failure import CommandFailed
from app.commands.finders import find_installation
from app.commands.services import with_services
from app.commands.terminal import AsJson, count_text, moment, plain, print_line, show, show_json, table
from app.flows.accounts.channels import load_views
from app.services import Services
from app.store.installations import OpenInstallation
from app.store.moves import MoveRefusedError, MoveResult, move
from app.web.dashboard.deep_link import NamedBy, dashboard_of
from saleor_app_sdk.dashboard_address import parse_dashboard_address


def show_installations(as_json: AsJson = False) -> None:
    """Show the stores that have installed the app, and whether each accepts it."""

    async def read(services: Services) -> tuple[list[OpenInstallation], list[str], str]:
        accounts = [view.saleor for view in await load_views(services)]
        return await services.installations.all(), accounts, services.addresses.base_url

    found, accounts, base_url = with_services(read)
    if as_json:
        show_json([_to_json(installation, accounts.count(installation.saleor_api_url)) for installation in found])
        return
    if not found:
        print_line(f"No store has installed this app yet. The app's manifest: {base_url}/api/manifest")
        return
    rows = table("Saleor", "State", "Accounts")
    for installation in found:
        details = [f"app {installation.app_id}"] if installation.app_id else []
        details += [f"Saleor {installation.schema_version}"] if installation.schema_version else []
        dashboard = dashboard_of(installation)
        by_staff = dashboard is not None and dashboard.named_by is NamedBy.STAFF
        details += [f"Dashboard {dashboard.address}{', set by staff' if by_staff else ''}"] if dashboard else []
        where = Text.assemble(plain(installation.saleor_api_url), ("\n" + plain(", ".join(details)), "dim"))
        rows.add_row(where, _state(installation), str(accounts.count(installation.saleor_api_url)))
    show(rows)


def set_installation(
    *,
    saleor: Annotated[
        str | None, typer.Option(metavar="URL", help="The store's Saleor API URL, if several have installed the app.")
    ] = None,
    dashboard_url: Annotated[
        str | None, typer.Option(metavar="URL", help="The address of its Dashboard, which Saleor does not report.")
    ] = None,
    no_dashboard_url: Annotated[
        bool, typer.Option("--no-dashboard-url", help="Remove the address of its Dashboard.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Set what Saleor does not report itself.

    With the Dashboard's address, the link that Saleor shows on each transaction opens the payment's page in the
    Dashboard. In Saleor Cloud the address is known. Elsewhere staff can set it on the app's pages, and the link then
    shows them its destination before they follow it. An address set here takes precedence over theirs.
    """
    if (dashboard_url is not None) == no_dashboard_url:
        raise CommandFailed("use either --dashboard-url or --no-dashboard-url", status=2)
    try:
        address = None if dashboard_url is None else parse_dashboard_address(dashboard_url)
    except ValueError as exc:
        raise CommandFailed(str(exc), status=2) from exc

    async def do(services: Services) -> tuple[OpenInstallation, int]:
        installation = await find_installation(services, saleor)
        await services.installations.set_dashboard(installation.id, address)
        accounts = [view.saleor for view in await load_views(services)]
        return await services.installations.get(installation.id), accounts.count(installation.saleor_api_url)

    changed, accounts = with_services(do)
    if as_json:
        show_json(_to_json(changed, accounts))
        return
    known = dashboard_of(changed)
    print_line(f"The Dashboard of {changed.saleor_api_url} is at {known.address if known else 'an unknown address'}.")


def move_installation(
    old: Annotated[str, typer.Argument(metavar="OLD", help="The old Saleor API URL of the store.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The new one, where the app is installed again.")],
    as_json: AsJson = False,
) -> None:
    """Move everything of a store to its new address: payments, merchant accounts, channels.

    Install the app at the new address first: its new token stays in force. If anything would get lost, nothing is
    changed.
    """

    async def do(services: Services) -> tuple[MoveResult, OpenInstallation]:
        before, after = await find_installation(services, old), await find_installation(services, new)
        try:
            async with services.database.transaction() as session:
                moved = await move(
                    session, before.id, after.id, emails=services.emails, personal=services.personal, now=services.now()
                )
        except MoveRefusedError as exc:
            raise CommandFailed(str(exc)) from exc
        services.installations.invalidate()
        return moved, await services.installations.get(before.id)

    moved, where = with_services(do)
    if as_json:
        show_json(asdict(moved) | {"saleor": where.saleor_api_url})
        return
    print_line(
        f"{count_text(moved.payments, 'payment')}, {count_text(moved.accounts, 'merchant account')} and "
        f"{count_text(moved.channels, 'channel')} of the old address belong to {where.saleor_api_url} now."
    )
    for name in moved.renamed:
        print_line(
            f"A merchant account of the new address had a name that is taken at the old one: it is now {name!r}."
        )


def _to_json(each: OpenInstallation, accounts: int) -> dict[str, object]:
    dashboard = dashboard_of(each)
    return {
        "saleor": each.saleor_api_url,
        "app_id": each.app_id,
        "saleor_version": each.schema_version,
        "verified": each.verified,
        "dashboard_url": dashboard.address if dashboard else None,
        "dashboard_named_by": dashboard.named_by.value if dashboard else None,
        "pending": each.pending_token is not None,
        "unauthorised_since": moment(each.unauthorised_since),
        "accounts": accounts,
    }


def _state(each: OpenInstallation) -> Text:
    """Return whether Saleor accepts the token that it gave us: it does not until staff have activated the app.

    An unverified token, which anyone may have sent, does not affect an installation that works.
    """
    if each.verified and each.unauthorised_since is None:
        return Text("installed", "green")
    if each.unauthorised_since is not None and each.pending_token is None:
        what = "removed or switched off" if each.verified else "removed"
        return Text(f"{what}\nsince {each.unauthorised_since:%Y-%m-%d %H:%M} UTC", "red")
    if each.pending_token is None:
        return Text("not finished", "yellow")
    return Text("installed again:\nactivate the app" if each.verified else "activate the app", "yellow")
