"""What a Saleor has of the app, compared with this release's manifest for that Saleor.

Saleor reads a manifest at the installation and never again. So whatever a later release, another address or a newer
Saleor brings is a difference until somebody does something about it: the app itself about its webhooks (Saleor's
``webhookCreate``, ``webhookUpdate``, ``webhookDelete`` need no permission of an app for its own), staff about its
permissions (``appUpdate`` needs MANAGE_APPS, which no manifest may ask for), and only a new installation about the
rest: no mutation of Saleor's changes an extension or an app's address.

Pure: nobody is asked anything here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from graphql import GraphQLSyntaxError
from graphql.utilities import strip_ignored_characters

from app.i18n.messages import Joined, LazyMessage
from app.saleor.installed_app import InstalledApp, InstalledExtension, InstalledWebhook
from app.saleor.webhook_definition import WEBHOOKS


class Part(StrEnum):
    """What of the app differs."""

    WEBHOOK = "webhook"
    EXTENSION = "extension"
    PERMISSION = "permission"
    ADDRESS = "address"


class State(StrEnum):
    """How it differs. ``FOREIGN``: a webhook of this app that somebody else has made, which leads elsewhere."""

    MISSING = "missing"
    CHANGED = "changed"
    REPEATED = "repeated"
    LEFT_OVER = "left over"
    FOREIGN = "foreign"


class Remedy(StrEnum):
    """What helps: the app's own update, staff in the Dashboard, a new installation; or nothing has to be done."""

    UPDATE = "update"
    STAFF = "staff"
    REINSTALL = "reinstall"
    NOTHING = "nothing"


class Aspect(StrEnum):
    """In what something that is there differs."""

    ACTIVE = "active"
    ADDRESS = "address"
    EVENTS = "events"
    QUERY = "query"
    LABEL = "label"
    PERMISSIONS = "permissions"


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference. ``name`` is a webhook's event, an extension's label, a permission's code, or an address.

    ``webhook_id`` is Saleor's id of the webhook that is there, ``wanted`` the manifest's entry of the one that should.
    """

    part: Part
    state: State
    name: str
    aspects: tuple[Aspect, ...] = ()
    webhook_id: str | None = None
    wanted: Mapping[str, Any] | None = None

    @property
    def remedy(self) -> Remedy:
        """Return what helps."""
        match self.part, self.state:
            case Part.WEBHOOK, State.FOREIGN:
                return Remedy.NOTHING
            case Part.WEBHOOK, _:
                return Remedy.UPDATE
            case Part.PERMISSION, _:
                return Remedy.STAFF
            case _:
                return Remedy.REINSTALL

    @property
    def words(self) -> LazyMessage:
        """Return it as a sentence for people."""
        return _in_words(self)

    def data(self) -> dict[str, Any]:
        """Return it as JSON."""
        said = {"part": self.part.value, "state": self.state.value, "name": self.name, "remedy": self.remedy.value}
        return {**said, "aspects": [each.value for each in self.aspects], "words": str(self.words)}


def drift(manifest: Mapping[str, Any], app: InstalledApp) -> list[Difference]:
    """Return in what ``app``, as a Saleor has it, differs from ``manifest``, this release's for that very Saleor."""
    return [
        *_webhooks(manifest.get("webhooks") or (), app.webhooks or ()),
        *_extensions(manifest.get("extensions") or (), app.extensions),
        *_permissions(frozenset(manifest.get("permissions") or ()), app.permissions),
        *_address(str(manifest.get("appUrl") or ""), app.app_url),
    ]


def events_of(entry: Mapping[str, Any]) -> frozenset[str]:
    """Return the events of a manifest's webhook."""
    return frozenset((*(entry.get("syncEvents") or ()), *(entry.get("asyncEvents") or ())))


def _webhooks(wanted: Sequence[Mapping[str, Any]], found: Sequence[InstalledWebhook]) -> Iterator[Difference]:
    foreign = [each for each in found if not _is_ours(each)]
    ours = [each for each in found if _is_ours(each)]
    for entry in wanted:
        events = events_of(entry)
        name = ", ".join(sorted(events))
        # The best of those for the same event stays: the right address counts most, then that it works.
        candidates = sorted(
            (each for each in ours if events & each.events),
            key=lambda each: (each.target_url != entry["targetUrl"], not each.is_active, each.id),
        )
        ours = [each for each in ours if each not in candidates]
        if not candidates:
            yield Difference(Part.WEBHOOK, State.MISSING, name, wanted=entry)
            continue
        kept, *others = candidates
        if aspects := tuple(_aspects(entry, kept)):
            yield Difference(Part.WEBHOOK, State.CHANGED, name, aspects, kept.id, entry)
        for other in others:
            yield Difference(Part.WEBHOOK, State.REPEATED, name, webhook_id=other.id)
    for each in ours:
        yield Difference(Part.WEBHOOK, State.LEFT_OVER, ", ".join(sorted(each.events)), webhook_id=each.id)
    for each in foreign:
        yield Difference(Part.WEBHOOK, State.FOREIGN, each.target_url, webhook_id=each.id)


