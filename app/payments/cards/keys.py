"""Rotates card keys: which key is offered to storefronts, which ones still decrypt, and when a new one is created.

A key is offered for 30 days. A storefront's page may have been open for long when its shopper pays, so a key still
decrypts for a day after a newer one has replaced it; then it is deleted. Each store has its own keys.
"""

import asyncio
import base64
import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateNumbers, RSAPublicNumbers
from joserfc.jwk import RSAKey

from app.db.card_keys import StoreCardKeys
from app.db.tables import CardKey

ALG, ENC = "RSA-OAEP-256", "A256GCM"
OFFERED_FOR = timedelta(days=30)
GRACE = timedelta(days=1)
_BITS = 2048


async def offered_key(store_keys: StoreCardKeys, now: datetime) -> CardKey:
    """Return the key that storefronts encrypt for. Creates one if there is none that is recent enough."""
    threshold = now - OFFERED_FOR
    keys = await decryption_keys(store_keys, now)
    if keys and keys[0].created_at > threshold:
        return keys[0]
    return await _add_new_key(store_keys, now, unless_since=threshold)


async def decryption_keys(store_keys: StoreCardKeys, now: datetime) -> Sequence[CardKey]:
    """Return the keys that decrypt now, newest first; outdated keys are deleted."""
    keys = await store_keys.all()
    outdated = outdated_key_ids(keys, now)
    if outdated:
        await store_keys.delete(outdated)
    return [key for key in keys if key.kid not in outdated]


async def rotate(store_keys: StoreCardKeys, now: datetime, *, delete_old: bool = False) -> CardKey:
    """Create a new key, offer it from now on, and return it.

    ``delete_old``: old keys stop decrypting at once, for when they may have leaked. The storefronts of shoppers with
    an open page fetch the new key.
    """
    old = [key.kid for key in await store_keys.all()]
    key = await _add_new_key(store_keys, now, unless_since=None)
    if delete_old:
        await store_keys.delete(old)
    return key


def outdated_key_ids(newest_first: Sequence[CardKey], now: datetime) -> frozenset[str]:
    """Return the ids of the keys whose successor is older than the grace period. Pure."""
    return frozenset(old.kid for newer, old in pairwise(newest_first) if newer.created_at + GRACE <= now)


def load_private_key(private_jwk: str) -> RSAKey:
    """Load a private key from JSON text that the app itself has sealed.

    So its numbers are not validated for consistency, which would take 40 ms of CPU each time.
    """
    jwk = json.loads(private_jwk)
    n, e, d, p, q, dp, dq, qi = (_decode_number(jwk[name]) for name in ("n", "e", "d", "p", "q", "dp", "dq", "qi"))
    numbers = RSAPrivateNumbers(p=p, q=q, d=d, dmp1=dp, dmq1=dq, iqmp=qi, public_numbers=RSAPublicNumbers(e, n))
    return RSAKey.import_key(numbers.private_key(unsafe_skip_rsa_key_validation=True))


def _decode_number(text: str) -> int:
    """Decode a number of a JWK (RFC 7518, 2: Base64urlUInt)."""
    return int.from_bytes(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


async def _add_new_key(store_keys: StoreCardKeys, now: datetime, *, unless_since: datetime | None) -> CardKey:
    # CPU-bound: in a thread, so that other requests are served.
    public, private = await asyncio.to_thread(_generate_key_pair)
    return await store_keys.add(public, private, now=now, unless_since=unless_since)


def _generate_key_pair() -> tuple[dict[str, Any], str]:
    key = RSAKey.generate_key(_BITS, {"use": "enc", "alg": ALG}, private=True)
    kid = {"kid": key.thumbprint()}  # RFC 7638
    return {**key.as_dict(private=False), **kid}, json.dumps({**key.as_dict(private=True), **kid})
