"""Verifies signatures. Keys are cached in the store, and fetched again when Saleor has a new one."""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta

import httpx2
import structlog
from joserfc.jwk import RSAKey

from integration_base import telemetry
from saleor_app_sdk.errors import KeysUnusableError, NotVerifiedError
from saleor_app_sdk.installation import Installation, InstallationStore
from saleor_app_sdk.jwks import fetch_key_set, find_key, keep_replaced
from saleor_app_sdk.signature import BadSignatureError, read_key_id, verify

COOL_DOWN = timedelta(seconds=10)
FETCH_TIMEOUT = timedelta(seconds=5)

logger = structlog.get_logger(__name__)


def bad_signature_error() -> NotVerifiedError:
    """Return the one error for every request without a valid signature.

    It reveals neither who uses the app nor which keys are known.
    """
    return NotVerifiedError("BAD_SIGNATURE", "This request is not signed by a Saleor that has installed the app.")


class Keyring:
    """Verifies signatures with the stored keys of an installation.

    For an unknown key id it fetches the keys again, at most once in ``COOL_DOWN`` for an installation: garbage must not
    cause a request to Saleor each time. Nobody can tell garbage from the first request with a new key, so garbage can
    delay that key, but by no more than ``COOL_DOWN``: whoever causes a fetch, it brings the new key for all. Keys that
    were replaced stay valid for a time (``saleor_app_sdk.jwks``). A mismatching signature by a known key is simply
    invalid, and nothing is fetched.
    """

    def __init__(self, store: InstallationStore, http: httpx2.AsyncClient, now: Callable[[], datetime]) -> None:
        self._store = store
        self._http = http
        self._now = now
        self._tried_at: dict[str, datetime] = {}
        # Only for installed Saleors, so there are never more locks than installations.
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def verify(self, installation: Installation, signature: str, body: bytes) -> None:
        """Return if that Saleor signed these bytes; raise NotVerifiedError if not."""
        try:
            verify(signature, body, await self.key(installation, read_key_id(signature)))
        except BadSignatureError as exc:
            telemetry.emit(telemetry.TelemetryEvent.SIGNATURE_REFUSED, sender="saleor")
            logger.warning("signature.refused", saleor=installation.saleor_api_url, error=str(exc))
            raise bad_signature_error() from exc

    async def key(self, installation: Installation, kid: str) -> RSAKey:
        """Return the key with that id, if that Saleor publishes one; raise BadSignatureError if not."""
        return find_key(installation.jwks, kid, self._now()) or await self._new_key(installation.saleor_api_url, kid)

    async def _new_key(self, saleor_api_url: str, kid: str) -> RSAKey:
        async with self._locks[saleor_api_url]:
            # Another request may have fetched the key while this one waited.
            installation = await self._store.find(saleor_api_url)
            if installation and (key := find_key(installation.jwks, kid, self._now())):
                return key
            if installation and self._can_fetch(installation):
                self._tried_at[saleor_api_url] = self._now()
                key = await self._fetch(installation, kid)
                if key:
                    return key
        msg = "its key is unknown"
        raise BadSignatureError(msg)

    def _can_fetch(self, installation: Installation) -> bool:
        # Fetched at: by any process. Tried at: by this process, also when it failed.
        last = (self._tried_at.get(installation.saleor_api_url), installation.jwks_fetched_at)
        # A time in the future is from before the clock was set back.
        return all(moment is None or not timedelta() <= self._now() - moment < COOL_DOWN for moment in last)

    async def _fetch(self, installation: Installation, kid: str) -> RSAKey | None:
        saleor_api_url = installation.saleor_api_url
        try:
            published = await fetch_key_set(self._http, saleor_api_url, timeout=FETCH_TIMEOUT)
        except KeysUnusableError as exc:
            logger.warning("keys.refused", saleor=saleor_api_url, error=str(exc))
            return None
        now = self._now()
        jwks = keep_replaced(installation.jwks, published, now)
        await self._store.save_jwks(saleor_api_url, jwks, now)
        logger.info("keys.fetched", saleor=saleor_api_url)
        return find_key(jwks, kid, now)
