"""A store of installations that forgets them when the process ends: for tests and trials, not for production.

A Saleor sends its token once, at the installation: an app that forgets it must be installed again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from saleor_app_sdk.installation import Installation

MAX_PENDING_TOKENS = 3


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class StoredInstallation:
    """An ``Installation`` as plain data."""

    saleor_api_url: str
    saleor_domain: str = ""
    schema_version: str | None = None
    app_id: str | None = None
    token: str = ""
    pending_tokens: tuple[str, ...] = ()
    jwks: Mapping[str, Any] | None = None
    jwks_fetched_at: datetime | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.saleor_api_url!r}, app_id={self.app_id!r})"  # no token in a log

    @property
    def verified(self) -> bool:
        """True when there is a proven token."""
        return bool(self.token)


class InMemoryInstallationStore:
    """An ``InstallationStore`` in the memory of one process."""

    def __init__(self, now: Callable[[], datetime] = _utc_now) -> None:
        self._now = now
        self.installations: dict[str, StoredInstallation] = {}

    async def find(self, saleor_api_url: str) -> StoredInstallation | None:
        """Return the installation of that GraphQL address, or None."""
        return self.installations.get(saleor_api_url)

    async def all(self) -> list[StoredInstallation]:
        """Return all installations, oldest first."""
        return list(self.installations.values())

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
        """Store a proven token: overwrites app id, token and keys, deletes pending tokens."""
        self._change(
            saleor_api_url,
            saleor_domain=saleor_domain,
            schema_version=schema_version,
            app_id=app_id,
            token=token,
            pending_tokens=(),
            **({} if jwks is None else {"jwks": jwks, "jwks_fetched_at": self._now()}),
        )

    async def save_pending(
        self, *, saleor_api_url: str, saleor_domain: str, schema_version: str | None, token: str
    ) -> bool:
        """Store a token that cannot be proven yet; where there are too many, the newest of the others makes way."""
        known = self.installations.get(saleor_api_url)
        others = [pending for pending in known.pending_tokens if pending != token] if known else []
        if len(others) >= MAX_PENDING_TOKENS:
            del others[0]
        about = {} if known else {"saleor_domain": saleor_domain, "schema_version": schema_version}
        self._change(saleor_api_url, **about, pending_tokens=(token, *others))
        return True

    async def delete_pending(self, saleor_api_url: str, token: str) -> None:
        """Delete a pending token that Saleor rejects although the app is active."""
        known = self.installations.get(saleor_api_url)
        if known is not None:
            left = tuple(pending for pending in known.pending_tokens if pending != token)
            self._change(saleor_api_url, pending_tokens=left)

    async def delete(self, saleor_api_url: str, *, app_id: str) -> bool:
        """Delete what is stored of an app that was removed from its Saleor; return False if there is nothing of it.

        ``app_id`` is the app's id there: a later installation has another one, and stays. Tokens that may be those of
        a later installation stay too.
        """
        known = self.installations.get(saleor_api_url)
        if known is None or known.app_id != app_id:
            return False
        if known.pending_tokens:
            self._change(saleor_api_url, app_id=None, token="")
        else:
            del self.installations[saleor_api_url]
        return True

    async def record_contact(self, installation: Installation, saleor_version: str | None) -> None:
        """Store the release that a verified request reports."""
        if saleor_version is not None and installation.saleor_api_url in self.installations:
            self._change(installation.saleor_api_url, schema_version=saleor_version)

    async def save_jwks(self, saleor_api_url: str, jwks: Mapping[str, Any], fetched_at: datetime) -> None:
        """Store the keys with which that Saleor signs, and when they were fetched."""
        if saleor_api_url in self.installations:
            self._change(saleor_api_url, jwks=jwks, jwks_fetched_at=fetched_at)

    def _change(self, saleor_api_url: str, **fields: Any) -> None:
        known = self.installations.get(saleor_api_url) or StoredInstallation(saleor_api_url)
        self.installations[saleor_api_url] = replace(known, **fields)
