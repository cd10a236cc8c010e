"""What every store of installations must do: the SDK's own in memory and in a database, and the app's."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from app.store.database import Database, async_url, create_engine
from app.store.installations import InstallationRepository
from app.store.vault import Vault
from integration_base_tests.clock import Clock
from saleor_app_sdk.in_memory import InMemoryInstallationStore
from saleor_app_sdk.installation import Installation, InstallationStore
from saleor_app_sdk.pending_tokens import MAX_PENDING_TOKENS
from saleor_app_sdk.sealing import generate_sealing_key
from saleor_app_sdk.sqlmodel_store import SQLModelInstallationStore, create_tables, metadata
from tests.conftest import MigratedDatabases

URL = "https://shop.example.com/graphql/"
OTHER = "https://other.example.com/graphql/"
TOKEN = "good"
KEYS = {"keys": [{"kid": "first"}]}

STORES = ("memory", "sqlite", "postgresql", "app")
"""The app forgets a removed installation in a way of its own, so it is not among those of which that is asked."""


@asynccontextmanager
async def open_engine(url: str) -> AsyncIterator[AsyncEngine]:
    """Give an engine as an app makes it that knows nothing of this one, with the tables."""
    address = async_url(url)
    # On PostgreSQL a level at which concurrent writers fail, unless the store asks for another.
    options = {} if address.get_backend_name() == "sqlite" else {"isolation_level": "SERIALIZABLE"}
    engine = create_async_engine(address, **options)
    try:
        await create_tables(engine)
        await create_tables(engine)  # what is there already stays
        yield engine
        async with engine.begin() as connection:
            await connection.run_sync(metadata.drop_all)
    finally:
        await engine.dispose()


@pytest.fixture(scope="session")
def own_postgresql(new_postgresql: Callable[[], str]) -> str:
    return new_postgresql()


@pytest.fixture
async def engine(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AsyncEngine | None]:
    """The engine of the kind that ``indirect`` parameters name; None for a store that has none."""
    kind = request.param
    if kind not in {"sqlite", "postgresql"}:
        yield None
        return
    url = f"sqlite:///{tmp_path}/app.sqlite" if kind == "sqlite" else request.getfixturevalue("own_postgresql")
    async with open_engine(url) as engine:
        yield engine


@pytest.fixture
def keys() -> list[str]:
    return [generate_sealing_key()]


Removable = InMemoryInstallationStore | SQLModelInstallationStore


@pytest.fixture
async def store(
    engine: AsyncEngine | None,
    request: pytest.FixtureRequest,
    keys: list[str],
    clock: Clock,
) -> AsyncIterator[InstallationStore]:
    if engine is not None:
        yield SQLModelInstallationStore(engine, keys=keys, now=clock)
    elif "app" in request.node.callspec.id:
        migrated: MigratedDatabases = request.getfixturevalue("migrated")
        vault: Vault = request.getfixturevalue("vault")
        database = Database(create_engine(await migrated.sqlite()))
        yield InstallationRepository(database, vault, clock)
        await database.close()
    else:
        yield InMemoryInstallationStore(clock)


every_store = pytest.mark.parametrize("engine", STORES, indirect=True)
in_database = pytest.mark.parametrize("engine", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def removable(store: InstallationStore) -> Removable:
    assert isinstance(store, Removable)
    return store


async def install(store: InstallationStore, token: str = TOKEN, url: str = URL, **changed: Any) -> None:
    given: dict[str, Any] = {"schema_version": "3.22", "app_id": "QXBwOjE=", "jwks": KEYS} | changed
    await store.save(saleor_api_url=url, saleor_domain="shop.example.com", token=token, **given)


async def bring(store: InstallationStore, token: str, url: str = URL) -> bool:
    return await store.save_pending(
        saleor_api_url=url, saleor_domain="shop.example.com", schema_version="3.22", token=token
    )


async def find(store: InstallationStore, url: str = URL) -> Installation:
    found = await store.find(url)
    assert found is not None
    return found


@every_store
async def test_installation_is_found_by_its_address_only(store: InstallationStore, clock: Clock) -> None:
    await install(store)
    found = await find(store)
    assert (found.saleor_api_url, found.app_id, found.token, found.verified) == (URL, "QXBwOjE=", "good", True)
    assert (found.schema_version, found.jwks, found.jwks_fetched_at) == ("3.22", KEYS, clock.now)
    assert tuple(found.pending_tokens) == ()
    assert await store.find(OTHER) is None
    assert "good" not in repr(found)


@every_store
async def test_reinstallation_replaces_token_and_app_and_ends_pending_tokens(
    store: InstallationStore, clock: Clock
) -> None:
    await install(store)
    await install(store, url=OTHER)
    await bring(store, "pending")
    await bring(store, "pending", OTHER)
    clock.forward(days=1)
    await install(store, "new", app_id="QXBwOjI=", schema_version="3.23", jwks={"keys": []})
    found = await find(store)
    assert (found.app_id, found.token, tuple(found.pending_tokens)) == ("QXBwOjI=", "new", ())
    assert (found.schema_version, found.jwks, found.jwks_fetched_at) == ("3.23", {"keys": []}, clock.now)
    assert ((await find(store, OTHER)).token, (await find(store, OTHER)).pending_tokens) == ("good", ("pending",))


@every_store
async def test_token_that_comes_without_keys_leaves_the_stored_ones(store: InstallationStore, clock: Clock) -> None:
    await install(store)
    fetched_at = clock.now
    clock.forward(days=1)
    await install(store, "new", jwks=None)
    found = await find(store)
    assert (found.token, found.jwks, found.jwks_fetched_at) == ("new", KEYS, fetched_at)


@every_store
async def test_first_token_without_keys_has_none_and_no_time_of_them(store: InstallationStore) -> None:
    await install(store, jwks=None)
    found = await find(store)
    assert (found.jwks, found.jwks_fetched_at) == (None, None)


@every_store
async def test_pending_token_stands_beside_the_proven_one(store: InstallationStore) -> None:
    await install(store)
    assert await bring(store, "first")
    assert await bring(store, "second")
    assert await bring(store, "second"), "Saleor tries again with the same"
    found = await find(store)
    assert (found.token, found.app_id, tuple(found.pending_tokens)) == ("good", "QXBwOjE=", ("second", "first"))
    await store.delete_pending(URL, "first")
    assert tuple((await find(store)).pending_tokens) == ("second",)


@every_store
async def test_installation_with_pending_tokens_only_is_not_verified(store: InstallationStore) -> None:
    assert await bring(store, "first")
    found = await find(store)
    assert (found.verified, found.token, found.app_id, found.jwks) == (False, "", None, None)
    assert found.schema_version == "3.22"


@every_store
async def test_flood_of_pending_tokens_leaves_what_came_before_and_after_it(
    store: InstallationStore, clock: Clock
) -> None:
    await bring(store, "genuine")
    clock.forward(days=1)
    for number in range(120):
        clock.forward(seconds=1)
        assert await bring(store, f"garbage-{number}")
    clock.forward(hours=1)
    await bring(store, "later")
    tokens = (await find(store)).pending_tokens
    assert {"genuine", "later"} <= set(tokens)
    assert len(tokens) <= MAX_PENDING_TOKENS


@every_store
async def test_contact_stores_the_release_that_saleor_reports(store: InstallationStore) -> None:
    await install(store)
    for reported, expected in (("3.22.67", "3.22.67"), (None, "3.22.67"), ("3.21.4", "3.21.4")):
        await store.record_contact(await find(store), reported)
        assert (await find(store)).schema_version == expected


@every_store
async def test_new_keys_are_stored_with_their_time(store: InstallationStore, clock: Clock) -> None:
    await install(store)
    later = clock.now + timedelta(hours=2)
    await store.save_jwks(URL, {"keys": []}, later)
    found = await find(store)
    assert (found.jwks, found.jwks_fetched_at, found.token) == ({"keys": []}, later, "good")


@every_store
async def test_nothing_is_stored_of_a_saleor_that_is_not_installed(store: InstallationStore, clock: Clock) -> None:
    await store.save_jwks(URL, KEYS, clock.now)
    await store.delete_pending(URL, "good")
    assert await store.find(URL) is None


@pytest.mark.parametrize("engine", ["memory", "sqlite", "postgresql"], indirect=True)
async def test_removed_app_is_forgotten_and_contact_does_not_bring_it_back(removable: Removable) -> None:
    await install(removable)
    await install(removable, url=OTHER)
    before = await find(removable)
    assert not await removable.delete(URL, app_id="QXBwOjI="), "that is another installation"
    assert await removable.delete(URL, app_id="QXBwOjE=")
    assert not await removable.delete(URL, app_id="QXBwOjE=")
    await removable.record_contact(before, "3.22.67")
    assert await removable.find(URL) is None
    assert [installation.saleor_api_url for installation in await removable.all()] == [OTHER]


@pytest.mark.parametrize("engine", ["memory", "sqlite", "postgresql"], indirect=True)
async def test_removed_app_leaves_the_pending_tokens_of_the_next_installation(removable: Removable) -> None:
    await install(removable)
    await bring(removable, "next")
    assert await removable.delete(URL, app_id="QXBwOjE=")
    found = await find(removable)
    assert (found.verified, found.app_id, found.pending_tokens) == (False, None, ("next",))


@pytest.mark.parametrize("engine", ["memory", "sqlite", "postgresql"], indirect=True)
async def test_all_lists_the_oldest_first(removable: Removable, clock: Clock) -> None:
    for url in (URL, OTHER):
        await install(removable, url=url)
        clock.forward(seconds=1)
    await install(removable, "new")
    assert [installation.saleor_api_url for installation in await removable.all()] == [URL, OTHER]


@every_store
async def test_first_installations_at_once_leave_one_that_is_whole(store: InstallationStore) -> None:
    names = [f"token-{number}" for number in range(8)]
    await asyncio.gather(
        *(install(store, name, app_id=f"app-of-{name}", jwks={"keys": [name]}) for name in names),
        *(bring(store, f"pending-{name}") for name in names),
    )
    found = await find(store)
    assert found.app_id == f"app-of-{found.token}"
    assert found.jwks == {"keys": [found.token]}
