"""Validate manifests as Saleor does (Saleor contract, A.1 and B.2.1).

``ManifestRefusedError`` contains the errors as ``appFetchManifest`` shows them: field, code, message.
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from graphql import GraphQLEnumType, GraphQLError, GraphQLSchema, GraphQLSyntaxError, build_schema, parse, validate

from saleor_app_sdk.testing.npm_range import satisfies
from saleor_app_sdk.testing.records import AppWebhook
from saleor_app_sdk.testing.selection import event_types
from saleor_app_sdk.testing.settings import SaleorSettings
from saleor_app_sdk.testing.vocabulary import OTHER_SYNC_EVENTS, OtherEvent, WebhookEvent

_BY_TYPENAME = {event.typename: event for event in WebhookEvent}
_BY_ENUM_NAME = {event.enum_name: event for event in WebhookEvent}
MAX_URL_LENGTH = 255
"""The maximum length of a webhook's target URL."""


class ManifestRefusedError(Exception):
    """The manifest cannot be installed."""

    def __init__(self, *errors: tuple[str, str, str]) -> None:
        super().__init__(", ".join(f"{field}: ['{message}']" for field, _, message in errors))
        self.errors = errors


@lru_cache(maxsize=4)
def _schema(path: Path) -> GraphQLSchema:
    return build_schema(path.read_text(encoding="utf-8"), assume_valid=True, no_location=True)


def check_manifest(manifest: Any, settings: SaleorSettings) -> list[AppWebhook]:
    """Return the webhooks of a manifest, without their ids; raise ManifestRefusedError if it is malformed."""
    if not isinstance(manifest, Mapping):
        manifest = {}
    missing = [name for name in ("id", "name", "version") if not manifest.get(name)]
    if missing:
        raise ManifestRefusedError(*((name, "REQUIRED", "Field required") for name in missing))
    if "MANAGE_APPS" in (manifest.get("permissions") or ()):
        raise ManifestRefusedError(("permissions", "INVALID_PERMISSION", "Given permissions don't exist."))
    for name in ("tokenTargetUrl", "appUrl", "homepageUrl", "supportUrl", "dataPrivacyUrl"):
        if manifest.get(name) and not is_absolute(manifest[name]):
            raise ManifestRefusedError((name, "INVALID_URL_FORMAT", "Incorrect format."))
    for extension in manifest.get("extensions") or ():
        _check_extension(extension, manifest, settings)
    return [_parse_webhook(raw, settings) for raw in manifest.get("webhooks") or ()]


def check_version(manifest: Mapping[str, Any], settings: SaleorSettings) -> None:
    """Raise ManifestRefusedError if the app does not support this Saleor. Checked only by the installation itself."""
    wanted = manifest.get("requiredSaleorVersion")
    if wanted and not satisfies(settings.version, wanted):
        message = f"Saleor version {settings.version} is not supported by the app."
        raise ManifestRefusedError(("requiredSaleorVersion", "UNSUPPORTED_SALEOR_VERSION", message))


def is_absolute(url: Any) -> bool:
    """Return True if this is an HTTP URL with a host."""
    parts = urlsplit(str(url))
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


def _check_extension(raw: Mapping[str, Any], manifest: Mapping[str, Any], settings: SaleorSettings) -> None:
    if not set(raw.get("permissions") or ()) <= set(manifest.get("permissions") or ()):
        message = "Extension permission must be listed in App's permissions."
        raise ManifestRefusedError(("extensions", "OUT_OF_SCOPE_PERMISSION", message))
    # Until 3.22 the core itself had enums of all mounts and targets; since then only the Dashboard knows them.
    newer = raw.get("target") in {"WIDGET", "NEW_TAB"} or str(raw.get("mount")).endswith("_WIDGETS")
    if newer and settings.minor < (3, 22):
        raise ManifestRefusedError(("extensions", "INVALID", "Incorrect value for field: mount or target"))
    if not is_absolute(raw.get("url")) and not str(raw.get("url")).startswith("/"):
        raise ManifestRefusedError(("extensions", "INVALID_URL_FORMAT", "Incorrect value for field: url."))


def _parse_webhook(raw: Mapping[str, Any], settings: SaleorSettings) -> AppWebhook:
    if not is_absolute(raw.get("targetUrl")):
        raise ManifestRefusedError(("webhooks", "INVALID_URL_FORMAT", "Invalid target url."))
    query = str(raw.get("query", ""))
    try:
        check_query(query, settings)
    except QueryRefusedError as exc:
        raise ManifestRefusedError(("webhooks", "INVALID", f"Subscription query is not valid: {exc}")) from exc
    async_names, sync_names = raw.get("asyncEvents") or (), raw.get("syncEvents") or ()
    events: list[WebhookEvent | OtherEvent] = []
    if not sync_names and not async_names:
        events = [_BY_TYPENAME[name] for name in sorted(event_types(query)) if name in _BY_TYPENAME]
    for names, asynchronous in ((sync_names, False), (async_names, True)):
        for name in names:
            if not _is_event(name, settings, asynchronous=asynchronous):
                kind = "asynchronous" if asynchronous else "synchronous"
                raise ManifestRefusedError(("webhooks", "INVALID", f"Invalid {kind} event."))
            events.append(_BY_ENUM_NAME.get(name) or _other_event(name, query, asynchronous=asynchronous))
    return AppWebhook(
        "", str(raw.get("name")), raw["targetUrl"], query, tuple(events), raw.get("isActive") is not False
    )


def _is_event(name: str, settings: SaleorSettings, *, asynchronous: bool) -> bool:
    """Return True for an event of that kind. Without a schema, any other name is taken for an asynchronous event."""
    if name in _BY_ENUM_NAME:
        return _BY_ENUM_NAME[name].asynchronous is asynchronous
    if settings.schema_path is None:
        return (name in OTHER_SYNC_EVENTS) is not asynchronous
    enum = _schema(settings.schema_path).type_map[f"WebhookEventType{'Async' if asynchronous else 'Sync'}Enum"]
    return isinstance(enum, GraphQLEnumType) and name in enum.values


def _other_event(name: str, query: str, *, asynchronous: bool) -> OtherEvent:
    """Return an event that this Saleor knows only by name; its type is the one that the subscription names."""
    named = event_types(query)
    typename = named.pop() if len(named) == 1 else "".join(word.capitalize() for word in name.split("_"))
    return OtherEvent(name.lower(), typename, asynchronous)


class QueryRefusedError(Exception):
    """The query is not a subscription, or does not match this Saleor's schema. ``code`` is one of WebhookErrorCode."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def check_query(query: str, settings: SaleorSettings) -> None:
    """Raise QueryRefusedError if this Saleor does not accept the query as a subscription."""
    try:
        errors = _validation_errors(query, settings.schema_path)
        event_types(query)
    except GraphQLSyntaxError as exc:
        raise QueryRefusedError("SYNTAX", exc.message) from exc
    except ValueError as exc:
        message = "it must be one subscription { event { ... } }."
        raise QueryRefusedError("MISSING_SUBSCRIPTION", message) from exc
    if errors:
        # Saleor's GraphQL library quotes names with double quotes, ours with single ones.
        raise QueryRefusedError("GRAPHQL_ERROR", errors[0].message.replace("'", '"'))


@lru_cache(maxsize=64)  # an app's six subscriptions are validated repeatedly
def _validation_errors(query: str, schema: Path | None) -> list[GraphQLError]:
    return validate(_schema(schema), parse(query)) if schema else []
