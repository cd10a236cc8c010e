"""Drift: the differences between the app as a Saleor has it and this release's manifest for that Saleor.

Saleor reads a manifest at the installation and never again. So every change by a later release, another address or a
newer Saleor is a difference until it is fixed: webhooks by the app itself (Saleor's ``webhookCreate``,
``webhookUpdate``, ``webhookDelete`` need no permission of an app for its own), permissions by staff (``appUpdate``
needs MANAGE_APPS, which no manifest may request), and the rest only by a new installation: no mutation of Saleor's
changes an extension or an app's address.

Pure: makes no requests.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from graphql import GraphQLSyntaxError
from graphql.utilities import strip_ignored_characters

from saleor_app_sdk.installed_app import InstalledApp, InstalledExtension, InstalledWebhook
from saleor_app_sdk.webhook_definition import WEBHOOKS_PATH


class Part(StrEnum):
    """The part of the app that differs."""

    WEBHOOK = "webhook"
    EXTENSION = "extension"
    PERMISSION = "permission"
    ADDRESS = "address"


class State(StrEnum):
    """How it differs. ``FOREIGN``: a webhook of this app that staff added, with another target."""

    MISSING = "missing"
    CHANGED = "changed"
    REPEATED = "repeated"
    LEFT_OVER = "left over"
    FOREIGN = "foreign"


class Remedy(StrEnum):
    """The fix: the app's own update, staff in the Dashboard, a new installation; or nothing has to be done."""

    UPDATE = "update"
    STAFF = "staff"
    REINSTALL = "reinstall"
    NOTHING = "nothing"


class Aspect(StrEnum):
    """The property in which an existing part differs."""

    ACTIVE = "active"
    ADDRESS = "address"
    EVENTS = "events"
    QUERY = "query"
    LABEL = "label"
    PERMISSIONS = "permissions"


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference. ``name`` is a webhook's event, an extension's label, a permission's code, or an address.

    ``webhook_id`` is Saleor's id of the existing webhook, ``wanted`` the manifest's entry of the one that should exist.
    """

    part: Part
    state: State
    name: str
    aspects: tuple[Aspect, ...] = ()
    webhook_id: str | None = None
    wanted: Mapping[str, Any] | None = None

    @property
    def remedy(self) -> Remedy:
        """The fix for this difference."""
        match self.part, self.state:
            case Part.WEBHOOK, State.FOREIGN:
                return Remedy.NOTHING
            case Part.WEBHOOK, _:
                return Remedy.UPDATE
            case Part.PERMISSION, _:
                return Remedy.STAFF
            case _:
                return Remedy.REINSTALL

    def data(self) -> dict[str, Any]:
        """Return the difference as JSON."""
        fields = {"part": self.part.value, "state": self.state.value, "name": self.name, "remedy": self.remedy.value}
        return {**fields, "aspects": [aspect.value for aspect in self.aspects]}


def find_drift(manifest: Mapping[str, Any], app: InstalledApp) -> list[Difference]:
    """Return the differences of ``app``, as a Saleor has it, from ``manifest``, this release's for that Saleor."""
    return [
        *_webhooks(manifest.get("webhooks") or (), app.webhooks or ()),
        *_extensions(manifest.get("extensions") or (), app.extensions),
        *_permissions(frozenset(manifest.get("permissions") or ()), app.permissions),
        *_address(str(manifest.get("appUrl") or ""), app.app_url),
    ]


def webhook_events(entry: Mapping[str, Any]) -> frozenset[str]:
    """Return the events of a manifest's webhook."""
    return frozenset((*(entry.get("syncEvents") or ()), *(entry.get("asyncEvents") or ())))


