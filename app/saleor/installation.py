"""What the SDK needs remembered about a Saleor that installed the app, and of whom it asks that."""

from collections.abc import Mapping, Sequence
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
    def pending_tokens(self) -> Sequence[str]:
        """Tokens received but refused so far, because the app is not active yet, or because they are forged.

        The newest first, and only so many.
        """

    @property
    def jwks(self) -> Mapping[str, Any] | None:
        """The keys with which that Saleor signs."""

    @property
    def jwks_fetched_at(self) -> datetime | None:
        """When those keys were fetched (aware, UTC)."""

    @property
    def schema_version(self) -> str | None:
        """The version that Saleor said last: ``3.22`` at the installation, ``3.22.67`` from its first webhook on."""

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
        """Keep a proven token: overwrites app id, token and keys, forgets pending tokens, keeps all the rest."""

    async def save_pending(
        self,
        *,
        saleor_api_url: str,
        saleor_domain: str,
        schema_version: str | None,
        token: str,
    ) -> bool:
        """Keep a token that cannot be proven yet beside everything else that is kept, and change nothing of that.

        Return False when there are too many of them: none gives way to another.
        """

    async def forget_pending(self, saleor_api_url: str, token: str) -> None:
        """Forget a token that Saleor does not take though it takes the app's."""

    async def heard_from(self, installed: Installed, saleor_version: str | None) -> None:
        """A verified request has come from that Saleor: it is there, and the app is installed and active.

        ``saleor_version``: which release it says that it is (``3.22.67``); None when it says nothing readable. Kept
        where it is another one than ``schema_version``, a lower one too: a document that is too new would be refused.
        """

    async def save_jwks(self, saleor_api_url: str, jwks: Mapping[str, Any], fetched_at: datetime) -> None:
        """Keep the keys with which that Saleor signs, and when they were fetched (aware, UTC)."""
