"""The keys with which a Saleor signs (JWKS): fetched from its well-known address, and validated.

Saleor publishes one key. While it is replaced, a Saleor of several processes signs with both: those that have been
restarted with the new one, the others with the old one, and each publishes its own. So a key that is no longer
published is valid for ``OVERLAP`` more: longer than a deployment takes, and short for a key that has leaked.
"""

import asyncio
import base64
from collections.abc import Mapping
from datetime import datetime, timedelta
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

OVERLAP = timedelta(minutes=10)
_MAX_REPLACED = 4
_REPLACED_AT = "replaced_at"  # a member of a key that is kept although it is no longer published


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


def find_key(jwks: Mapping[str, Any] | None, kid: str, now: datetime) -> RSAKey | None:
    """Return the key with that id; None if there is none, or if it was replaced longer than ``OVERLAP`` ago."""
    for key in (jwks or {}).get("keys", ()):
        if key.get("kid") == kid and _is_valid(key, now):
            return _import_key(key["n"], key["e"])
    return None


def keep_replaced(jwks: Mapping[str, Any] | None, published: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Return the ``published`` keys, and after them those of ``jwks`` that they replace, for ``OVERLAP``.

    That time counts from the first key set without the key; none that comes later prolongs it.
    """
    kids = {key["kid"] for key in published["keys"]}
    replaced = [
        {_REPLACED_AT: now.isoformat(), **key}
        for key in (jwks or {}).get("keys", ())
        if key.get("kid") not in kids and _is_valid(key, now)
    ]
    return {"keys": [*published["keys"], *replaced[:_MAX_REPLACED]]}


def _is_valid(key: Mapping[str, Any], now: datetime) -> bool:
    replaced_at = key.get(_REPLACED_AT)
    # On both sides: a clock that was set back must not prolong it by hours.
    return replaced_at is None or abs(now - datetime.fromisoformat(replaced_at)) < OVERLAP


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
