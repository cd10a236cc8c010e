"""The app as a Saleor has it: its webhooks, extensions and permissions as they were at the installation.

An app may query its own: ``Query.app`` without an id is the app itself, its webhooks are visible to their owner, and
``shop { version }`` to any app (Saleor's schemas 3.21 to 3.23).
"""

from datetime import timedelta
from typing import Any

from pydantic import Field, ValidationError

from saleor_app_sdk.errors import SaleorUnreachableError
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.installation import Installation
from saleor_app_sdk.source import SaleorModel, Text
from saleor_app_sdk.versions import Version, parse_version


class _Event(SaleorModel):
    event_type: str


class _Permission(SaleorModel):
    code: str


class InstalledWebhook(SaleorModel):
    """A webhook. ``subscription_query`` may be empty: it then sends Saleor's default payload."""

    id: str
    name: Text = ""
    target_url: str
    is_active: bool
    subscription_query: Text = ""
    sync_events: tuple[_Event, ...] = ()
    async_events: tuple[_Event, ...] = ()

    @property
    def events(self) -> frozenset[str]:
        """Its events in the form of manifests: TRANSACTION_CHARGE_REQUESTED."""
        return frozenset(event.event_type for event in (*self.sync_events, *self.async_events))


class InstalledExtension(SaleorModel):
    """An extension of the Dashboard. ``mount`` and ``target`` are in capitals, as in manifests."""

    label: str
    url: str
    mount: str = Field(alias="mountName")
    target: str = Field(alias="targetName")
    granted: tuple[_Permission, ...] = Field(default=(), alias="permissions")

    @property
    def permissions(self) -> frozenset[str]:
        """The permissions that staff need to see it."""
        return frozenset(permission.code for permission in self.granted)


class InstalledApp(SaleorModel):
    """The app as a Saleor has it. ``version`` is the app's release that was installed."""

    id: str
    identifier: str | None = None
    version: Text = ""
    app_url: Text = ""
    granted: tuple[_Permission, ...] | None = Field(default=(), alias="permissions")
    webhooks: tuple[InstalledWebhook, ...] | None = ()
    extensions: tuple[InstalledExtension, ...] = ()

    @property
    def permissions(self) -> frozenset[str]:
        """The permissions of the app."""
        return frozenset(permission.code for permission in self.granted or ())


class AppInSaleor(SaleorModel):
    """The app and the version of the Saleor that it is in, such as ``3.23.28``."""

    app: InstalledApp
    version: str

    @property
    def schema_version(self) -> Version:
        """The Saleor's schema version, which selects the manifest and the documents."""
        return parse_version(self.version)


async def fetch_app_in_saleor(
    client: SaleorClient, installation: Installation, *, timeout: timedelta | None = None
) -> AppInSaleor:
    """Query a Saleor for its version, and for the app as it has it, with the app's own token.

    Two requests, because newer versions do not know the older name of an extension's mount. ``timeout`` applies to each
    of them. Raises what ``graphql`` raises.
    """
    shop: Any = await client.execute(installation, "saleor_version", {}, timeout=timeout)
    try:
        version = shop["shop"]["version"]
        data: Any = await client.execute(
            installation, "installed_app", {}, timeout=timeout, version=parse_version(version)
        )
        return AppInSaleor(app=data["app"], version=version)
    except (KeyError, TypeError, ValidationError) as exc:
        raise SaleorUnreachableError("Saleor returned unreadable data about the app") from exc
