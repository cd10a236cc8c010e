"""The keys with which a Saleor signs: fetched from its well-known address, and checked to be what they should be."""

import asyncio
import base64
from collections.abc import Mapping
from datetime import timedelta
from functools import lru_cache
from typing import Any

import httpx2
from joserfc.errors import JoseError
from joserfc.jwk import RSAKey

from app.exact_json import loads
from app.outbound import UNPACKED, BodyError, read_at_most
from app.saleor.addresses import origin_of
from app.saleor.errors import KeysUnusableError

MOST_BYTES = 64 * 1024
LEAST_MODULUS_BITS = 2048


async def fetch_key_set(http: httpx2.AsyncClient, saleor_api_url: str, *, within: timedelta) -> dict[str, Any]:
    """Fetch and check the key set of a Saleor whose address is on the allow-list.

    Raises KeysUnusableError when there is no answer in time, when the answer is anything but a plain 200 (a redirect
    would lead to an address that nobody allowed), and when the document is not a set of RSA signing keys.
    """
    address = f"{origin_of(saleor_api_url)}/.well-known/jwks.json"
    try:
        async with (
            asyncio.timeout(within.total_seconds()),
            http.stream("GET", address, follow_redirects=False, headers=UNPACKED) as response,
        ):
            if response.status_code != 200:
                msg = f"{address} answered {response.status_code} instead of a key set"
                raise KeysUnusableError(msg)
            document = await read_at_most(MOST_BYTES, response)
    except BodyError as exc:
        msg = f"{address} did not answer with a key set: {exc}"
        raise KeysUnusableError(msg) from exc
    except (httpx2.HTTPError, TimeoutError) as exc:
        msg = f"{address} could not be fetched ({type(exc).__name__})"
        raise KeysUnusableError(msg) from exc
    try:
        return read_key_set(loads(document))
    except ValueError as exc:
        msg = f"{address} did not answer with JSON"
        raise KeysUnusableError(msg) from exc


def read_key_set(document: object) -> dict[str, Any]:
    """Check that ``document`` is a set of public RSA signing keys, each with a name of its own, and return its essence.

    Saleor publishes exactly one key. Raises KeysUnusableError for anything else, private keys and short ones included.
    """
    keys = document.get("keys") if isinstance(document, Mapping) else None
    if not isinstance(keys, list) or not keys:
        msg = "not a key set"
        raise KeysUnusableError(msg)
    essence = [_essence(key) for key in keys]
    if len({key["kid"] for key in essence}) != len(essence):
        msg = "a key set in which two keys have the same name"
        raise KeysUnusableError(msg)
    return {"keys": essence}


def find_key(jwks: Mapping[str, Any] | None, kid: str) -> RSAKey | None:
    """Return the key of that name, or None."""
    for key in (jwks or {}).get("keys", ()):
        if key.get("kid") == kid:
            return _imported(key["n"], key["e"])
    return None


def _essence(key: object) -> dict[str, str]:
    if not isinstance(key, Mapping) or key.get("kty") != "RSA" or "d" in key:
        msg = "a key set with something else than a public RSA key in it"
        raise KeysUnusableError(msg)
    if key.get("use", "sig") != "sig" or key.get("alg", "RS256") != "RS256":
        msg = "a key set with a key that is not for RS256 signatures"
        raise KeysUnusableError(msg)
    parts = {name: key.get(name) for name in ("kid", "n", "e")}
    if not all(isinstance(part, str) and part for part in parts.values()):
        msg = "a key set with an incomplete key"
        raise KeysUnusableError(msg)
    essence = {"kty": "RSA", "use": "sig", "alg": "RS256", **{name: str(part) for name, part in parts.items()}}
    try:
        bits = int.from_bytes(base64.b64decode(essence["n"] + "==", altchars=b"-_")).bit_length()
        if bits < LEAST_MODULUS_BITS:
            msg = f"a key set with a key of only {bits} bits"
            raise KeysUnusableError(msg)
        _imported(essence["n"], essence["e"])
    except (JoseError, ValueError) as exc:
        msg = "a key set with an unreadable key"
        raise KeysUnusableError(msg) from exc
    return essence


@lru_cache(maxsize=512)
def _imported(modulus: str, exponent: str) -> RSAKey:
    return RSAKey.import_key({"kty": "RSA", "n": modulus, "e": exponent})
