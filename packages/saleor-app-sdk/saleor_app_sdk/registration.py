"""App registration: a Saleor sends a token, and the app verifies it with that Saleor (Saleor contract, A.1).

The request is not signed and anyone can send it. So: only addresses that the operator allowed are called, and only a
few at once; the token counts only after Saleor itself has confirmed that it belongs to this app; and a token that
Saleor does not accept *yet* (the app was installed without being activated, which looks exactly like a forgery) is
stored as pending, beside the proven one. The first signed webhook for a new app id proves it
(``saleor_app_sdk.recipient``).

No token is refused because of how many came before it: strangers who post garbage in the name of a store would
otherwise decide when that store can install the app.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import httpx2
import structlog

from integration_base.connection_failures import REASONS
from integration_base.exact_json import loads
from saleor_app_sdk.addresses import AllowList, host_of, is_api_url
from saleor_app_sdk.errors import (
    KeysUnusableError,
    RegistrationRefusedError,
    SaleorNotAuthorisedError,
    SaleorRefusedError,
    SaleorUnreachableError,
)
from saleor_app_sdk.graphql import AppIdentity, SaleorClient
from saleor_app_sdk.installation import InstallationStore
from saleor_app_sdk.jwks import fetch_key_set
from saleor_app_sdk.request_limits import ConcurrencyLimiter
from saleor_app_sdk.versions import parse_version

# Saleor waits 18 s for the whole registration; after that timeout the token is invalid.
REQUEST_TIMEOUT = timedelta(seconds=7)

# How many tokens one Saleor is asked about at once, and all of them together; and how long the others wait.
MAX_CONCURRENT_PER_SALEOR = 4
MAX_CONCURRENT = 40
MAX_WAIT = timedelta(seconds=3)

_MAX_ADDRESS_LENGTH = 50  # characters of an address in a message

logger = structlog.get_logger(__name__)


class Registrar:
    """Registers Saleors that install the app."""

    def __init__(
        self,
        *,
        identifier: str,
        allowed: AllowList,
        store: InstallationStore,
        client: SaleorClient,
        http: httpx2.AsyncClient,
    ) -> None:
        self._identifier = identifier
        self._allowed = allowed
        self._store = store
        self._client = client
        self._http = http
        self._running = ConcurrencyLimiter(
            per_name=MAX_CONCURRENT_PER_SALEOR, in_total=MAX_CONCURRENT, max_wait=MAX_WAIT
        )

    async def register(self, headers: Mapping[str, str], body: bytes) -> None:
        """Store the token if it is this app's. Raises RegistrationRefusedError with a message for the installer."""
        saleor_api_url = self._allowed_address(headers.get("saleor-api-url"))
        token = _parse_token(body)
        registration: dict[str, Any] = {
            "saleor_api_url": saleor_api_url,
            "saleor_domain": host_of(saleor_api_url),
            "token": token,
            "schema_version": _format_version(headers.get("saleor-schema-version")),
        }
        try:
            async with self._running.place(saleor_api_url):
                identity = await self._identify_token(saleor_api_url, token)
                if identity is None:
                    # Perhaps a stranger: send no further request to that Saleor. Its keys are fetched for its first
                    # webhook.
                    await self._save_pending(registration)
                    return
        except TimeoutError as exc:
            raise RegistrationRefusedError(
                429, "TOO_MANY_REQUESTS", "The app is being installed there too many times at once. Try again."
            ) from exc
        await self._store.save(**registration, jwks=await self._keys(saleor_api_url), app_id=identity.id)
        logger.info("app.installed", saleor=saleor_api_url, app_id=identity.id)

    async def _save_pending(self, registration: Mapping[str, Any]) -> None:
        if not await self._store.save_pending(**registration):
            raise RegistrationRefusedError(
                429,
                "TOO_MANY_UNPROVEN",
                "The app waits for too many stores to activate it. Install the app so that it is activated at once.",
            )
        logger.info("app.not_activated", saleor=registration["saleor_api_url"])

    def _allowed_address(self, saleor_api_url: str | None) -> str:
        if not saleor_api_url:
            raise RegistrationRefusedError(
                400, "MISSING_SALEOR_API_URL", "The request does not say which Saleor it is from."
            )
        if not is_api_url(saleor_api_url):
            raise RegistrationRefusedError(
                400,
                "INVALID_SALEOR_API_URL",
                f"This Saleor names {_shorten(saleor_api_url)} as its API address. The app needs one whose host is in "
                "lower case and which ends in /graphql/: correct the PUBLIC_URL of Saleor and its workers.",
            )
        if not self._allowed.allows(saleor_api_url):
            logger.warning("installation.refused", saleor=saleor_api_url[:200])
            raise RegistrationRefusedError(
                403,
                "SALEOR_NOT_ALLOWED",
                f"This Saleor may not install the app: it names {_shorten(saleor_api_url)} as its API address. If that "
                "is right, have it added to the app's list of allowed addresses; if not, correct the PUBLIC_URL of "
                "Saleor and its workers.",
            )
        return saleor_api_url

    async def _identify_token(self, saleor_api_url: str, token: str) -> AppIdentity | None:
        """Return the app that the token belongs to; None when Saleor does not accept the token (yet)."""
        try:
            identity = await self._client.who_am_i(saleor_api_url, token, timeout=REQUEST_TIMEOUT)
        except SaleorNotAuthorisedError:
            return None
        except SaleorRefusedError as exc:
            raise RegistrationRefusedError(
                403, "NOT_THIS_APP", "The token that Saleor sent does not belong to an app."
            ) from exc
        except SaleorUnreachableError as exc:
            raise RegistrationRefusedError(502, "SALEOR_UNREACHABLE", _unreachable(saleor_api_url, exc)) from exc
        if identity.identifier != self._identifier:
            raise RegistrationRefusedError(
                403, "NOT_THIS_APP", "The token that Saleor sent belongs to another app, not to this one."
            )
        return identity

    async def _keys(self, saleor_api_url: str) -> dict[str, Any]:
        try:
            return await fetch_key_set(self._http, saleor_api_url, timeout=REQUEST_TIMEOUT)
        except KeysUnusableError as exc:
            raise RegistrationRefusedError(
                502, "KEYS_UNUSABLE", f"The app could not fetch this Saleor's signing keys: {exc}."
            ) from exc


