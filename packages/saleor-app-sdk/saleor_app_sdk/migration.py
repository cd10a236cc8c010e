"""Updates the app in a Saleor to this release, as far as Saleor lets an app do that: its webhooks.

Each step is one mutation that sets a whole webhook, so an interrupted migration can simply be repeated. A webhook that
is no longer used, or is a duplicate, is deleted; Saleor deactivates it first, and leaves it deactivated if it is being
delivered at that moment.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import structlog

from saleor_app_sdk.answers import read_mutation_result, refusal_for_mutation
from saleor_app_sdk.drift import Difference, Remedy, State, find_drift
from saleor_app_sdk.errors import SaleorRefusedError
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.installation import Installation
from saleor_app_sdk.installed_app import AppInSaleor, fetch_app_in_saleor
from saleor_app_sdk.versions import Version

ManifestFor = Callable[[Version], Mapping[str, Any]]
"""This release's manifest, for a Saleor of that version."""

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RefusedChange:
    """A change that Saleor refused, and its error."""

    difference: Difference
    why: str


@dataclass(frozen=True, slots=True)
class Migration:
    """The result in a Saleor of ``version``: the changes made and refused, and the differences that are left."""

    version: str
    done: list[Difference] = field(default_factory=list)
    not_done: list[RefusedChange] = field(default_factory=list)
    left: list[Difference] = field(default_factory=list)


async def find_differences(
    client: SaleorClient, installation: Installation, manifest_for: ManifestFor, *, timeout: timedelta | None = None
) -> tuple[AppInSaleor, list[Difference]]:
    """Query the app as a Saleor has it; return that, and its differences from this release.

    ``timeout`` applies to each of two requests. Raises what ``graphql`` raises.
    """
    found = await fetch_app_in_saleor(client, installation, timeout=timeout)
    return found, find_drift(manifest_for(found.schema_version), found.app)


async def migrate(client: SaleorClient, installation: Installation, manifest_for: ManifestFor) -> Migration:
    """Fix the differences that the app may fix itself. Raises SaleorError when Saleor cannot be queried at all."""
    found, before = await find_differences(client, installation, manifest_for)
    migration = Migration(found.version)
    for difference in before:
        if difference.remedy is not Remedy.UPDATE:
            continue
        try:
            await _apply(client, installation, difference)
        except SaleorRefusedError as refused:
            migration.not_done.append(RefusedChange(difference, str(refused)))
        else:
            migration.done.append(difference)
            logger.info(
                "webhook.migrated",
                saleor=installation.saleor_api_url,
                part=difference.part.value,
                name=difference.name,
            )
    if not migration.done:
        migration.left.extend(before)
        return migration
    _, after = await find_differences(client, installation, manifest_for)
    migration.left.extend(after)
    return migration


async def _apply(client: SaleorClient, installation: Installation, difference: Difference) -> None:
    match difference.state:
        case State.MISSING:
            await _mutate(client, installation, "webhook_create", "webhookCreate", {"input": _build_input(difference)})
        case State.CHANGED:
            variables = {"id": difference.webhook_id, "input": _build_input(difference)}
            await _mutate(client, installation, "webhook_update", "webhookUpdate", variables)
        case _:
            await _mutate(client, installation, "webhook_delete", "webhookDelete", {"id": difference.webhook_id})


def _build_input(difference: Difference) -> dict[str, Any]:
    """Return the input for a whole webhook, without ``identifier``: within 3.23 only later Saleors know it."""
    entry = difference.wanted or {}
    fields = {name: entry[name] for name in ("name", "targetUrl", "query", "isActive")}
    return fields | {name: list(entry.get(name) or ()) for name in ("syncEvents", "asyncEvents")}


async def _mutate(
    client: SaleorClient, installation: Installation, operation: str, mutation: str, variables: Mapping[str, Any]
) -> None:
    result = (await client.execute(installation, operation, variables)).get(mutation)
    read_mutation_result(result, refusal_for_mutation)
