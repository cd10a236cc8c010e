"""``channels``: which merchant account takes the money of which sales channel."""

from dataclasses import dataclass
from typing import Annotated

import typer

from app.bootstrap import open_saleor
from app.commands import account_flags as flags
from app.commands.acknowledge import acknowledge_in_store
from app.commands.failure import CommandFailed
from app.commands.finders import find_account, find_installation
from app.commands.services import with_services
from app.commands.terminal import (
    AsJson,
    confirm,
    plain,
    print_line,
    print_warning,
    require_interactive,
    show,
    show_json,
    table,
)
from app.flows.accounts.channels import (
    ChannelMap,
    ChannelStatus,
    ProjectMove,
    assign_channel,
    find_project_moves,
    is_slug,
    load_views,
    read_channels,
    successors,
)
from app.flows.accounts.shop_name import name_shops
from app.flows.staff.manual_resolution import acknowledge_turned_away
from app.services import Services
from app.settings import read_settings
from app.store.installations import OpenInstallation

Channel = Annotated[
    str,
    typer.Argument(metavar="CHANNEL", help="The channel's slug, as the Saleor Dashboard shows it.", show_default=False),
]


@dataclass(frozen=True, slots=True)
class Route:
    """A channel of a Saleor, and the account that takes its money."""

    saleor: str
    channel: str
    account: str
    account_name: str
    enabled: bool

    def to_json(self) -> dict[str, object]:
        """Return the route for scripts."""
        return {
            "saleor": self.saleor,
            "channel": self.channel,
            "account": self.account,
            "account_name": self.account_name,
            "account_enabled": self.enabled,
        }


def map_channel(
    channel: Channel,
    account: flags.Account,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before real money moves, or no longer does.")] = False,
    as_json: AsJson = False,
) -> None:
    """Let an account receive a channel's payments, replacing the previous account if there is one.

    A channel that the store's Saleor does not have is refused. Before a channel moves between a test project and a live
    one you are asked.
    """
    if not is_slug(channel):
        raise typer.BadParameter(
            f"{channel!r} is not a channel slug: use letters, digits, hyphens and underscores, like default-channel",
            param_hint="CHANNEL",
        )

    async def find_moves(services: Services) -> list[ProjectMove]:
        row = await find_account(services, account)
        found = await _read_channels(services, await services.installations.get(row.installation_id))
        return find_project_moves(found, {channel: row})

    async def do(services: Services) -> tuple[Route, Route | None, bool]:
        row = await find_account(services, account)
        before = await _routes(services)
        is_known = await _is_in_saleor(services, row.installation_id, channel)
        await assign_channel(services, channel, row)
        if is_known:
            installation = await services.installations.get(row.installation_id)
            async with open_saleor(read_settings()) as client:
                await name_shops(services, client, installation, [row])
        routes = await _routes(services)
        mapped = next(route for route in routes if route.channel == channel and route.account == row.id)
        previous = (route for route in before if (route.saleor, route.channel) == (mapped.saleor, mapped.channel))
        return mapped, next(previous, None), is_known

    if not yes:
        for move in with_services(find_moves):
            require_interactive(f"{move.consequence} Confirm with --yes")
            confirm(f"{move.consequence} Go on?")
    mapped, before, is_known = with_services(do)
    if not is_known:
        print_warning(f"Saleor does not list its channels right now: whether it has {channel!r} was not checked")
    if as_json:
        show_json({**mapped.to_json(), "instead_of": before.account if before else None})
        return
    instead = f", instead of {before.account_name!r}" if before and before.account != mapped.account else ""
    print_line(f"Payments in {mapped.channel} ({mapped.saleor}) now go to {mapped.account_name!r}{instead}.")
    if not mapped.enabled:
        print_warning(f"that account is switched off: saleor-gateway accounts set {mapped.account} --enable")


