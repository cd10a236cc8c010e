"""Validate manifests as Saleor does (Saleor contract, A.1 and B.2.1).

``ManifestRefusedError`` contains the errors as ``appFetchManifest`` shows them: field, code, message.
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from graphql import GraphQLError, GraphQLSchema, GraphQLSyntaxError, build_schema, parse, validate

from saleor_app_sdk.testing.npm_range import satisfies
from saleor_app_sdk.testing.records import AppWebhook
from saleor_app_sdk.testing.selection import event_types
from saleor_app_sdk.testing.settings import SaleorSettings
from saleor_app_sdk.testing.vocabulary import WebhookEvent

_BY_TYPENAME = {event.typename: event for event in WebhookEvent}
_BY_ENUM_NAME = {event.enum_name: event for event in WebhookEvent}
_ASYNC_NAMES = {event.enum_name for event in WebhookEvent if event.asynchronous}
MAX_URL_LENGTH = 255
"""The maximum length of a webhook's target URL."""

_SYNC_NAMES = set(_BY_ENUM_NAME) - _ASYNC_NAMES


class ManifestRefusedError(Exception):
    """The manifest cannot be installed."""

    def __init__(self, *errors: tuple[str, str, str]) -> None:
        super().__init__(", ".join(f"{field}: ['{message}']" for field, _, message in errors))
        self.errors = errors


@lru_cache(maxsize=4)
def _schema(path: Path) -> GraphQLSchema:
    return build_schema(path.read_text(), assume_valid=True, no_location=True)


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
    if set(async_names) & _SYNC_NAMES:
        raise ManifestRefusedError(("webhooks", "INVALID", "Invalid asynchronous event."))
    if not sync_names and not async_names:
        events = [_BY_TYPENAME[name] for name in sorted(event_types(query)) if name in _BY_TYPENAME]
    elif set(sync_names) <= _SYNC_NAMES:
        # This Saleor supports only the asynchronous events in WebhookEvent, and sends no others.
        events = [_BY_ENUM_NAME[name] for name in (*sync_names, *async_names) if name in _BY_ENUM_NAME]
    else:
        raise ManifestRefusedError(("webhooks", "INVALID", "Invalid synchronous event."))
    return AppWebhook(
        "", str(raw.get("name")), raw["targetUrl"], query, tuple(events), raw.get("isActive") is not False
    )


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