def _shorten(address: str) -> str:
    """Return the beginning of an address: Saleor shows the first 255 characters of a message."""
    return address if len(address) <= _MAX_ADDRESS_LENGTH else f"{address[: _MAX_ADDRESS_LENGTH - 1]}…"


def _unreachable(saleor_api_url: str, error: SaleorUnreachableError) -> str:
    if error.pause is not None:
        return f"Saleor at {saleor_api_url} has no time for requests at the moment. Try again in a few minutes."
    if error.location is not None:
        return (
            f"Saleor's API address {saleor_api_url} leads to {error.location} (HTTP {error.status}), and the app "
            "follows no redirect. Correct the PUBLIC_URL of Saleor, or let the app's requests through."
        )
    if error.status is not None:
        return (
            f"HTTP {error.status} came in place of an answer of Saleor's API at {saleor_api_url}. Is that address "
            "right, and does a password or a firewall in front of it turn the app away?"
        )
    reason = "" if error.connection is None else f": {REASONS[error.connection]}"
    return (
        f"The app could not reach Saleor at {saleor_api_url} to check its token{reason}. "
        "Is that address right, and can the app's server reach it?"
    )


def _format_version(text: str | None) -> str | None:
    if text is None:
        return None
    major, minor = parse_version(text)
    return f"{major}.{minor}"


def _parse_token(body: bytes) -> str:
    try:
        payload = loads(body)
    except ValueError:
        payload = None
    token = payload.get("auth_token") if isinstance(payload, dict) else None
    # It will be sent in a header: only visible ASCII.
    if not isinstance(token, str) or not 1 <= len(token) <= 1024 or not token.isascii() or not token.isprintable():
        raise RegistrationRefusedError(400, "MISSING_AUTH_TOKEN", "The request contains no token.")
    return token
