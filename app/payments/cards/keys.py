"""Which card key is offered to storefronts, which ones still open, and when a new one is made.

A key is offered for 30 days. A storefront's page may have been open for long when its shopper pays, so a key still
opens for a day after a newer one has taken its place; then it is deleted. Each store has keys of its own.
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


async def offered_key(book: StoreCardKeys, now: datetime) -> CardKey:
    """Return the key that storefronts encrypt for. Makes one if there is none that is young enough."""
    young = now - OFFERED_FOR
    keys = await opening_keys(book, now)
    if keys and keys[0].created_at > young:
        return keys[0]
    return await _add_new(book, now, unless_since=young)


async def opening_keys(book: StoreCardKeys, now: datetime) -> Sequence[CardKey]:
    """Return the keys that open at this moment, newest first; those that never will again are deleted."""
    keys = await book.all()
    outdated = outdated_among(keys, now)
    if outdated:
        await book.forget(outdated)
    return [key for key in keys if key.kid not in outdated]


async def rotate(book: StoreCardKeys, now: datetime, *, forget_old: bool = False) -> CardKey:
    """Make a new key and offer it from now on; return it.

    ``forget_old``: the old ones open no more, for when somebody else may have them. Shoppers whose page was open
    have their storefront fetch the new key.
    """
    old = [key.kid for key in await book.all()]
    key = await _add_new(book, now, unless_since=None)
    if forget_old:
        await book.forget(old)
    return key


def outdated_among(newest_first: Sequence[CardKey], now: datetime) -> frozenset[str]:
    """Return the ids of those keys whose successor is older than the grace. Pure."""
    return frozenset(old.kid for newer, old in pairwise(newest_first) if newer.created_at + GRACE <= now)


def opening_key(private_jwk: str) -> RSAKey:
    """Return the private key of that text (JSON), which we have sealed ourselves.

    So its numbers need not be proven to belong together, which takes the processor 40 ms each time.
    """
    said = json.loads(private_jwk)
    n, e, d, p, q, dp, dq, qi = (_number(said[name]) for name in ("n", "e", "d", "p", "q", "dp", "dq", "qi"))
    numbers = RSAPrivateNumbers(p=p, q=q, d=d, dmp1=dp, dmq1=dq, iqmp=qi, public_numbers=RSAPublicNumbers(e, n))
    return RSAKey.import_key(numbers.private_key(unsafe_skip_rsa_key_validation=True))


def _number(text: str) -> int:
    """Read a number as a JWK has it (RFC 7518, 2: Base64urlUInt)."""
    return int.from_bytes(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


async def _add_new(book: StoreCardKeys, now: datetime, *, unless_since: datetime | None) -> CardKey:
    # It takes the processor a moment, in which others are served.
    public, private = await asyncio.to_thread(_new_pair)
    return await book.add(public, private, now=now, unless_since=unless_since)


def _new_pair() -> tuple[dict[str, Any], str]:
    key = RSAKey.generate_key(_BITS, {"use": "enc", "alg": ALG}, private=True)
    kid = {"kid": key.thumbprint()}  # RFC 7638
    return {**key.as_dict(private=False), **kid}, json.dumps({**key.as_dict(private=True), **kid})
