"""Which card key is offered, which ones open, and that processes agree on it."""

import asyncio
import base64
import hashlib
import json

import pytest
from joserfc.jwk import RSAKey
from sqlalchemy import text

from app.flows.card_keys import decryption_keys, offered_key, rotate
from app.store.card_keys import CardKeyRepository, StoreCardKeys
from app.store.database import Database, create_engine, is_sqlite
from app.store.installations import InstallationRepository
from app.store.tables import CardKey
from app.store.vault import Vault, VaultError
from integration_base_tests.clock import Clock
from tests.db.rows import an_installation, read_raw
from tests.payments.shop import run_concurrently


@pytest.fixture
async def store(database: Database, vault: Vault, clock: Clock) -> int:
    """The row of a Saleor that has installed us."""
    return (await an_installation(InstallationRepository(database, vault, clock))).id


@pytest.fixture
def book(database: Database, vault: Vault, store: int) -> StoreCardKeys:
    return CardKeyRepository(database, vault).for_store(store)


async def kids(book: StoreCardKeys, clock: Clock) -> list[str]:
    return [key.kid for key in await decryption_keys(book, clock.now)]


async def test_the_first_key_is_made_on_first_need_and_kept(book: StoreCardKeys, clock: Clock) -> None:
    assert await book.all() == []
    key = await offered_key(book, clock.now)
    clock.forward(days=29, hours=23)
    assert (await offered_key(book, clock.now)).kid == key.kid
    assert await kids(book, clock) == [key.kid]


async def test_the_public_half_is_what_a_browser_imports_and_nothing_more(book: StoreCardKeys, clock: Clock) -> None:
    jwk = (await offered_key(book, clock.now)).public_jwk
    assert set(jwk) == {"kty", "n", "e", "kid", "use", "alg"}
    assert (jwk["kty"], jwk["use"], jwk["alg"]) == ("RSA", "enc", "RSA-OAEP-256")
    modulus = base64.urlsafe_b64decode(jwk["n"] + "==")
    assert len(modulus) * 8 >= 2048
    # RFC 7638: the hash over the required members, in this order and without space.
    members = json.dumps({"e": jwk["e"], "kty": "RSA", "n": jwk["n"]}, separators=(",", ":"))
    thumbprint = base64.urlsafe_b64encode(hashlib.sha256(members.encode()).digest()).decode().rstrip("=")
    assert jwk["kid"] == thumbprint


async def test_after_thirty_days_a_new_key_is_offered_and_the_old_one_opens_for_a_day(
    book: StoreCardKeys, clock: Clock
) -> None:
    old = await offered_key(book, clock.now)
    clock.forward(days=30)
    new = await offered_key(book, clock.now)
    assert new.kid != old.kid
    assert await kids(book, clock) == [new.kid, old.kid]
    clock.forward(hours=23, minutes=59)
    assert await kids(book, clock) == [new.kid, old.kid]
    clock.forward(minutes=1)
    assert await kids(book, clock) == [new.kid]
    assert [key.kid for key in await book.all()] == [new.kid]  # and it is gone for good


async def test_a_key_is_not_accepted_for_longer_because_it_was_replaced_twice(
    book: StoreCardKeys, clock: Clock
) -> None:
    first = await offered_key(book, clock.now)
    clock.forward(hours=1)
    second = await rotate(book, clock.now)
    clock.forward(hours=20)
    third = await rotate(book, clock.now)
    clock.forward(hours=4)
    assert await kids(book, clock) == [third.kid, second.kid]
    assert first.kid not in await kids(book, clock)


@pytest.mark.threat("leaked-key")
async def test_an_operator_rotates_at_once_and_may_forget_what_leaked(book: StoreCardKeys, clock: Clock) -> None:
    old = await offered_key(book, clock.now)
    new = await rotate(book, clock.forward(minutes=1))
    assert (await offered_key(book, clock.now)).kid == new.kid
    assert await kids(book, clock) == [new.kid, old.kid]
    newest = await rotate(book, clock.forward(minutes=1), delete_old=True)
    assert await kids(book, clock) == [newest.kid]


async def test_processes_that_need_a_key_at_once_agree_on_one(
    database_url: str, database: Database, vault: Vault, clock: Clock, store: int
) -> None:
    others = [Database(create_engine(database_url)) for _ in range(3)]
    try:
        saleor = [CardKeyRepository(place, vault).for_store(store) for place in (database, *others)]
        offers = await run_concurrently(*(offered_key(book, clock.now) for book in saleor * 2))
    finally:
        for other in others:
            await other.close()
    assert len({key.kid for key in offers}) == 1
    assert len(await saleor[0].all()) == 1


async def test_a_process_that_needs_a_key_while_another_stores_one_gets_that_one(
    book: StoreCardKeys, database: Database, database_url: str, clock: Clock, store: int
) -> None:
    if is_sqlite(database_url):
        pytest.skip("SQLite lets one write after the other")
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    theirs = CardKey(kid="theirs", installation_id=store, public_jwk={}, private_sealed="", created_at=clock.now)
    async with database.transaction() as session:
        session.add(theirs)
        await session.flush()
        ours = asyncio.create_task(offered_key(book, clock.now))
        while await read_raw(database, waiting) == [(0,)]:
            assert not ours.done()
    assert (await ours).kid == "theirs"


@pytest.mark.threat("stolen-database")
async def test_the_private_half_is_sealed_and_bound_to_its_key(
    book: StoreCardKeys, database: Database, clock: Clock
) -> None:
    first = await offered_key(book, clock.now)
    second = await rotate(book, clock.forward(minutes=1))
    private = json.loads(book.private_jwk(first))
    assert RSAKey.import_key(private).thumbprint() == first.kid
    async with database.transaction() as session:
        rows = str((await (await session.connection()).execute(text("SELECT * FROM card_key"))).all())
    assert private["d"] not in rows
    second.private_sealed = first.private_sealed
    with pytest.raises(VaultError):
        book.private_jwk(second)


@pytest.mark.threat("stolen-ciphertext")
async def test_no_store_opens_what_was_encrypted_for_another(database: Database, vault: Vault, clock: Clock) -> None:
    installations, keys = InstallationRepository(database, vault, clock), CardKeyRepository(database, vault)
    ours = keys.for_store((await an_installation(installations)).id)
    theirs = keys.for_store((await an_installation(installations, "https://other.example.com/graphql/")).id)
    mine, other = await offered_key(ours, clock.now), await offered_key(theirs, clock.now)
    assert mine.kid != other.kid
    assert [key.kid for key in await decryption_keys(ours, clock.now)] == [mine.kid]
    with pytest.raises(VaultError):
        ours.private_jwk(other)
    await ours.delete([other.kid])
    assert [key.kid for key in await theirs.all()] == [other.kid]
