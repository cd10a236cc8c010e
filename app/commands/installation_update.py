"""``installations update``: brings what Saleors have of the app up to this release, or shows what that would be."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from app.bootstrap import MANIFEST, guard_of_saleors, new_connections
from app.commands.failure import CommandFailed
from app.commands.finding import find_installation
from app.commands.opening import with_services
from app.commands.terminal import AsJson, say, show_json
from app.db.installations import OpenInstallation
from app.payments.services import Services
from app.saleor.documents import Documents
from app.saleor.drift import Difference, Remedy
from app.saleor.errors import SaleorError
from app.saleor.graphql import SaleorClient
from app.saleor.migration import ManifestFor, Migration, differences, migrate
from app.saleor.versions import read_release, written
from app.saleor_app import create_saleor_app
from app.settings import read_settings

_STAFF = "A person changes it in the Dashboard: Extensions, the app, its permissions."
_REINSTALL = (
    "Only a new installation changes it: remove the app in the Dashboard and install it again. Nothing gets lost."
)
_REMEDIES = {Remedy.UPDATE: "`saleor-gateway installations update` changes it.", Remedy.STAFF: _STAFF}
_REMEDIES |= {Remedy.REINSTALL: _REINSTALL, Remedy.NOTHING: "It is not the app's own, and is left as it is."}


@dataclass(frozen=True, slots=True)
class Updated:
    """What became of one Saleor; ``failed``: why it could not be asked."""

    saleor: str
    migration: Migration | None = None
    failed: str | None = None


def update_installations(
    *,
    saleor: Annotated[str | None, typer.Option(metavar="URL", help="Which Saleor; all of them unless given.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what differs; change nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Bring what Saleors have of the app up to this release: Saleor reads the app's manifest only when it installs it.

    After an update of the app, after one of Saleor, and after a change of the app's address. What Saleor lets an app do
    itself is done, as often as one likes: its webhooks. What staff or a new installation must do is told. The exit
    status is 1 where a Saleor could not be asked, or has refused something.
    """

    async def do(services: Services) -> list[Updated]:
        meant = [await find_installation(services, saleor)] if saleor else await _all(services)
        settings = read_settings()
        async with new_connections(guard_of_saleors(settings)) as http:
            client = SaleorClient(http, Documents(MANIFEST / "operations"))
            manifest_for = create_saleor_app(settings, services, http, client).manifest
            return [await _update(services, client, each, manifest_for, dry_run=dry_run) for each in meant]

    updated = with_services(do)
    if as_json:
        show_json([_to_json(each) for each in updated])
    else:
        for each in updated:
            _tell(each, dry_run=dry_run)
    if any(each.failed or (each.migration and each.migration.not_done) for each in updated):
        raise typer.Exit(1)


async def _all(services: Services) -> Sequence[OpenInstallation]:
    installed = [each for each in await services.installations.all() if each.verified]
    if not installed:
        raise CommandFailed(f"no Saleor has installed this app: {services.addresses.base_url}/api/manifest")
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
            found, differing = await differences(client, installation, manifest_for)
            migration = Migration(found.version, left=differing)
        else:
            migration = await migrate(client, installation, manifest_for)
    except SaleorError as exc:
        return Updated(address, failed=str(exc))
    release = read_release(migration.version)
    if release is not None:
        await services.installations.heard_from(installation, written(release))
    return Updated(address, migration)


def _tell(updated: Updated, *, dry_run: bool) -> None:
    if updated.migration is None:
        say(f"{updated.saleor}: not asked. {updated.failed}", "red")
        return
    migration = updated.migration
    say(f"{updated.saleor}, Saleor {migration.version}", "bold")
    _list("Done", migration.done, "green", lambda _: "")
    for each in migration.not_done:
        say(f"  Refused: {each.difference.words} {each.why}", "red")
    refused = {(each.difference.part, each.difference.name) for each in migration.not_done}
    left = [each for each in migration.left if (each.part, each.name) not in refused]
    _list("Differs" if dry_run else "Left", left, "yellow", lambda each: _REMEDIES[each.remedy])
    if not migration.left:
        say("  It has what this release brings.")


def _list(heading: str, found: Sequence[Difference], style: str, remedy: Callable[[Difference], str]) -> None:
    for each in found:
        say(f"  {heading}: {each.words} {remedy(each)}", style)


def _to_json(updated: Updated) -> dict[str, Any]:
    if updated.migration is None:
        return {"saleor": updated.saleor, "failed": updated.failed}
    migration = updated.migration
    return {
        "saleor": updated.saleor,
        "saleor_version": migration.version,
        "done": [each.data() for each in migration.done],
        "not_done": [each.difference.data() | {"why": each.why} for each in migration.not_done],
        "left": [each.data() for each in migration.left],
    }
