"""``installations update``: updates the app's installations in Saleors to this release, or shows what would change."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from app.bootstrap import MANIFEST, build_saleor_guard, create_http_client
from app.commands.failure import CommandFailed
from app.commands.finders import find_installation
from app.commands.services import with_services
from app.commands.terminal import AsJson, print_line, show_json
from app.ops.doctor.drift_messages import difference_json, difference_message
from app.saleor_app import create_saleor_app
from app.services import Services
from app.settings import read_settings
from app.store.installations import OpenInstallation
from saleor_app_sdk.documents import Documents
from saleor_app_sdk.drift import Difference, Remedy
from saleor_app_sdk.errors import SaleorError
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.migration import ManifestFor, Migration, find_differences, migrate
from saleor_app_sdk.versions import format_release, parse_release

_STAFF = "Staff must change this in the Dashboard: Extensions, the app, its permissions."
_REINSTALL = (
    "Only a new installation changes this: remove the app in the Dashboard and install it again. Nothing is lost."
)
_REMEDIES = {Remedy.UPDATE: "`saleor-gateway installations update` changes this.", Remedy.STAFF: _STAFF}
_REMEDIES |= {Remedy.REINSTALL: _REINSTALL, Remedy.NOTHING: "This does not belong to the app, and is not changed."}


@dataclass(frozen=True, slots=True)
class Updated:
    """The result for one Saleor; ``failed``: why it could not be queried."""

    saleor: str
    migration: Migration | None = None
    failed: str | None = None


def update_installations(
    *,
    saleor: Annotated[
        str | None, typer.Option(metavar="URL", help="The store's Saleor API URL. Default: all stores.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what differs; change nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Update what stores have installed of the app to this release: Saleor reads the manifest only at installation.

    Run it after an update of the app or of Saleor, and after a change of the app's address. The command changes what
    Saleor lets an app change itself: its webhooks. It can be repeated safely. It lists what staff or a new
    installation must change. The exit status is 1 if a store could not be reached, or has refused something.
    """

    async def do(services: Services) -> list[Updated]:
        selected = (
            await _verified_installations(services) if saleor is None else [await find_installation(services, saleor)]
        )
        settings = read_settings()
        async with create_http_client(build_saleor_guard(settings)) as http:
            client = SaleorClient(http, Documents(MANIFEST / "operations"))
            manifest_for = create_saleor_app(settings, services, http, client).manifest
            return [
                await _update(services, client, installation, manifest_for, dry_run=dry_run)
                for installation in selected
            ]

    updated = with_services(do)
    if as_json:
        show_json([_to_json(result) for result in updated])
    else:
        for result in updated:
            _print_update(result, dry_run=dry_run)
    if any(result.failed or (result.migration and result.migration.not_done) for result in updated):
        raise typer.Exit(1)


async def _verified_installations(services: Services) -> Sequence[OpenInstallation]:
    installed = [installation for installation in await services.installations.all() if installation.verified]
    if not installed:
        raise CommandFailed(f"no store has installed this app: {services.addresses.base_url}/api/manifest")
    return installed


async def _update(
    services: Services,
    client: SaleorClient,
    installation: OpenInstallation,
    manifest_for: ManifestFor,
    *,
    dry_run: bool,
) -> Updated:
    address = installation.saleor_api_url
    try:
        if dry_run:
            found, differing = await find_differences(client, installation, manifest_for)
            migration = Migration(found.version, left=differing)
        else:
            migration = await migrate(client, installation, manifest_for)
    except SaleorError as exc:
        return Updated(address, failed=str(exc))
    release = parse_release(migration.version)
    if release is not None:
        await services.installations.record_contact(installation, format_release(release))
    return Updated(address, migration)


def _print_update(updated: Updated, *, dry_run: bool) -> None:
    if updated.migration is None:
        print_line(f"{updated.saleor}: the request failed. {updated.failed}", "red")
        return
    migration = updated.migration
    print_line(f"{updated.saleor}, Saleor {migration.version}", "bold")
    _print_differences("Done", migration.done, "green", lambda _: "")
    for refused in migration.not_done:
        print_line(f"  Refused: {difference_message(refused.difference)} {refused.why}", "red")
    told = {(refused.difference.part, refused.difference.name) for refused in migration.not_done}
    left = [difference for difference in migration.left if (difference.part, difference.name) not in told]
    heading = "Differs" if dry_run else "Not changed"
    _print_differences(heading, left, "yellow", lambda difference: _REMEDIES[difference.remedy])
    if not migration.left:
        print_line("  Matches this release.")


def _print_differences(
    heading: str, found: Sequence[Difference], style: str, remedy: Callable[[Difference], str]
) -> None:
    for difference in found:
        print_line(f"  {heading}: {difference_message(difference)} {remedy(difference)}", style)


def _to_json(updated: Updated) -> dict[str, Any]:
    if updated.migration is None:
        return {"saleor": updated.saleor, "failed": updated.failed}
    migration = updated.migration
    return {
        "saleor": updated.saleor,
        "saleor_version": migration.version,
        "done": [difference_json(difference) for difference in migration.done],
        "not_done": [difference_json(refused.difference) | {"why": refused.why} for refused in migration.not_done],
        "left": [difference_json(difference) for difference in migration.left],
    }
