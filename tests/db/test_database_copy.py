"""A database is copied into another: every table, every value, whenever it is interrupted."""

from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import Text, cast, func, select, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlmodel import SQLModel

from app.store import database_copy
from app.store.columns import table_of
from app.store.connection_errors import UnfinishedCopyError
from app.store.database import Database, Timeouts, create_engine
from app.store.database_copy import CopyError, DatabaseCopy, SourceUnavailableError, TableComparison, open_copy
from app.store.migrate import current_revision, migrate, newest_revision
from app.store.processes import SILENT_AFTER, RunningProcess, record_heartbeat
from app.store.tables import ChangedDay
from tests.conftest import MigratedDatabases
from tests.db.filled_tables import fill_every_table
from tests.db.rows import NOON
from tests.postgresql import open_pooler

SOURCE = "where it was"


@pytest.fixture
async def target(other_url: str) -> AsyncIterator[Database]:
    target = Database(create_engine(other_url))
    yield target
    await target.close()


@asynccontextmanager
async def _begun(source: Database, target: Database, batch_size: int = 2) -> AsyncIterator[DatabaseCopy]:
    async with open_copy(source.engine, target.engine) as copy:
        copy.batch_size = batch_size
        await copy.begin(SOURCE, NOON)
        yield copy


async def _copied(source: Database, target: Database) -> list[TableComparison]:
    async with _begun(source, target) as copy:
        await copy.copy()
        return await copy.compare()


async def _all_rows(engine: AsyncEngine) -> dict[str, list[Any]]:
    """Return all rows as the app reads them, and JSON as it is stored as well."""
    found = {}
    async with engine.connect() as connection:
        for table in SQLModel.metadata.sorted_tables:
            query = select(table, *(cast(column, Text) for column in table.c if str(column.type) == "JSON"))
            found[table.name] = sorted(map(tuple, (await connection.execute(query)).all()), key=repr)
    return found


async def test_every_value_of_every_table_is_the_same_afterwards(database: Database, target: Database) -> None:
    await fill_every_table(database)
    compared = await _copied(database, target)
    here, there = await _all_rows(database.engine), await _all_rows(target.engine)
    assert there == here
    assert {len(rows) for rows in here.values()} == {4}
    assert [comparison.name for comparison in compared] == [table.name for table in SQLModel.metadata.sorted_tables]
    assert all(table.is_equal and table.rows == (4, 4) for table in compared)
    (payment,) = [comparison for comparison in compared if comparison.name == "payment"]
    total = sum(Decimal("90071992547409.93") + number for number in range(4))
    assert payment.sums["amount"] == (total, total)


async def test_new_rows_get_new_ids(database: Database, target: Database) -> None:
    await fill_every_table(database)
    await _copied(database, target)
    newest = select(func.max(table_of(ChangedDay).c.id))
    async with target.transaction() as session:
        last = (await session.exec(newest)).scalar_one()  # type: ignore[call-overload] # of a table, not of a model
        row = ChangedDay(account_id="account", day=NOON.date())
        session.add(row)
        await session.flush()
        assert row.id == last + 1


async def test_an_empty_database_is_copied_too(database: Database, target: Database) -> None:
    assert all(comparison.is_equal and comparison.rows == (0, 0) for comparison in await _copied(database, target))
    async with target.transaction() as session:
        row = ChangedDay(account_id="account", day=NOON.date())
        session.add(row)
        await session.flush()
        assert row.id == 1


class _Killed(BaseException):
    """The process ends here."""


