"""Who is it that uses the app's pages in the Dashboard? (Saleor contract, B.2.7)

The Dashboard hands the page in its frame a short-lived token that Saleor has signed. It names the person, the app and
what the person may do. It is checked on every request: nothing else says who asks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from joserfc import jws
from joserfc.errors import JoseError

from app.exact_json import loads
from app.saleor.addresses import is_api_url
from app.saleor.errors import NotPermittedError, NotVerifiedError
from app.saleor.installation import InstallationStore, Installed
from app.saleor.keyring import Keyring
from app.saleor.signature import BadSignatureError

# How far our clock and Saleor's may differ.
LEEWAY = timedelta(seconds=5)
MOST_TOKEN_CHARACTERS = 16 * 1024
_NOT_SIGNED = "This token was not signed by a Saleor that has installed the app."
_RS256_ONLY = jws.JWSRegistry(algorithms=["RS256"])


@dataclass(frozen=True, slots=True)
class DashboardUser:
    """A member of a store's staff, as Saleor vouches for them until ``expires_at``."""

    installation: Installed
    id: str
    email: str
    permissions: frozenset[str]
    expires_at: datetime


class DashboardTokens:
    """Checks the tokens of all Saleors that installed the app."""

    def __init__(self, store: InstallationStore, keyring: Keyring, now: Callable[[], datetime]) -> None:
        self._store = store
        self._keyring = keyring
        self._now = now

    async def check(self, saleor_api_url: str, token: str, *permissions: str) -> DashboardUser:
        """Return whose token it is, if that Saleor made it for this app, and the person has all ``permissions``.

        ``saleor_api_url`` is what the page says; it only finds the key. Raises NotVerifiedError (401) for a token that
        is not good, with one word for each way in which it is not, and NotPermittedError (403) for a person who may
        not.
        """
        if not is_api_url(saleor_api_url):
            raise NotVerifiedError("MISSING_SALEOR_API_URL", "The request does not say which Saleor it is for.")
        if not token or len(token) > MOST_TOKEN_CHARACTERS:
            raise NotVerifiedError("MISSING_TOKEN", "Open this page in the Saleor Dashboard.")
        installation = await self._store.find(saleor_api_url)
        if installation is None:  # said as of any other token that is not good: strangers learn not who uses the app
            raise NotVerifiedError("BAD_TOKEN", _NOT_SIGNED)
        user = self._read(installation, await self._claims(installation, token))
        lacking = [each for each in permissions if each not in user.permissions]
        if lacking:
            raise NotPermittedError(lacking)
        return user

    async def _claims(self, installation: Installed, token: str) -> Mapping[str, Any]:
        """Return what the token says, once its signature holds. Only RS256 is taken, whatever the token proposes."""
        try:
            kid = jws.extract_compact(token.encode()).headers().get("kid")
            if not isinstance(kid, str):
                raise NotVerifiedError("BAD_TOKEN", _NOT_SIGNED)
            key = await self._keyring.key(installation, kid)
            claims = loads(jws.deserialize_compact(token, key, registry=_RS256_ONLY).payload or b"")
        except (BadSignatureError, JoseError, ValueError) as exc:
            raise NotVerifiedError("BAD_TOKEN", _NOT_SIGNED) from exc
        if not isinstance(claims, Mapping):
            raise NotVerifiedError("BAD_TOKEN", "This token says nothing that can be read.")
        return claims

    def _read(self, installation: Installed, claims: Mapping[str, Any]) -> DashboardUser:
        expires_at = _moment(claims.get("exp"))
        if expires_at is None or self._now() >= expires_at + LEEWAY:
            raise NotVerifiedError("EXPIRED_TOKEN", "This token is over: the Dashboard has a newer one.")
        # A token of Saleor's own API, or one for another app, is signed with the same key.
        if claims.get("iss") != installation.saleor_api_url or claims.get("type") != "thirdparty":
            raise NotVerifiedError("FOREIGN_TOKEN", "This token was made for something else than an app's page.")
        if not installation.app_id or claims.get("app") != installation.app_id:
            raise NotVerifiedError("FOREIGN_TOKEN", "This token was made for another app.")
        permissions = claims.get("user_permissions")
        return DashboardUser(
            installation=installation,
            id=str(claims.get("user_id") or ""),
            email=str(claims.get("email") or ""),
            permissions=frozenset(map(str, permissions)) if isinstance(permissions, list) else frozenset(),
            expires_at=expires_at,
        )


def _moment(seconds: object) -> datetime | None:
    if isinstance(seconds, bool) or not isinstance(seconds, int):
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None
