"""What the SDK needs remembered about a Saleor that installed the app, and of whom it asks that."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol


class Installed(Protocol):
    """One Saleor, known by its GraphQL address, that installed us. Read-only: changes go through the store."""

    @property
    def saleor_api_url(self) -> str:
        """The GraphQL address exactly as Saleor names it in ``Saleor-Api-Url``."""

    @property
    def app_id(self) -> str | None:
        """Our global id there; None while no token has been proven. A re-install brings a new one."""

    @property
    def token(self) -> str:
        """The proven token; empty while there is none."""

    @property
    def pending_token(self) -> str | None:
        """A token received but refused so far, because the app is not active yet, or because it is forged."""

    @property
    def jwks(self) -> Mapping[str, Any] | None:
        """The keys with which that Saleor signs."""

    @property
    def jwks_fetched_at(self) -> datetime | None:
        """When those keys were fetched (aware, UTC)."""

    @property
    def schema_version(self) -> str | None:
        """The version that Saleor gave at the installation, for example ``3.22``."""

    @property
    def verified(self) -> bool:
        """True when Saleor itself has told us whose ``token`` is."""


class InstallationStore(Protocol):
    """Where installations are kept. Each call is one transaction of its own."""

    async def find(self, saleor_api_url: str) -> Installed | None:
        """Return the installation of that GraphQL address, or None."""

    async def save(
        self,
        *,
        saleor_api_url: str,
        saleor_domain: str,
        schema_version: str | None,
        app_id: str,
        token: str,
        jwks: Mapping[str, Any] | None,
    ) -> None:
        """Keep a proven token: overwrites app id, token and keys, forgets a pending token, keeps all the rest."""

    async def save_pending(
        self,
        *,
        saleor_api_url: str,
        saleor_domain: str,
        schema_version: str | None,
        token: str,
        jwks: Mapping[str, Any] | None,
    ) -> None:
        """Keep a token that cannot be proven yet, beside the proven one if there is one."""

    async def save_jwks(self, saleor_api_url: str, jwks: Mapping[str, Any], fetched_at: datetime) -> None:
        """Keep the keys with which that Saleor signs, and when they were fetched (aware, UTC)."""
