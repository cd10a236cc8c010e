"""What a Saleor has of the app: its webhooks, extensions and permissions as they were at the installation.

An app may ask for its own: ``Query.app`` without an id is the app itself, its webhooks are told to their owner, and
``shop { version }`` to any app (Saleor's schemas 3.21 to 3.23).
"""

from datetime import timedelta
from typing import Any

from pydantic import Field, ValidationError

from app.saleor.errors import SaleorUnreachableError
from app.saleor.graphql import SaleorClient
from app.saleor.installation import Installed
from app.saleor.source import FromSaleor, Text
from app.saleor.versions import Version, read_version


class _Event(FromSaleor):
    event_type: str


class _Permission(FromSaleor):
    code: str


class InstalledWebhook(FromSaleor):
    """A webhook. ``subscription_query`` may be empty: such a one brings a payload of Saleor's own."""

    id: str
    name: Text = ""
    target_url: str
    is_active: bool
    subscription_query: Text = ""
    sync_events: tuple[_Event, ...] = ()
    async_events: tuple[_Event, ...] = ()

    @property
    def events(self) -> frozenset[str]:
        """Its events as manifests say them: TRANSACTION_CHARGE_REQUESTED."""
        return frozenset(each.event_type for each in (*self.sync_events, *self.async_events))


class InstalledExtension(FromSaleor):
    """A part of the Dashboard that the app shows. ``mount`` and ``target`` in capitals, as manifests say them."""

    label: str
    url: str
    mount: str = Field(alias="mountName")
    target: str = Field(alias="targetName")
    granted: tuple[_Permission, ...] = Field(default=(), alias="permissions")

    @property
    def permissions(self) -> frozenset[str]:
        """What staff need to see it."""
        return frozenset(each.code for each in self.granted)


class InstalledApp(FromSaleor):
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
        """What the app may do."""
        return frozenset(each.code for each in self.granted or ())


class AppInSaleor(FromSaleor):
    """The app, and which Saleor it is in: ``version`` is ``3.23.28``."""

    app: InstalledApp
    version: str

    @property
    def schema_version(self) -> Version:
        """The Saleor's schema, by which manifest and documents are chosen."""
        return read_version(self.version)


async def app_in_saleor(client: SaleorClient, installed: Installed, *, within: timedelta | None = None) -> AppInSaleor:
    """Ask a Saleor which one it is, and what it has of the app, by the app's own token.

    One after the other: what an older Saleor calls an extension's place a newer one does not know. ``within``: for each
    of both. Raises what ``graphql`` raises.
    """
    said: Any = await client.ask(installed, "saleor_version", {}, within=within)
    try:
        version = str(said["shop"]["version"])
        asked: Any = await client.ask(installed, "installed_app", {}, within=within, version=read_version(version))
        return AppInSaleor(app=asked["app"], version=version)
    except (KeyError, TypeError, ValidationError) as exc:
        raise SaleorUnreachableError("Saleor told what it has of the app in a way that cannot be read") from exc
