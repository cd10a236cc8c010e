"""The SDK's stores of installations, in memory and in a database: each does what every store must."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import make_url
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from integration_base_tests.clock import Clock
from saleor_app_sdk.in_memory import InMemoryInstallationStore
from saleor_app_sdk.sealing import generate_sealing_key
from saleor_app_sdk.sqlmodel_store import SQLModelInstallationStore, create_tables, metadata
from saleor_app_sdk_tests.installation_store_cases import OTHER, URL, InstallationStoreCases, bring, find, install

DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+psycopg"}
Store = InMemoryInstallationStore | SQLModelInstallationStore


@asynccontextmanager
async def open_engine(url: str) -> AsyncIterator[AsyncEngine]:
    """Give an engine as an app of somebody else would make it, with the tables."""
    address = make_url(url)
    kind = address.get_backend_name()
    # On PostgreSQL a level at which concurrent writers fail, unless the store asks for another.
    options = {} if kind == "sqlite" else {"isolation_level": "SERIALIZABLE"}
    engine = create_async_engine(address.set(drivername=DRIVERS[kind]), **options)
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
    if request.param == "memory":
        yield None
        return
    url = f"sqlite:///{tmp_path}/app.sqlite" if request.param == "sqlite" else request.getfixturevalue("own_postgresql")
    async with open_engine(url) as engine:
        yield engine


@pytest.fixture
def keys() -> list[str]:
    return [generate_sealing_key()]


@pytest.fixture
def store(engine: AsyncEngine | None, keys: list[str], clock: Clock) -> Store:
    if engine is None:
        return InMemoryInstallationStore(clock)
    return SQLModelInstallationStore(engine, keys=keys, now=clock)


every_store = pytest.mark.parametrize("engine", ["memory", "sqlite", "postgresql"], indirect=True)
in_database = pytest.mark.parametrize("engine", ["sqlite", "postgresql"], indirect=True)


@every_store
class TestInstallationStores(InstallationStoreCases):
    pass


@every_store
async def test_removed_app_is_forgotten_and_contact_does_not_bring_it_back(store: Store) -> None:
    await install(store)
    await install(store, url=OTHER)
    before = await find(store)
    assert not await store.delete(URL, app_id="QXBwOjI="), "that is another installation"
    assert await store.delete(URL, app_id="QXBwOjE=")
    assert not await store.delete(URL, app_id="QXBwOjE=")
    await store.record_contact(before, "3.22.67")
    assert await store.find(URL) is None
    assert [installation.saleor_api_url for installation in await store.all()] == [OTHER]


@every_store
async def test_removed_app_leaves_the_pending_tokens_of_the_next_installation(store: Store) -> None:
    await install(store)
    await bring(store, "next")
    assert await store.delete(URL, app_id="QXBwOjE=")
    found = await find(store)
    assert (found.verified, found.app_id, found.pending_tokens) == (False, None, ("next",))


@every_store
async def test_all_lists_the_oldest_first(store: Store, clock: Clock) -> None:
    for url in (URL, OTHER):
        await install(store, url=url)
        clock.forward(seconds=1)
    await install(store, "new")
    assert [installation.saleor_api_url for installation in await store.all()] == [URL, OTHER]