def show_channels(as_json: AsJson = False) -> None:
    """Show which channels have an account. Payments are offered only in these."""
    routes = with_services(_routes)
    if as_json:
        show_json([route.to_json() for route in routes])
        return
    if not routes:
        print_line("No channel has an account yet: saleor-gateway channels map CHANNEL ACCOUNT")
        return
    rows = table("Channel", "Account", "Saleor")
    for route in routes:
        off = "" if route.enabled else " (switched off)"
        rows.add_row(route.channel, f"{plain(route.account_name)}{off}\n{route.account}", route.saleor)
    show(rows)


def check_channels(saleor: flags.Saleor = None, as_json: AsJson = False) -> None:
    """Fetch the channels of a store from Saleor, and show what each one is missing.

    The exit status is 1 if shoppers can pay in none of them.
    """

    async def read(services: Services) -> ChannelMap:
        return await _read_channels(services, await find_installation(services, saleor))

    found = with_services(read)
    renamed = successors(found)
    if as_json:
        channels = [
            _standing_to_json(channel) | {"perhaps_renamed_to": renamed.get(channel.slug, [])}
            for channel in found.channels
        ]
        show_json({"unreachable": found.unreachable, "channels": channels})
    else:
        if found.unreachable:
            print_warning("Saleor does not list its channels right now: only those with an account are shown")
        rows = table("Channel", "Currency", "Account", "Missing")
        for channel in found.channels:
            account = plain(channel.account.name) if channel.account else ""
            missing = [*channel.missing, *(f"renamed to {slug}?" for slug in renamed.get(channel.slug, ()))]
            rows.add_row(channel.slug, channel.currency or "", account, "\n".join(missing) or "nothing")
        show(rows)
    if not any(channel.works for channel in found.channels):
        raise typer.Exit(1)


def unmap_channel(channel: Channel, saleor: flags.Saleor = None, as_json: AsJson = False) -> None:
    """Stop offering payments in a channel. Payments that were started are completed."""

    async def do(services: Services) -> Route:
        only = None if saleor is None else (await find_installation(services, saleor)).saleor_api_url
        matches = [
            route for route in await _routes(services) if route.channel == channel and only in {None, route.saleor}
        ]
        if not matches:
            raise CommandFailed(
                f"the channel {channel!r} has no merchant account: `saleor-gateway channels list` shows those with one"
            )
        if len(matches) > 1:
            known = ", ".join(match.saleor for match in matches)
            raise CommandFailed(f"several stores have a channel {channel!r}: choose one with --saleor ({known})")
        installation = await find_installation(services, matches[0].saleor)
        await services.accounts.unmap_channel(installation.id, channel)
        return matches[0]

    unmapped = with_services(do)
    if as_json:
        show_json(unmapped.to_json())
        return
    print_line(f"The channel {unmapped.channel} ({unmapped.saleor}) no longer has a merchant account.")


def looked_at(saleor: flags.Saleor = None, as_json: AsJson = False) -> None:
    """Mark the channels in which shoppers are turned away as reviewed, until one gets through there again."""
    acknowledge_in_store(saleor, acknowledge_turned_away, as_json=as_json)


async def _is_in_saleor(services: Services, installation_id: int, channel: str) -> bool:
    """Return False if Saleor does not say which channels it has. Raises CommandFailed if this is none of them."""
    installation = await services.installations.get(installation_id)
    found = await _read_channels(services, installation)
    if found.unreachable or channel in found.in_saleor:
        return not found.unreachable
    known = ", ".join(found.in_saleor) or "none"
    raise CommandFailed(
        f"{installation.saleor_api_url} has no channel {channel!r}: nothing was changed; it has {known}"
    )


async def _read_channels(services: Services, installation: OpenInstallation) -> ChannelMap:
    async with open_saleor(read_settings()) as client:
        return await read_channels(services, client, installation)


def _standing_to_json(each: ChannelStatus) -> dict[str, object]:
    return {
        "channel": each.slug,
        "name": each.name,
        "currency": each.currency,
        "account": each.account.id if each.account else None,
        "works": each.works,
        "missing": [lack.name.lower() for lack in each.missing],
    }


async def _routes(services: Services) -> list[Route]:
    return [
        Route(view.saleor, channel, view.account.id, view.account.name, view.account.enabled)
        for view in await load_views(services)
        for channel in view.channels
    ]
