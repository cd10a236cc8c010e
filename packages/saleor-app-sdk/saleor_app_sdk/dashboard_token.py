"""Authenticates the users of the app's pages in the Dashboard (Saleor contract, B.2.7).

The Dashboard gives the page in its frame a short-lived token that Saleor has signed. It names the user, the app and the
user's permissions. It is verified on every request: nothing else identifies the user.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from joserfc import jws
from joserfc.errors import JoseError

from integration_base.exact_json import loads
from saleor_app_sdk.addresses import is_api_url
from saleor_app_sdk.errors import NotPermittedError, NotVerifiedError
from saleor_app_sdk.installation import Installation, InstallationStore
from saleor_app_sdk.keyring import Keyring
from saleor_app_sdk.signature import BadSignatureError

# How far the app's clock and Saleor's may differ.
LEEWAY = timedelta(seconds=5)
MAX_TOKEN_LENGTH = 16 * 1024
_NOT_SIGNED = "This token was not signed by a Saleor that has installed the app."
_RS256_ONLY = jws.JWSRegistry(algorithms=["RS256"])


@dataclass(frozen=True, slots=True)
class DashboardUser:
    """A member of a store's staff, authenticated by Saleor until ``expires_at``."""

    installation: Installation
    id: str
    email: str
    permissions: frozenset[str]
    expires_at: datetime


class DashboardTokens:
    """Verifies the tokens of all Saleors that installed the app."""

    def __init__(self, store: InstallationStore, keyring: Keyring, now: Callable[[], datetime]) -> None:
        self._store = store
        self._keyring = keyring
        self._now = now

    async def check(self, saleor_api_url: str, token: str, *permissions: str) -> DashboardUser:
        """Return the user of a token, if that Saleor issued it for this app, and the user has all ``permissions``.

        ``saleor_api_url`` is taken from the page; it only selects the key. Raises NotVerifiedError (401) for an invalid
        token, with a code for each reason, and NotPermittedError (403) for a user without the permissions.
        """
        if not is_api_url(saleor_api_url):
            raise NotVerifiedError("MISSING_SALEOR_API_URL", "The request does not say which Saleor it is for.")
        if not token or len(token) > MAX_TOKEN_LENGTH:
            raise NotVerifiedError("MISSING_TOKEN", "Open this page in the Saleor Dashboard.")
        installation = await self._store.find(saleor_api_url)
        if installation is None:  # the same as for any other invalid token, so as not to reveal who uses the app
            raise NotVerifiedError("BAD_TOKEN", _NOT_SIGNED)
        user = self._read(installation, await self._claims(installation, token))
        missing = [permission for permission in permissions if permission not in user.permissions]
        if missing:
            raise NotPermittedError(missing)
        return user

    async def _claims(self, installation: Installation, token: str) -> Mapping[str, Any]:
        """Return the token's claims after verifying its signature. Only RS256 is accepted, whatever it states."""
        try:
            kid = jws.extract_compact(token.encode()).headers().get("kid")
            if not isinstance(kid, str):
                raise NotVerifiedError("BAD_TOKEN", _NOT_SIGNED)
            key = await self._keyring.key(installation, kid)
            claims = loads(jws.deserialize_compact(token, key, registry=_RS256_ONLY).payload or b"")
        except (BadSignatureError, JoseError, ValueError) as exc:
            raise NotVerifiedError("BAD_TOKEN", _NOT_SIGNED) from exc
        if not isinstance(claims, Mapping):
            raise NotVerifiedError("BAD_TOKEN", "This token cannot be read.")
        return claims

    def _read(self, installation: Installation, claims: Mapping[str, Any]) -> DashboardUser:
        expires_at = _parse_timestamp(claims.get("exp"))
        if expires_at is None or self._now() >= expires_at + LEEWAY:
            raise NotVerifiedError("EXPIRED_TOKEN", "This token has expired: the Dashboard has a newer one.")
        # A token of Saleor's own API, or one for another app, is signed with the same key.
        if claims.get("iss") != installation.saleor_api_url or claims.get("type") != "thirdparty":
            raise NotVerifiedError("FOREIGN_TOKEN", "This token was not issued for an app's page.")
        if not installation.app_id or claims.get("app") != installation.app_id:
            raise NotVerifiedError("FOREIGN_TOKEN", "This token was issued for another app.")
        permissions = claims.get("user_permissions")
        return DashboardUser(
            installation=installation,
            id=str(claims.get("user_id") or ""),
            email=str(claims.get("email") or ""),
            permissions=frozenset(map(str, permissions)) if isinstance(permissions, list) else frozenset(),
            expires_at=expires_at,
        )


def _parse_timestamp(seconds: object) -> datetime | None:
    if isinstance(seconds, bool) or not isinstance(seconds, int):
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None
