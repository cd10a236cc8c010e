"""The data that the SDK stores about a Saleor that installed the app, and the interface of the store."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol


class Installation(Protocol):
    """One Saleor that installed the app, identified by its GraphQL address. Read-only: changes go through the store."""

    @property
    def saleor_api_url(self) -> str:
        """The GraphQL address exactly as in Saleor's ``Saleor-Api-Url`` header."""

    @property
    def app_id(self) -> str | None:
        """The app's global id there; None while no token has been proven. A new installation brings a new id."""

    @property
    def token(self) -> str:
        """The proven token; empty while there is none."""

    @property
    def pending_tokens(self) -> Sequence[str]:
        """Tokens that Saleor has not accepted so far, because the app is not active yet, or because they are forged.

        Newest first, and limited in number.
        """

    @property
    def jwks(self) -> Mapping[str, Any] | None:
        """The key set (JWKS) with which that Saleor signs, as it was stored: keys may have further members."""

    @property
    def jwks_fetched_at(self) -> datetime | None:
        """When those keys were fetched (aware, UTC)."""

    @property
    def schema_version(self) -> str | None:
        """The version last reported by Saleor: ``3.22`` at the installation, ``3.22.67`` from its first webhook on."""

    @property
    def verified(self) -> bool:
        """True when Saleor itself has confirmed whose ``token`` this is."""


class InstallationStore(Protocol):
    """The store of installations. Each call is one transaction of its own."""

    async def find(self, saleor_api_url: str) -> Installation | None:
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
        """Store a proven token: overwrites app id, token and keys, deletes pending tokens, keeps everything else.

        ``jwks`` None: the stored keys stay.
        """

    async def save_pending(
        self,
        *,
        saleor_api_url: str,
        saleor_domain: str,
        schema_version: str | None,
        token: str,
    ) -> bool:
        """Store a token that cannot be proven yet, beside the proven one.

        Where there are too many of them, one that came in quick succession with others makes way. Return False if the
        token could not be stored.
        """

    async def delete_pending(self, saleor_api_url: str, token: str) -> None:
        """Delete a pending token that Saleor rejects although the app is active."""

    async def record_contact(self, installation: Installation, saleor_version: str | None) -> None:
        """Record a verified request from that Saleor: it is reachable, and the app is installed and active.

        ``saleor_version``: the release that it reports (``3.22.67``); None if unreadable. It is stored if it differs
        from ``schema_version``, even if it is lower: a document that is too new would be refused.
        """

    async def save_jwks(self, saleor_api_url: str, jwks: Mapping[str, Any], fetched_at: datetime) -> None:
        """Store the keys with which that Saleor signs, and when they were fetched (aware, UTC)."""
