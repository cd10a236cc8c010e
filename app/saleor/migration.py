"""Brings a Saleor that has installed the app up to this release, as far as Saleor lets an app do that: its webhooks.

Each step is one mutation, which says all of what it makes, so that whatever is interrupted can simply be done again. A
webhook that nobody listens to any more, or that there is twice, is deleted; Saleor switches it off first, and keeps it
so where it is being delivered just then.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import structlog

from app.saleor.drift import Difference, Remedy, State, drift
from app.saleor.errors import SaleorRefusedError, SaleorUnreachableError
from app.saleor.graphql import SaleorClient
from app.saleor.installation import Installed
from app.saleor.installed_app import AppInSaleor, app_in_saleor
from app.saleor.versions import Version

ManifestFor = Callable[[Version], Mapping[str, Any]]
"""This release's manifest, for a Saleor of that version."""

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class NotDone:
    """Something that Saleor did not let the app do, and what Saleor said."""

    difference: Difference
    why: str


@dataclass(frozen=True, slots=True)
class Migration:
    """What was done in a Saleor of ``version``, what not, and what still differs."""

    version: str
    done: list[Difference] = field(default_factory=list)
    not_done: list[NotDone] = field(default_factory=list)
    left: list[Difference] = field(default_factory=list)


async def differences(
    client: SaleorClient, installed: Installed, manifest_for: ManifestFor, *, within: timedelta | None = None
) -> tuple[AppInSaleor, list[Difference]]:
    """Ask a Saleor what it has of the app; return that, and in what it differs from this release.

    ``within``: for each of two questions. Raises what ``graphql`` raises.
    """
    found = await app_in_saleor(client, installed, within=within)
    return found, drift(manifest_for(found.schema_version), found.app)


async def migrate(client: SaleorClient, installed: Installed, manifest_for: ManifestFor) -> Migration:
    """Do about the differences what the app may do itself. Raises SaleorError where Saleor cannot be asked at all."""
    found, before = await differences(client, installed, manifest_for)
    migration = Migration(found.version)
    for each in before:
        if each.remedy is not Remedy.UPDATE:
            continue
        try:
            await _do(client, installed, each)
        except SaleorRefusedError as refused:
            migration.not_done.append(NotDone(each, str(refused)))
        else:
            migration.done.append(each)
            logger.info("saleor_webhook_migrated", saleor=installed.saleor_api_url, what=each.data()["words"])
    if not migration.done:
        migration.left.extend(before)
        return migration
    _, after = await differences(client, installed, manifest_for)
    migration.left.extend(after)
    return migration


async def _do(client: SaleorClient, installed: Installed, difference: Difference) -> None:
    match difference.state:
        case State.MISSING:
            await _ask(client, installed, "webhook_create", "webhookCreate", {"input": _input(difference)})
        case State.CHANGED:
            asked = {"id": difference.webhook_id, "input": _input(difference)}
            await _ask(client, installed, "webhook_update", "webhookUpdate", asked)
        case _:
            await _ask(client, installed, "webhook_delete", "webhookDelete", {"id": difference.webhook_id})


def _input(difference: Difference) -> dict[str, Any]:
    """Return all of a webhook. Its ``identifier`` is left out: within 3.23 only later Saleors know it."""
    entry = difference.wanted or {}
    said = {name: entry[name] for name in ("name", "targetUrl", "query", "isActive")}
    return said | {name: list(entry.get(name) or ()) for name in ("syncEvents", "asyncEvents")}


async def _ask(
    client: SaleorClient, installed: Installed, operation: str, mutation: str, asked: Mapping[str, Any]
) -> None:
    answer = (await client.ask(installed, operation, asked)).get(mutation)
    if not isinstance(answer, Mapping):
        raise SaleorUnreachableError("Saleor answered the change of a webhook with nothing")
    for error in answer.get("errors") or ():
        raise SaleorRefusedError(str(error.get("code")), error.get("field"), str(error.get("message")))
