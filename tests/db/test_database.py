"""The one way to use the database: short transactions, on connections that are still there."""

import asyncio
import gc
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch
from warnings import catch_warnings, simplefilter

import pytest
from sqlalchemy import event, make_url, text
from sqlalchemy.exc import IntegrityError, OperationalError

from app.store import database as module
from app.store import sqlite
from app.store.database import Database, Timeouts, create_engine, is_sqlite
from app.store.errors import CommitUnknownError, DatabaseUnavailableError
from app.store.tables import MerchantAccount
from integration_base_tests.waiting import LONGEST_WAIT, unless_it_hangs
from tests.db.rows import a_new_payment, read_raw
from tests.reuse import Engines

ONE = text("SELECT 1")


async def test_a_transaction_reads_what_nobody_changes_meanwhile(database: Database, database_url: str) -> None:
    """On SQLite the lock comes with its first statement, which may be one that only reads."""
    if not is_sqlite(database_url):
        pytest.skip("PostgreSQL locks rows")
    other = sqlite3.connect(database_url.removeprefix("sqlite:///"), timeout=0)
    async with database.transaction() as session:
        await (await session.connection()).execute(ONE)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
    other.close()


@pytest.mark.parametrize("gives_up", [True, False], ids=["given up", "closed"])
async def test_whatever_is_given_up_or_closed_at_any_moment_leaves_no_connection_behind(
    database_url: str, engines: Engines, gives_up: bool
) -> None:
    """Also while it is being connected. A connection that nobody closes warns when it is collected."""

    async def read(database: Database) -> None:
        async with database.transaction() as session:
            await (await session.connection()).execute(ONE)

    gc.freeze()  # what was there before is none of these connections, and takes long to look through
    for steps in range(60):
        before = Database(engines.take(database_url))
        await read(before)
        await before.close()
        database = Database(engines.take(database_url))
        reading = asyncio.create_task(read(database))
        for _ in range(steps):
            await asyncio.sleep(0)
        if gives_up:
            reading.cancel()
        else:
            await database.close()
        await asyncio.gather(reading, return_exceptions=True)
        await database.close()
        del reading
        with catch_warnings(record=True) as warned:
            simplefilter("always")
            gc.collect()
        assert not warned, f"after {steps} steps: {warned[0].message}"


async def test_what_sqlite_has_undone_is_not_committed_in_part(tmp_path: Path) -> None:
    database = Database(create_engine(f"sqlite:///{tmp_path / 'small.sqlite'}"))
    async with database.engine.begin() as connection:
        await connection.execute(text("CREATE TABLE page (text TEXT UNIQUE ON CONFLICT ROLLBACK)"))
        await connection.execute(text("INSERT INTO page VALUES ('one')"))
    async with database.engine.begin() as connection:
        with pytest.raises(IntegrityError):
            await connection.execute(text("INSERT INTO page VALUES ('one')"))
        with pytest.raises(OperationalError, match="undone"):
            await connection.execute(text("INSERT INTO page VALUES ('two')"))
    async with database.engine.begin() as connection:
        assert (await connection.execute(text("SELECT text FROM page"))).scalars().all() == ["one"]
    await database.close()


async def test_sqlite_switches_to_its_thread_once_for_each_statement_and_once_to_end(tmp_path: Path) -> None:
    """Each switch costs as much as a statement. A connection that is given back has nothing left to roll back."""
    database, switches = Database(create_engine(f"sqlite:///{tmp_path / 'small.sqlite'}")), 0
    run = sqlite.Connection.run

    async def count(connection: sqlite.Connection, job: Callable[[], Any]) -> Any:
        nonlocal switches
        switches += 1
        return await run(connection, job)

    async with database.transaction() as session:
        await (await session.connection()).execute(ONE)
    with patch.object(sqlite.Connection, "run", count):
        async with database.transaction() as session:
            await (await session.connection()).execute(ONE)
        assert switches == 2
        with pytest.raises(OperationalError):
            async with database.engine.begin() as connection:
                await connection.execute(text("SELECT nothing"))
        assert switches == 4
    await database.close()


