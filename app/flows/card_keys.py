"""Rotates card keys: which key is offered to storefronts, which ones still decrypt, and when a new one is created.

A key is offered for 30 days. A storefront's page may have been open for long when its shopper pays, so a key still
decrypts for a day after a newer one has replaced it; then it is deleted. Each store has its own keys.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

import structlog

from app.rules.cards.key_pair import GRACE, generate_key_pair
from app.store.card_keys import StoreCardKeys
from app.store.tables import CardKey
from app.store.vault import VaultError

log = structlog.get_logger(__name__)

OFFERED_FOR = timedelta(days=30)


async def offered_key(store_keys: StoreCardKeys, now: datetime) -> CardKey:
    """Return the key that storefronts encrypt for. Creates one if there is none that is recent enough, and opens."""
    replaced_until = now - OFFERED_FOR
    keys = await decryption_keys(store_keys, now)
    if keys and _open(store_keys, keys[0]) is None:
        replaced_until = max(replaced_until, keys[0].created_at)
    if keys and keys[0].created_at > replaced_until:
        return keys[0]
    return await _add_new_key(store_keys, now, unless_since=replaced_until)


async def decryption_keys(store_keys: StoreCardKeys, now: datetime) -> Sequence[CardKey]:
    """Return the keys that decrypt now, newest first; outdated keys are deleted."""
    keys = await store_keys.all()
    outdated = outdated_key_ids(keys, now)
    if outdated:
        await store_keys.delete(outdated)
    return [key for key in keys if key.kid not in outdated]


async def private_jwks(store_keys: StoreCardKeys, now: datetime) -> Callable[[str], str | None]:
    """Return the function that finds the private key (JSON text) for the id of a key; None: nothing decrypts with it.

    What was encrypted for a key that does not open must be encrypted again, like for one that is outdated.
    """
    keys = {key.kid: key for key in await decryption_keys(store_keys, now)}
    return lambda kid: _open(store_keys, keys[kid]) if kid in keys else None


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


def _open(store_keys: StoreCardKeys, key: CardKey) -> str | None:
    try:
        return store_keys.private_jwk(key)
    except VaultError as error:
        log.error("card_key.not_opened", error=str(error))  # noqa: TRY400 - the message suffices
        return None


async def _add_new_key(store_keys: StoreCardKeys, now: datetime, *, unless_since: datetime | None) -> CardKey:
    # CPU-bound: in a thread, so that other requests are served.
    public, private = await asyncio.to_thread(generate_key_pair)
    return await store_keys.add(public, private, now=now, unless_since=unless_since)
