"""The keys with which a Saleor signs (JWKS): fetched from its well-known address, and validated."""

import asyncio
import base64
from collections.abc import Mapping
from datetime import timedelta
from functools import lru_cache
from typing import Any

import httpx2
from joserfc.errors import JoseError
from joserfc.jwk import RSAKey

from integration_base.connection_failures import REASONS, classify_connection_failure
from integration_base.exact_json import loads
from integration_base.outbound import NO_COMPRESSION, BodyError, read_at_most
from saleor_app_sdk.addresses import origin_of
from saleor_app_sdk.errors import KeysUnusableError

MAX_BYTES = 64 * 1024
MIN_MODULUS_BITS = 2048


async def fetch_key_set(http: httpx2.AsyncClient, saleor_api_url: str, *, timeout: timedelta) -> dict[str, Any]:
    """Fetch and check the key set of a Saleor whose address is on the allow-list.

    Raises KeysUnusableError when there is no response in time, when the response is not a plain 200 (a redirect would
    lead to an address that was not allowed), and when the document is not a set of RSA signing keys.
    """
    address = f"{origin_of(saleor_api_url)}/.well-known/jwks.json"
    try:
        async with (
            asyncio.timeout(timeout.total_seconds()),
            http.stream("GET", address, follow_redirects=False, headers=NO_COMPRESSION) as response,
        ):
            if response.status_code != 200:
                msg = f"{address} answered {response.status_code} instead of a key set"
                raise KeysUnusableError(msg)
            document = await read_at_most(MAX_BYTES, response)
    except BodyError as exc:
        msg = f"{address} did not answer with a key set: {exc}"
        raise KeysUnusableError(msg) from exc
    except (httpx2.HTTPError, TimeoutError) as exc:
        kind = classify_connection_failure(exc)
        error = KeysUnusableError(f"{address} could not be fetched: {REASONS[kind]}")
        error.connection = kind
        raise error from exc
    try:
        return parse_key_set(loads(document))
    except ValueError as exc:
        msg = f"{address} did not answer with JSON"
        raise KeysUnusableError(msg) from exc


def parse_key_set(document: object) -> dict[str, Any]:
    """Validate the public RSA signing keys in ``document``, with unique ids; return only their needed members.

    Saleor publishes exactly one key. Keys of other kinds beside it are left out (RFC 7517, section 5). Raises
    KeysUnusableError if no key is left, or one is unreadable, private or too short.
    """
    keys = document.get("keys") if isinstance(document, Mapping) else None
    if not isinstance(keys, list) or not keys:
        msg = "not a key set"
        raise KeysUnusableError(msg)
    parsed = [_parse_key(key) for key in keys if _is_for_signatures(key)]
    if not parsed:
        msg = "a key set without a key for RS256 signatures"
        raise KeysUnusableError(msg)
    if len({key["kid"] for key in parsed}) != len(parsed):
        msg = "a key set in which two keys have the same name"
        raise KeysUnusableError(msg)
    return {"keys": parsed}


def find_key(jwks: Mapping[str, Any] | None, kid: str) -> RSAKey | None:
    """Return the key with that id, or None."""
    for key in (jwks or {}).get("keys", ()):
        if key.get("kid") == kid:
            return _import_key(key["n"], key["e"])
    return None


def _is_for_signatures(key: object) -> bool:
    """Return True for a key for RS256 signatures, False for one of another kind. Raises KeysUnusableError."""
    if not isinstance(key, Mapping) or not isinstance(key.get("kty"), str) or "d" in key:
        msg = "a key set with something else than a public key in it"
        raise KeysUnusableError(msg)
    kind = (key["kty"], key.get("use", "sig"), key.get("alg", "RS256"))
    return kind == ("RSA", "sig", "RS256")


def _parse_key(key: Mapping[str, object]) -> dict[str, str]:
    parts = {name: key.get(name) for name in ("kid", "n", "e")}
    if not all(isinstance(part, str) and part for part in parts.values()):
        msg = "a key set with an incomplete key"
        raise KeysUnusableError(msg)
    parsed = {"kty": "RSA", "use": "sig", "alg": "RS256", **{name: str(part) for name, part in parts.items()}}
    try:
        bits = int.from_bytes(base64.b64decode(parsed["n"] + "==", altchars=b"-_")).bit_length()
        if bits < MIN_MODULUS_BITS:
            msg = f"a key set with a key of only {bits} bits"
            raise KeysUnusableError(msg)
        _import_key(parsed["n"], parsed["e"])
    except (JoseError, ValueError) as exc:
        msg = "a key set with an unreadable key"
        raise KeysUnusableError(msg) from exc
    return parsed


@lru_cache(maxsize=512)
def _import_key(modulus: str, exponent: str) -> RSAKey:
    return RSAKey.import_key({"kty": "RSA", "n": modulus, "e": exponent})