def _webhooks(wanted: Sequence[Mapping[str, Any]], found: Sequence[InstalledWebhook]) -> Iterator[Difference]:
    foreign = [webhook for webhook in found if not _is_ours(webhook)]
    ours = [webhook for webhook in found if _is_ours(webhook)]
    for entry in wanted:
        events = webhook_events(entry)
        name = ", ".join(sorted(events))
        # The best of those for the same event is kept: the right address counts most, then being active.
        candidates = sorted(
            (webhook for webhook in ours if events & webhook.events),
            key=lambda webhook: (webhook.target_url != entry["targetUrl"], not webhook.is_active, webhook.id),
        )
        ours = [webhook for webhook in ours if webhook not in candidates]
        if not candidates:
            yield Difference(Part.WEBHOOK, State.MISSING, name, wanted=entry)
            continue
        kept, *others = candidates
        if aspects := tuple(_changed_aspects(entry, kept)):
            yield Difference(Part.WEBHOOK, State.CHANGED, name, aspects, kept.id, entry)
        for other in others:
            yield Difference(Part.WEBHOOK, State.REPEATED, name, webhook_id=other.id)
    for webhook in ours:
        yield Difference(Part.WEBHOOK, State.LEFT_OVER, ", ".join(sorted(webhook.events)), webhook_id=webhook.id)
    for other in foreign:
        yield Difference(Part.WEBHOOK, State.FOREIGN, other.target_url, webhook_id=other.id)


def _is_ours(webhook: InstalledWebhook) -> bool:
    """Return True for a webhook that some release of the app, at whatever address, has installed.

    Staff who may manage apps can add further webhooks to an app, for a log for example: those are not touched.
    """
    path = urlsplit(webhook.target_url).path
    return any(path.endswith(f"{WEBHOOKS_PATH}/{event.lower().replace('_', '-')}") for event in webhook.events)


def _changed_aspects(entry: Mapping[str, Any], webhook: InstalledWebhook) -> Iterator[Aspect]:
    if not webhook.is_active:
        yield Aspect.ACTIVE
    if webhook.target_url != entry["targetUrl"]:
        yield Aspect.ADDRESS
    if webhook.events != webhook_events(entry):
        yield Aspect.EVENTS
    if _normalize(webhook.subscription_query) != _normalize(entry["query"]):
        yield Aspect.QUERY


def _normalize(query: str) -> str:
    """Return a document without insignificant characters."""
    try:
        return strip_ignored_characters(query)
    except GraphQLSyntaxError:
        return query.strip()


def _extensions(wanted: Sequence[Mapping[str, Any]], found: Sequence[InstalledExtension]) -> Iterator[Difference]:
    remaining = list(found)
    for entry in wanted:
        mount = (str(entry["mount"]).upper(), str(entry.get("target") or "POPUP").upper())
        installed = next(
            (extension for extension in remaining if (extension.mount.upper(), extension.target.upper()) == mount), None
        )
        if installed is None:
            yield Difference(Part.EXTENSION, State.MISSING, entry["label"])
            continue
        remaining.remove(installed)
        differs = {
            Aspect.ADDRESS: installed.url != entry["url"],
            Aspect.LABEL: installed.label != entry["label"],
            Aspect.PERMISSIONS: installed.permissions != frozenset(entry.get("permissions") or ()),
        }
        if aspects := tuple(aspect for aspect, has_changed in differs.items() if has_changed):
            yield Difference(Part.EXTENSION, State.CHANGED, entry["label"], aspects)
    for extension in remaining:
        yield Difference(Part.EXTENSION, State.LEFT_OVER, extension.label)


def _permissions(wanted: frozenset[str], found: frozenset[str]) -> Iterator[Difference]:
    for code in sorted(wanted - found):
        yield Difference(Part.PERMISSION, State.MISSING, code)
    for code in sorted(found - wanted):
        yield Difference(Part.PERMISSION, State.LEFT_OVER, code)


def _address(wanted: str, found: str) -> Iterator[Difference]:
    if wanted != found:
        yield Difference(Part.ADDRESS, State.CHANGED, wanted)