async def test_sqlite_rolls_back_what_its_thread_has_not_begun_yet(tmp_path: Path) -> None:
    """A caller that is cancelled leaves its statement to the thread, which would keep the write lock from then on."""
    path, go_on = tmp_path / "small.sqlite", threading.Event()
    connection = await sqlite.connect(str(path))
    busy = asyncio.ensure_future(connection.run(go_on.wait))
    statement = asyncio.ensure_future(connection.do(lambda cursor: cursor.execute("CREATE TABLE page (text TEXT)")))
    await asyncio.sleep(0)
    ending = asyncio.ensure_future(connection.rollback())
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.gather(busy, statement, ending)
    other = sqlite3.connect(path, timeout=0)
    other.execute("BEGIN IMMEDIATE")
    assert other.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    other.close()
    await connection.close()


async def test_what_breaks_off_before_the_commit_is_undone_for_certain(
    database: Database, account: MerchantAccount
) -> None:
    """Also where the rows are written only at the end of the block: nobody need look whether they are there."""

    def gone(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        if statement.startswith("INSERT"):
            raise OperationalError(statement, {}, ConnectionResetError())

    event.listen(database.engine.sync_engine, "before_cursor_execute", gone)
    try:
        with pytest.raises(DatabaseUnavailableError) as caught:
            async with database.transaction() as session:
                session.add(a_new_payment(account, 1))
    finally:
        event.remove(database.engine.sync_engine, "before_cursor_execute", gone)
    assert not isinstance(caught.value, CommitUnknownError)
    assert await read_raw(database, "SELECT count(*) FROM payment") == [(0,)]


@pytest.mark.fault("database-restarts")
async def test_a_connection_that_the_server_has_closed_is_replaced(
    database: Database, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_sqlite(database_url):
        pytest.skip("SQLite has no server")
    own = text("SELECT pg_backend_pid()")
    async with database.engine.begin() as connection:
        first = (await connection.execute(own)).scalar_one()
    other = create_engine(database_url)
    async with other.begin() as connection:
        await connection.execute(text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": first})
    await other.dispose()
    monkeypatch.setattr(module, "_IDLE_SECONDS", 0)
    async with database.engine.begin() as connection:
        assert (await connection.execute(own)).scalar_one() != first


@pytest.mark.fault("database-restarts")
async def test_a_connection_to_a_server_that_no_longer_accepts_changes_is_replaced(
    database: Database, database_url: str, account: MerchantAccount
) -> None:
    """A primary that has become a standby keeps its connections, and the address already leads to the new primary."""
    if is_sqlite(database_url):
        pytest.skip("SQLite has no server")
    async with database.engine.begin() as connection:
        await connection.execute(text("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY"))
    with pytest.raises(DatabaseUnavailableError):
        async with database.transaction() as session:
            session.add(a_new_payment(account, 1))
    async with database.transaction() as session:
        session.add(a_new_payment(account, 1))
    assert await read_raw(database, "SELECT count(*) FROM payment") == [(1,)]


class TestNothingIsWaitedForWithoutEnd:
    """Whatever the database does not do in time is undone, and raised as something that may pass."""

    @pytest.fixture
    async def hasty(self, database_url: str) -> AsyncIterator[Callable[..., Database]]:
        """Give a function that opens the database with short limits; the others are none on the busiest machine."""
        opened: list[Database] = []
        patient = Timeouts(*[LONGEST_WAIT] * len(fields(Timeouts)))

        def open_with(**limits: float) -> Database:
            timeouts = replace(patient, **limits)
            opened.append(Database(create_engine(database_url, pool_size=1, timeouts=timeouts)))
            return opened[-1]

        yield open_with
        for database in opened:
            await database.close()

    @pytest.fixture(autouse=True)
    async def at_most(self) -> AsyncIterator[None]:
        async with unless_it_hangs():
            yield

    @pytest.mark.fault("database-slow")
    async def test_a_lock_that_somebody_holds(
        self, database: Database, hasty: Callable[..., Database], account: MerchantAccount
    ) -> None:
        await self._wait_for_a_lock(database, hasty(lock=0.1), account)

    @staticmethod
    async def _wait_for_a_lock(database: Database, hasty: Database, account: MerchantAccount) -> None:
        async def lock() -> None:
            async with hasty.transaction() as session:
                await session.get_one(MerchantAccount, account.id, with_for_update=True)

        async with database.transaction() as session:
            await session.get_one(MerchantAccount, account.id, with_for_update=True)
            with pytest.raises(DatabaseUnavailableError, match=r"LockNotAvailable|SQLITE_BUSY"):
                await lock()
        await lock()

    async def test_nor_when_the_first_thing_done_on_a_connection_is_undone(
        self, database: Database, hasty: Callable[..., Database], account: MerchantAccount
    ) -> None:
        """The limits are said once for each connection, and stay."""
        opened = hasty(lock=0.1)
        async with opened.transaction() as session:
            await (await session.connection()).execute(ONE)
            await session.rollback()
        await self._wait_for_a_lock(database, opened, account)

    @pytest.mark.fault("database-slow")
    async def test_a_connection_that_others_have(self, hasty: Callable[..., Database]) -> None:
        opened = hasty(pool=0.1)

        async def hold(number: int) -> None:
            async with opened.transaction() as session:
                await session.connection()
                if number:
                    await hold(number - 1)

        with pytest.raises(DatabaseUnavailableError, match="TimeoutError"):
            await hold(2)

    @pytest.mark.fault("database-slow")
    @pytest.mark.parametrize(
        ("limits", "long", "why"),
        [
            ({"statement": 1}, text("SELECT pg_sleep(3600)"), "QueryCanceled"),
            # A virtual machine that is moved, say.
            ({"idle": 0.5}, None, "IdleInTransactionSessionTimeout|OperationalError"),
        ],
        ids=["a statement", "a process that stands still"],
    )
    async def test_what_goes_on_too_long(
        self, hasty: Callable[..., Database], database_url: str, limits: dict[str, float], long: Any, why: str
    ) -> None:
        if is_sqlite(database_url):
            pytest.skip("SQLite has no server that ends anything")
        opened = hasty(**limits)

        async def work() -> None:
            async with opened.transaction() as session:
                connection = await session.connection()
                await connection.execute(ONE)
                await (asyncio.sleep(1) if long is None else connection.execute(long))
                await connection.execute(ONE)

        with pytest.raises(DatabaseUnavailableError, match=why):
            await work()
        assert await reads(opened)

    @pytest.mark.fault("commit-unknown")
    async def test_the_connection_breaks_in_the_commit(
        self, database: Database, account: MerchantAccount, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        dialect = database.engine.sync_engine.dialect
        commit = dialect.do_commit

        def broken(connection: Any) -> None:
            commit(connection)
            raise dialect.loaded_dbapi.OperationalError("server closed the connection unexpectedly")

        async def write() -> None:
            async with database.transaction() as session:
                session.add(a_new_payment(account, 1))

        monkeypatch.setattr(dialect, "do_commit", broken)
        with pytest.raises(CommitUnknownError):
            await write()
        monkeypatch.undo()
        assert len(await read_raw(database, "SELECT id FROM payment")) == 1

    async def test_what_is_taken_is_no_trouble_of_the_database(
        self, database: Database, account: MerchantAccount
    ) -> None:
        async def write() -> None:
            async with database.transaction() as session:
                session.add_all([a_new_payment(account, 1), a_new_payment(account, 1)])

        with pytest.raises(IntegrityError):
            await write()


async def reads(database: Database) -> bool:
    async with database.transaction() as session:
        return bool((await (await session.connection()).execute(ONE)).scalar_one())


def test_the_folder_of_a_socket_may_stand_where_the_host_stands() -> None:
    assert create_engine("postgresql://me@%2Frun%2Fpostgresql/shop").url.host == "/run/postgresql"


@pytest.mark.parametrize(("timeouts", "limit"), [(Timeouts(), "9s"), (None, "0")])
async def test_a_migration_takes_as_long_as_it_takes(
    new_postgresql: Callable[[], str], timeouts: Timeouts | None, limit: str
) -> None:
    """Only what people wait for is ended; building an index may take minutes, whatever limit the user has."""
    there = make_url(new_postgresql()).update_query_dict({"options": "-c statement_timeout=30s"})
    engine = create_engine(there.render_as_string(hide_password=False), timeouts=timeouts)
    async with engine.connect() as connection:
        assert (await connection.execute(text("SHOW statement_timeout"))).scalar_one() == limit
    await engine.dispose()
