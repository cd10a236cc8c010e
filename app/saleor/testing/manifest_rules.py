"""Is this a manifest that Saleor takes? (Saleor contract, A.1 and B.2.1)

``ManifestRefusedError`` carries the errors as ``appFetchManifest`` shows them: field, code, message.
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from graphql import GraphQLError, GraphQLSchema, build_schema, parse, validate

from app.saleor.testing.npm_range import satisfies
from app.saleor.testing.records import Webhook
from app.saleor.testing.selection import event_types
from app.saleor.testing.settings import SaleorSettings
from app.saleor.testing.vocabulary import WebhookEvent

_BY_TYPENAME = {event.typename: event for event in WebhookEvent}
_BY_ENUM_NAME = {event.enum_name: event for event in WebhookEvent}
_ASYNC_NAMES = {event.enum_name for event in WebhookEvent if event.asynchronous}
_SYNC_NAMES = set(_BY_ENUM_NAME) - _ASYNC_NAMES


class ManifestRefusedError(Exception):
    """The manifest cannot be installed."""

    def __init__(self, *errors: tuple[str, str, str]) -> None:
        super().__init__(", ".join(f"{field}: ['{message}']" for field, _, message in errors))
        self.errors = errors


@lru_cache(maxsize=4)
def _schema(path: Path) -> GraphQLSchema:
    return build_schema(path.read_text(), assume_valid=True, no_location=True)


def check_manifest(manifest: Any, settings: SaleorSettings) -> tuple[Webhook, ...]:
    """Return the webhooks of a manifest; raise ManifestRefusedError if it breaks a rule of form."""
    if not isinstance(manifest, Mapping):
        manifest = {}
    missing = [name for name in ("id", "name", "version") if not manifest.get(name)]
    if missing:
        raise ManifestRefusedError(*((name, "REQUIRED", "Field required") for name in missing))
    if "MANAGE_APPS" in (manifest.get("permissions") or ()):
        raise ManifestRefusedError(("permissions", "INVALID_PERMISSION", "Given permissions don't exist."))
    for name in ("tokenTargetUrl", "appUrl", "homepageUrl", "supportUrl", "dataPrivacyUrl"):
        if manifest.get(name) and not _is_absolute(manifest[name]):
            raise ManifestRefusedError((name, "INVALID_URL_FORMAT", "Incorrect format."))
    for extension in manifest.get("extensions") or ():
        _check_extension(extension, manifest, settings)
    return tuple(hook for raw in manifest.get("webhooks") or () for hook in _webhooks(raw, settings))


def check_version(manifest: Mapping[str, Any], settings: SaleorSettings) -> None:
    """Raise ManifestRefusedError if the app does not want this Saleor. Only the installation itself asks this."""
    wanted = manifest.get("requiredSaleorVersion")
    if wanted and not satisfies(settings.version, wanted):
        message = f"Saleor version {settings.version} is not supported by the app."
        raise ManifestRefusedError(("requiredSaleorVersion", "UNSUPPORTED_SALEOR_VERSION", message))


def _is_absolute(url: Any) -> bool:
    parts = urlsplit(str(url))
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


def _check_extension(raw: Mapping[str, Any], manifest: Mapping[str, Any], settings: SaleorSettings) -> None:
    if not set(raw.get("permissions") or ()) <= set(manifest.get("permissions") or ()):
        message = "Extension permission must be listed in App's permissions."
        raise ManifestRefusedError(("extensions", "OUT_OF_SCOPE_PERMISSION", message))
    # Until 3.22 the core itself knew all places and targets; since then only the Dashboard does.
    newer = raw.get("target") in {"WIDGET", "NEW_TAB"} or str(raw.get("mount")).endswith("_WIDGETS")
    if newer and settings.minor < (3, 22):
        raise ManifestRefusedError(("extensions", "INVALID", "Incorrect value for field: mount or target"))
    if not _is_absolute(raw.get("url")) and not str(raw.get("url")).startswith("/"):
        raise ManifestRefusedError(("extensions", "INVALID_URL_FORMAT", "Incorrect value for field: url."))


def _webhooks(raw: Mapping[str, Any], settings: SaleorSettings) -> list[Webhook]:
    if not _is_absolute(raw.get("targetUrl")):
        raise ManifestRefusedError(("webhooks", "INVALID_URL_FORMAT", "Invalid target url."))
    query = str(raw.get("query", ""))
    _check_query(query, settings)
    in_background, names = raw.get("asyncEvents") or (), raw.get("syncEvents") or ()
    if set(in_background) & _SYNC_NAMES:
        raise ManifestRefusedError(("webhooks", "INVALID", "Invalid asynchronous event."))
    if not names and not in_background:
        events = [_BY_TYPENAME[name] for name in sorted(event_types(query)) if name in _BY_TYPENAME]
    elif set(names) <= _SYNC_NAMES:
        # Of the asynchronous events this Saleor has those of the list only: it tells of nothing else.
        events = [_BY_ENUM_NAME[name] for name in (*names, *in_background) if name in _BY_ENUM_NAME]
    else:
        raise ManifestRefusedError(("webhooks", "INVALID", "Invalid synchronous event."))
    if raw.get("isActive") is False:
        return []
    return [Webhook(event, raw["targetUrl"], query) for event in events]


def _check_query(query: str, settings: SaleorSettings) -> None:
    try:
        errors = _errors(query, settings.schema_path)
        event_types(query)
    except GraphQLError as exc:
        errors = [exc]
    except ValueError as exc:
        message = "Subscription query is not valid: it must be one subscription { event { ... } }."
        raise ManifestRefusedError(("webhooks", "INVALID", message)) from exc
    if errors:
        # The library of Saleor puts names into double quotes, ours into single ones.
        complaint = errors[0].message.replace("'", '"')
        raise ManifestRefusedError(("webhooks", "INVALID", f"Subscription query is not valid: {complaint}"))


@lru_cache(maxsize=64)  # an app's six subscriptions are looked at again and again
def _errors(query: str, schema: Path | None) -> list[GraphQLError]:
    return validate(_schema(schema), parse(query)) if schema else []
