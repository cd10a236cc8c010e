"""The app manifest, built from the texts in the manifest folder, and the webhooks and widgets defined in code.

Nothing in it is newer than the requesting Saleor: one unknown field in one subscription fails the whole installation
(Saleor contract, A.1). The requesting Saleor sends its version in ``Saleor-Schema-Version``.
"""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import ConfigDict, TypeAdapter

from saleor_app_sdk.documents import Documents
from saleor_app_sdk.extension import Extension, Widget
from saleor_app_sdk.versions import WITH_WEBHOOK_IDENTIFIERS, Version
from saleor_app_sdk.webhook_definition import WebhookDefinition


@dataclass(frozen=True, slots=True)
class AppInfo:
    """The app's own data in the manifest. An address that begins with ``/`` is relative to the app's own.

    ``id`` is also the gateway id that storefronts pass to Saleor, so it must not change once money has moved under it.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    id: str
    name: str
    version: str
    author: str
    about: str
    required_saleor_version: str = ">=3.21 <4"
    permissions: tuple[str, ...] = ()
    logo: str | None = None
    app_page: str = "/"
    support_url: str | None = None
    privacy_url: str | None = None
    homepage_url: str | None = None

    def __post_init__(self) -> None:
        permissions: object = self.permissions
        if isinstance(permissions, str):  # as in ("MANAGE_ORDERS"), a tuple without its comma
            object.__setattr__(self, "permissions", (permissions,))

    @classmethod
    def read(cls, folder: Path, *, version: str) -> Self:
        """Read ``manifest.toml`` in ``folder``. Raises pydantic's ValidationError for a missing or unknown key."""
        fields = tomllib.loads((folder / "manifest.toml").read_text(encoding="utf-8"))
        return TypeAdapter(cls).validate_python({**fields, "version": version})

    def with_id(self, identifier: str) -> Self:
        """Return the same app under another id, for running two of them in one Saleor."""
        return replace(self, id=identifier)


@dataclass(frozen=True, slots=True)
class Addresses:
    """The base URLs for Saleor's servers (``api``) and for the browsers of staff (``iframe``); often the same.

    Both have no slash at the end. Behind a tunnel or inside a cluster they differ.
    """

    api: str
    iframe: str

    def for_servers(self, path: str) -> str:
        """Return the address of ``path`` for Saleor."""
        return f"{self.api}{path}"

    def for_browsers(self, path: str) -> str:
        """Return the address of ``path`` for a browser; an absolute address stays unchanged."""
        return f"{self.iframe}{path}" if path.startswith("/") else path


def build_manifest(
    info: AppInfo,
    *,
    webhooks: Iterable[WebhookDefinition],
    extensions: Iterable[Extension | Widget],
    subscriptions: Documents,
    addresses: Addresses,
    version: Version,
) -> dict[str, Any]:
    """Return the manifest for a Saleor of that version."""
    entries = (extension.entry(addresses.for_browsers(extension.path), version) for extension in extensions)
    manifest: dict[str, Any] = {
        "id": info.id,
        "version": info.version,
        "name": info.name,
        "about": info.about.strip(),
        "author": info.author,
        "requiredSaleorVersion": info.required_saleor_version,
        "permissions": list(info.permissions),
        "appUrl": addresses.for_browsers(info.app_page),
        "tokenTargetUrl": addresses.for_servers("/api/register"),
        "extensions": [entry for entry in entries if entry is not None],
        "webhooks": [
            _build_webhook_entry(webhook, subscriptions, addresses, version)
            for webhook in webhooks
            if webhook.kind.is_sent_by(version) and subscriptions.versions(webhook.query)[0] <= version
        ],
    }
    links = {"supportUrl": info.support_url, "dataPrivacyUrl": info.privacy_url, "homepageUrl": info.homepage_url}
    if info.logo:
        manifest["brand"] = {"logo": {"default": addresses.for_servers(info.logo)}}
    manifest.update({name: addresses.for_browsers(link) for name, link in links.items() if link})
    return manifest


def _build_webhook_entry(
    webhook: WebhookDefinition, subscriptions: Documents, addresses: Addresses, version: Version
) -> dict[str, Any]:
    entry = {
        "name": webhook.name,
        "targetUrl": addresses.for_servers(webhook.path),
        "query": subscriptions.text(webhook.query, version),
        "asyncEvents" if webhook.event.is_asynchronous else "syncEvents": [webhook.event_type],
        "isActive": True,
    }
    if version >= WITH_WEBHOOK_IDENTIFIERS:
        entry["identifier"] = webhook.slug
    return entry
