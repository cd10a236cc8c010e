"""The store of installations in a database: what lies in its tables, its keys, and programs that do without it."""

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from cryptography.fernet import Fernet
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlmodel import SQLModel

from integration_base_tests.clock import Clock
from saleor_app_sdk.pending_tokens import MAX_UNPROVEN_INSTALLATIONS
from saleor_app_sdk.sealing import SealedValueError, Sealer, generate_sealing_key
from saleor_app_sdk.sqlmodel_store import SQLModelInstallationStore, metadata
from saleor_app_sdk_tests.installation_store_cases import OTHER, URL, bring, find, install
from saleor_app_sdk_tests.test_installation_stores import engine, in_database, keys, own_postgresql

__all__ = ["engine", "keys", "own_postgresql"]

OLD, NEW = generate_sealing_key(), generate_sealing_key()


def open_store(engine: AsyncEngine, *keys: str) -> SQLModelInstallationStore:
    return SQLModelInstallationStore(engine, keys=keys)


async def read_all(engine: AsyncEngine) -> str:
    async with engine.connect() as connection:
        rows: list[Any] = []
        for table in metadata.sorted_tables:
            rows.extend(await connection.execute(table.select()))
    return repr(rows)


@in_database
async def test_no_token_lies_readable_in_the_database(engine: AsyncEngine) -> None:
    store = open_store(engine, NEW)
    await install(store, "proven-token")
    await bring(store, "pending-token")
    stored = await read_all(engine)
    assert URL in stored
    assert "-token" not in stored


@in_database
async def test_token_moved_to_another_saleor_does_not_open_there(engine: AsyncEngine) -> None:
    store = open_store(engine, NEW)
    await install(store)
    await install(store, url=OTHER)
    async with engine.begin() as connection:
        await connection.execute(
            text(
                "UPDATE saleor_installation SET token_sealed ="
                " (SELECT token_sealed FROM saleor_installation WHERE saleor_api_url = :here)"
            ),
            {"here": URL},
        )
    assert (await find(store)).token == "good"
    with pytest.raises(SealedValueError, match=OTHER):
        await store.find(OTHER)


@in_database
async def test_rotated_key_seals_anew_and_the_old_one_can_go(engine: AsyncEngine) -> None:
    before = open_store(engine, OLD)
    await install(before)
    await bring(before, "pending")
    both = open_store(engine, NEW, OLD)
    await install(both, url=OTHER)
    found = await find(both)
    assert (found.token, found.pending_tokens) == ("good", ("pending",))
    assert await both.reseal() == 2, "the third is sealed with the new key already"
    assert await both.reseal() == 0
    after = open_store(engine, NEW)
    assert [(one.token, one.pending_tokens) for one in await after.all()] == [("good", ("pending",)), ("good", ())]


@in_database
async def test_lost_key_is_an_error_that_a_new_installation_ends(engine: AsyncEngine) -> None:
    await install(open_store(engine, OLD))
    await bring(open_store(engine, OLD), "pending")
    store = open_store(engine, NEW)
    with pytest.raises(SealedValueError, match="no key opens"):
        await store.find(URL)
    with pytest.raises(SealedValueError, match="no key opens"):
        await store.reseal()
    assert await bring(store, "next")
    await store.delete_pending(URL, "next")
    await install(store, "new")
    assert (await find(store)).token == "new"


@pytest.mark.parametrize("wrong", [[], [""], [NEW, "short"], "short"])
def test_store_needs_keys_that_can_seal(wrong: Sequence[str]) -> None:
    engine = create_async_engine("sqlite+aiosqlite://")
    with pytest.raises(ValueError, match="key") as refused:
        SQLModelInstallationStore(engine, keys=wrong)
    assert "short" not in str(refused.value)


def test_one_key_may_be_given_as_text() -> None:
    assert Sealer([NEW]).open(Sealer(NEW).seal("secret", "here"), "here") == "secret"


def test_sealed_value_of_another_program_does_not_open() -> None:
    for foreign in (b"text", b"[1]", b"5"):
        with pytest.raises(SealedValueError):
            Sealer([NEW]).open(Fernet(NEW).encrypt(foreign).decode(), "here")


def test_other_databases_are_refused() -> None:
    class Dialect:
        name = "mysql"

    class Engine:
        dialect = Dialect()

    with pytest.raises(ValueError, match=r"SQLite or PostgreSQL, not in mysql"):
        SQLModelInstallationStore(Engine(), keys=[NEW])  # type: ignore[arg-type] # no driver of it is installed


@pytest.mark.threat("stranger-installs")
@in_database
async def test_saleors_without_a_proven_token_are_only_so_many(engine: AsyncEngine, clock: Clock) -> None:
    store = SQLModelInstallationStore(engine, keys=[NEW], now=clock)
    await install(store)
    await bring(store, "genuine", "https://first.example.com/graphql/")
    clock.forward(hours=1)
    for number in range(MAX_UNPROVEN_INSTALLATIONS + 5):
        clock.forward(seconds=1)
        assert await bring(store, "garbage", f"https://s{number}.example.com/graphql/")
    clock.forward(hours=1)
    await bring(store, "genuine", "https://last.example.com/graphql/")
    await bring(store, "garbage")
    kept = [installation.saleor_api_url for installation in await store.all()]
    assert len(kept) == MAX_UNPROVEN_INSTALLATIONS + 1, "those without a proven token, and one that has one"
    assert {URL, "https://first.example.com/graphql/", "https://last.example.com/graphql/"} <= set(kept)


@in_database
async def test_alembic_finds_no_difference_and_the_apps_own_tables_stay_apart(engine: AsyncEngine) -> None:
    def compare(connection: Connection) -> Any:
        return compare_metadata(MigrationContext.configure(connection), metadata)

    async with engine.connect() as connection:
        assert await connection.run_sync(compare) == []
    assert set(metadata.tables) == {"saleor_installation", "saleor_pending_token"}
    assert not set(metadata.tables) & set(SQLModel.metadata.tables)


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


def test_the_sdk_is_imported_without_a_database() -> None:
    code = (
        "import sys, saleor_app_sdk; [getattr(saleor_app_sdk, name) for name in saleor_app_sdk.__all__];"
        "import saleor_app_sdk.testing; print({'sqlmodel', 'sqlalchemy'} & set(sys.modules))"
    )
    assert run(code).stdout == "set()\n"


@pytest.mark.parametrize("missing", ["sqlmodel", "sqlalchemy"])
def test_missing_extra_is_named(missing: str) -> None:
    ended = run(f"import sys; sys.modules[{missing!r}] = None; import saleor_app_sdk.sqlmodel_store")
    assert ended.returncode == 1
    assert 'pip install "saleor-app-sdk[sqlmodel]"' in ended.stderr.splitlines()[-1]