async def test_a_copy_continues_wherever_it_was_killed(
    database: Database, target: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed again and again, each time a few transactions later, and goes on from what was there."""
    await fill_every_table(database)
    left = 0
    begin = AsyncEngine.begin

    def counted(engine: AsyncEngine) -> Any:
        nonlocal left
        if engine is target.engine:
            left -= 1
            if left < 0:
                raise _Killed
        return begin(engine)

    monkeypatch.setattr(AsyncEngine, "begin", counted)
    for deaths in range(1000):
        left = 1 + 5 * deaths
        try:
            async with _begun(database, target, batch_size=3) as copy:
                await copy.copy()
                compared = await copy.compare()
                await copy.finish()
            break
        except _Killed:
            continue
    assert deaths >= 10
    assert all(comparison.is_equal for comparison in compared)
    assert await _all_rows(target.engine) == await _all_rows(database.engine)


async def test_nobody_works_with_a_copy_before_it_is_compared(
    database: Database, target: Database, other_url: str
) -> None:
    async with _begun(database, target) as copy:
        with pytest.raises(UnfinishedCopyError, match=f"unfinished copy of {SOURCE}"):
            await current_revision(other_url)
        with pytest.raises(UnfinishedCopyError):
            await migrate(other_url)
        assert await current_revision(other_url, for_copy=True) == newest_revision()
        await copy.finish()
    assert await current_revision(other_url) == newest_revision()


async def test_what_the_target_holds_is_never_mixed_with_something_else(database: Database, target: Database) -> None:
    await fill_every_table(target)
    with pytest.raises(CopyError, match="the target is not empty"):
        await _copied(database, target)


async def test_a_copy_of_another_source_is_not_continued(database: Database, target: Database) -> None:
    async with open_copy(database.engine, target.engine) as copy:
        assert not await copy.begin("another", NOON)
        assert await copy.begin("another", NOON)
        with pytest.raises(CopyError, match="unfinished copy of another, not of where it was"):
            await copy.begin(SOURCE, NOON)


async def test_what_changed_between_two_attempts_is_noticed(database: Database, target: Database) -> None:
    await fill_every_table(database)
    await _copied(database, target)
    await _execute(database, "UPDATE payment SET amount = amount + 1 WHERE id = 1007")
    with pytest.raises(CopyError, match="rows of payment have changed since they were copied"):
        await _copied(database, target)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("UPDATE payment SET amount = amount + 1 WHERE id = 1007", {"payment": 1}),
        ("UPDATE payment SET language = 'uk' WHERE id IN (1007, 3007)", {"payment": 2}),
        ("DELETE FROM split_share WHERE id = 2007", {"split_share": 1}),
        ("INSERT INTO changed_day (account_id, day) VALUES ('a', '2026-01-01')", {"changed_day": 0}),
    ],
)
async def test_every_difference_is_told(
    database: Database, target: Database, change: str, told: dict[str, int]
) -> None:
    await fill_every_table(database)
    async with _begun(database, target) as copy:
        await copy.copy()
        await _execute(target, change)
        compared = await copy.compare()
    assert {comparison.name: comparison.differing for comparison in compared if not comparison.is_equal} == told


async def test_a_running_app_is_not_copied(database: Database, target: Database) -> None:
    process = RunningProcess("1.0", serves=True, works=False, host="shop-1", pid=4711)
    async with database.transaction() as session:
        await record_heartbeat(session, process, NOON)
    async with open_copy(database.engine, target.engine) as copy:
        with pytest.raises(CopyError, match=r"the app is running \(process 4711 on shop-1\): stop it"):
            await copy.require_stopped(NOON + timedelta(seconds=20))
        await copy.require_stopped(NOON + SILENT_AFTER)


async def test_nobody_writes_to_the_source_meanwhile(database: Database, database_url: str, target: Database) -> None:
    await fill_every_table(database)
    somebody = create_engine(database_url, timeouts=Timeouts(lock=0.1))
    async with open_copy(database.engine, target.engine):
        with pytest.raises(OperationalError):
            async with somebody.begin() as connection:
                await connection.execute(text("UPDATE payment SET language = 'uk'"))
    await somebody.dispose()


async def test_a_source_that_somebody_writes_to_is_not_copied(
    database: Database, database_url: str, target: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill_every_table(database)
    monkeypatch.setattr(database_copy, "TIMEOUTS", Timeouts(lock=0.1))
    engine = create_engine(database_url, timeouts=Timeouts(lock=0.1))
    async with database.transaction() as session:
        await session.exec(text("UPDATE payment SET language = 'uk'"))  # type: ignore[call-overload] # it is plain SQL
        with pytest.raises(SourceUnavailableError):
            async with open_copy(engine, target.engine):
                pass
    await engine.dispose()


async def test_tables_are_read_in_batches(
    database: Database, target: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill_every_table(database)
    sizes = []
    read = DatabaseCopy._read

    async def counted(copy: DatabaseCopy, query: Any) -> Any:
        rows = await read(copy, query)
        sizes.append(len(rows))
        return rows

    monkeypatch.setattr(DatabaseCopy, "_read", counted)
    await _copied(database, target)
    assert max(sizes) == 2


async def _execute(database: Database, statement: str) -> None:
    async with database.engine.begin() as connection:
        await connection.execute(text(statement))


@pytest.fixture(params=["directly", "through a pooler"])
async def two_servers(
    request: pytest.FixtureRequest, migrated: MigratedDatabases, new_postgresql: Callable[[], str]
) -> AsyncIterator[tuple[Database, Database]]:
    """Two migrated databases of PostgreSQL, or the addresses of PgBouncer in front of each."""
    urls = [await migrated.postgresql(new_postgresql), new_postgresql()]
    await migrate(urls[1])
    with ExitStack() as ending:
        if request.param == "through a pooler":
            urls = [ending.enter_context(open_pooler(url, connections=1)).url for url in urls]
        source, target = [Database(create_engine(url, pool_size=1, timeouts=None)) for url in urls]
        yield source, target
        await source.close()
        await target.close()


async def test_a_server_moves_to_another_also_behind_a_pooler(two_servers: tuple[Database, Database]) -> None:
    source, target = two_servers
    await fill_every_table(source)
    async with _begun(source, target) as copy:
        await copy.copy()
        compared = await copy.compare()
        await copy.finish()
    assert all(table.is_equal and table.rows == (4, 4) for table in compared)
    assert await _all_rows(target.engine) == await _all_rows(source.engine)
    async with target.transaction() as session:
        row = ChangedDay(account_id="account", day=NOON.date())
        session.add(row)
        await session.flush()
        assert row.id is not None
        assert row.id > 1000