def _is_ours(webhook: InstalledWebhook) -> bool:
    """Return True for one that some release of the app, at whatever address, has had installed.

    Staff who may manage apps can hang further webhooks on an app, for a log say: nothing of that is touched.
    """
    path = urlsplit(webhook.target_url).path
    return any(path.endswith(f"{WEBHOOKS}/{each.lower().replace('_', '-')}") for each in webhook.events)


def _aspects(entry: Mapping[str, Any], webhook: InstalledWebhook) -> Iterator[Aspect]:
    if not webhook.is_active:
        yield Aspect.ACTIVE
    if webhook.target_url != entry["targetUrl"]:
        yield Aspect.ADDRESS
    if webhook.events != events_of(entry):
        yield Aspect.EVENTS
    if _essence(webhook.subscription_query) != _essence(entry["query"]):
        yield Aspect.QUERY


def _essence(query: str) -> str:
    """Return a document without what means nothing in it."""
    try:
        return strip_ignored_characters(query)
    except GraphQLSyntaxError:
        return query.strip()


def _extensions(wanted: Sequence[Mapping[str, Any]], found: Sequence[InstalledExtension]) -> Iterator[Difference]:
    left = list(found)
    for entry in wanted:
        place = (str(entry["mount"]).upper(), str(entry.get("target") or "POPUP").upper())
        there = next((each for each in left if (each.mount.upper(), each.target.upper()) == place), None)
        if there is None:
            yield Difference(Part.EXTENSION, State.MISSING, entry["label"])
            continue
        left.remove(there)
        differs = {
            Aspect.ADDRESS: there.url != entry["url"],
            Aspect.LABEL: there.label != entry["label"],
            Aspect.PERMISSIONS: there.permissions != frozenset(entry.get("permissions") or ()),
        }
        if aspects := tuple(each for each, is_so in differs.items() if is_so):
            yield Difference(Part.EXTENSION, State.CHANGED, entry["label"], aspects)
    for each in left:
        yield Difference(Part.EXTENSION, State.LEFT_OVER, each.label)


def _permissions(wanted: frozenset[str], found: frozenset[str]) -> Iterator[Difference]:
    for code in sorted(wanted - found):
        yield Difference(Part.PERMISSION, State.MISSING, code)
    for code in sorted(found - wanted):
        yield Difference(Part.PERMISSION, State.LEFT_OVER, code)


def _address(wanted: str, found: str) -> Iterator[Difference]:
    if wanted != found:
        yield Difference(Part.ADDRESS, State.CHANGED, wanted)


_ASPECTS = {
    Aspect.ACTIVE: LazyMessage("it is switched off"),
    Aspect.ADDRESS: LazyMessage("its address"),
    Aspect.EVENTS: LazyMessage("its events"),
    Aspect.QUERY: LazyMessage("what it asks for"),
    Aspect.LABEL: LazyMessage("its label"),
    Aspect.PERMISSIONS: LazyMessage("who sees it"),
}


def _in_words(difference: Difference) -> LazyMessage:  # noqa: PLR0911 - one sentence for each
    name, aspects = difference.name, Joined(tuple(_ASPECTS[each] for each in difference.aspects))
    match difference.part, difference.state:
        case Part.WEBHOOK, State.MISSING:
            return LazyMessage("Saleor does not tell the app of %(event)s: the webhook is missing.", event=name)
        case Part.WEBHOOK, State.CHANGED:
            return LazyMessage("The webhook for %(event)s is an older one: %(aspects)s.", event=name, aspects=aspects)
        case Part.WEBHOOK, State.REPEATED:
            return LazyMessage("Saleor tells the app of %(event)s twice: there is another webhook.", event=name)
        case Part.WEBHOOK, State.LEFT_OVER:
            return LazyMessage("The webhook for %(event)s is left over: nobody listens there.", event=name)
        case Part.WEBHOOK, _:
            return LazyMessage("Somebody has given the app a webhook that leads to %(address)s.", address=name)
        case Part.EXTENSION, State.MISSING:
            return LazyMessage("The Dashboard does not show the app's “%(name)s”.", name=name)
        case Part.EXTENSION, State.CHANGED:
            return LazyMessage(
                "The Dashboard shows the app's “%(name)s” as an older one: %(aspects)s.", name=name, aspects=aspects
            )
        case Part.EXTENSION, _:
            return LazyMessage("The Dashboard shows “%(name)s”, which the app does not have.", name=name)
        case Part.PERMISSION, State.MISSING:
            return LazyMessage("The app lacks the permission %(code)s.", code=name)
        case Part.PERMISSION, _:
            return LazyMessage("The app has the permission %(code)s, which it does not need.", code=name)
        case _:
            return LazyMessage("The Dashboard opens the app at another address than %(address)s.", address=name)
