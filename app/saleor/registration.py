"""The install handshake: a Saleor brings us a token, and we find out whether it is what it says (Saleor contract, A.1).

The request is not signed and anybody can send it. So: no address is called that the operator did not allow, and none
more often than so; the token counts only after Saleor itself said that it belongs to our app; and a token that Saleor
does not take *yet* (the app was installed without being activated, which looks exactly like a forgery) is kept aside,
where it replaces nothing, not even another such token. The first signed webhook for a new app id proves it
(``app.saleor.recipient``).
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

import httpx2
import structlog

from app.exact_json import loads
from app.saleor.addresses import AllowList, host_of, is_api_url
from app.saleor.attempts import Attempts
from app.saleor.errors import (
    KeysUnusableError,
    RegistrationRefusedError,
    SaleorNotAuthorisedError,
    SaleorRefusedError,
    SaleorUnreachableError,
)
from app.saleor.graphql import AppIdentity, SaleorClient
from app.saleor.installation import InstallationStore
from app.saleor.keys import fetch_key_set
from app.saleor.versions import read_version

# Saleor waits 18 s for the whole handshake, and a token that arrives after it gave up is dead.
ASK_WITHIN = timedelta(seconds=7)

# In a minute. Somebody who installs the app needs one; the rest is for those who try again.
MOST_OF_ONE_SALEOR = 10
MOST_OF_ALL = 60

logger = structlog.get_logger(__name__)


class Registrar:
    """Takes in Saleors that install the app."""

    def __init__(
        self,
        *,
        identifier: str,
        allowed: AllowList,
        store: InstallationStore,
        client: SaleorClient,
        http: httpx2.AsyncClient,
        now: Callable[[], datetime],
    ) -> None:
        self._identifier = identifier
        self._allowed = allowed
        self._store = store
        self._client = client
        self._http = http
        self._attempts = Attempts(of_one=MOST_OF_ONE_SALEOR, of_all=MOST_OF_ALL, now=now)

    async def register(self, headers: Mapping[str, str], body: bytes) -> None:
        """Keep the token if it is ours. Raises RegistrationRefusedError with a message for the person who installs."""
        saleor_api_url = self._allowed_address(headers.get("saleor-api-url"))
        token = _token(body)
        if not self._attempts.allowed(saleor_api_url):
            raise RegistrationRefusedError(
                429, "TOO_MANY_REQUESTS", "The app was installed there too often just now. Try again in a minute."
            )
        identity = await self._whose(saleor_api_url, token)
        said: dict[str, Any] = {
            "saleor_api_url": saleor_api_url,
            "saleor_domain": host_of(saleor_api_url),
            "token": token,
            "schema_version": _version(headers.get("saleor-schema-version")),
        }
        if identity is None:
            # Perhaps a stranger: that Saleor is asked nothing more. Its keys are fetched for its first webhook.
            if not await self._store.save_pending(**said):
                raise RegistrationRefusedError(
                    429,
                    "TOO_MANY_UNPROVEN",
                    "The app holds too many tokens that this Saleor does not take. Install the app so that it is "
                    "activated at once.",
                )
            logger.info("saleor_installed_not_active_yet", saleor=saleor_api_url)
        else:
            await self._store.save(**said, jwks=await self._keys(saleor_api_url), app_id=identity.id)
            logger.info("saleor_installed", saleor=saleor_api_url, app_id=identity.id)

    def _allowed_address(self, saleor_api_url: str | None) -> str:
        if not saleor_api_url:
            raise RegistrationRefusedError(
                400, "MISSING_SALEOR_API_URL", "The request does not say which Saleor it is from."
            )
        if not is_api_url(saleor_api_url):
            raise RegistrationRefusedError(
                400, "INVALID_SALEOR_API_URL", "The address of this Saleor's API is not one that ends in /graphql/."
            )
        if not self._allowed.allows(saleor_api_url):
            logger.warning("saleor_not_allowed", saleor=saleor_api_url[:200])
            raise RegistrationRefusedError(
                403,
                "SALEOR_NOT_ALLOWED",
                "This Saleor may not install the app. Ask whoever runs the app to put your Saleor API address on its "
                "list of allowed addresses.",
            )
        return saleor_api_url

    async def _whose(self, saleor_api_url: str, token: str) -> AppIdentity | None:
        """Return whose token it is; None when Saleor does not accept it (yet)."""
        try:
            identity = await self._client.who_am_i(saleor_api_url, token, within=ASK_WITHIN)
        except SaleorNotAuthorisedError:
            return None
        except SaleorRefusedError as exc:
            raise RegistrationRefusedError(
                403, "NOT_THIS_APP", "The token that Saleor sent does not belong to an app."
            ) from exc
        except SaleorUnreachableError as exc:
            raise RegistrationRefusedError(
                502,
                "SALEOR_UNREACHABLE",
                f"The app could not reach Saleor at {saleor_api_url} to check its token. Is that address right, and "
                "can the app's server reach it?",
            ) from exc
        if identity.identifier != self._identifier:
            raise RegistrationRefusedError(
                403, "NOT_THIS_APP", "The token that Saleor sent belongs to another app, not to this one."
            )
        return identity

    async def _keys(self, saleor_api_url: str) -> dict[str, Any]:
        try:
            return await fetch_key_set(self._http, saleor_api_url, within=ASK_WITHIN)
        except KeysUnusableError as exc:
            raise RegistrationRefusedError(
                502, "KEYS_UNUSABLE", f"The app could not get the keys with which this Saleor signs: {exc}."
            ) from exc


def _version(text: str | None) -> str | None:
    if text is None:
        return None
    major, minor = read_version(text)
    return f"{major}.{minor}"


def _token(body: bytes) -> str:
    try:
        said = loads(body)
    except ValueError:
        said = None
    token = said.get("auth_token") if isinstance(said, dict) else None
    # It will travel in a header: nothing but visible ASCII.
    if not isinstance(token, str) or not 1 <= len(token) <= 1024 or not token.isascii() or not token.isprintable():
        raise RegistrationRefusedError(400, "MISSING_AUTH_TOKEN", "The request does not bring a token.")
    return token
