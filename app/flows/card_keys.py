"""Rotates card keys: which key is offered to storefronts, which ones still decrypt, and when a new one is created.

A key is offered for 30 days. A storefront's page may have been open for long when its shopper pays, so a key still
decrypts for a day after a newer one has replaced it; then it is deleted. Each store has its own keys.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from app.rules.cards.key_pair import GRACE, generate_key_pair
from app.store.card_keys import StoreCardKeys
from app.store.tables import CardKey

OFFERED_FOR = timedelta(days=30)


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


async def _add_new_key(store_keys: StoreCardKeys, now: datetime, *, unless_since: datetime | None) -> CardKey:
    # CPU-bound: in a thread, so that other requests are served.
    public, private = await asyncio.to_thread(generate_key_pair)
    return await store_keys.add(public, private, now=now, unless_since=unless_since)
