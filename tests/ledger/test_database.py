"""The one way to use the database: short transactions, on connections that are still there."""

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError, OperationalError

from app.ledger import database as module
from app.ledger.database import Database, create_engine, is_sqlite

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
    monkeypatch.setattr(module, "_RESTED_SECONDS", 0)
    async with database.engine.begin() as connection:
        assert (await connection.execute(own)).scalar_one() != first
