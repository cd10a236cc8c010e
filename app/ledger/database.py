"""The engine and the one way to use it: a short transaction, never held across a call to anybody.

SQLite: write-ahead log, every commit on disk (``synchronous=FULL``), and one connection, so that writers queue in this
process in order instead of failing against each other. Each transaction takes the write lock at its start: what it has
read stays true until it commits. PostgreSQL: a pool; rows that a decision rests on are
locked by the queries. Errors of either do not quote what was to be written: it names shoppers.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy import event, make_url
from sqlalchemy.engine import URL, Connection
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlmodel.ext.asyncio.session import AsyncSession

_SQLITE_BUSY_SECONDS = 15


def async_url(database_url: str) -> URL:
    """Return the address with the asynchronous driver that we use. Raises ValueError for another database."""
    url = make_url(database_url)
    match url.get_backend_name():
        case "sqlite":
            return url.set(drivername="sqlite+aiosqlite")
        case "postgresql" | "postgres":
            return url.set(drivername="postgresql+psycopg")
        case other:
            raise ValueError(f"{other!r} is neither sqlite nor postgresql")


def is_sqlite(database_url: str) -> bool:
    """Return True when the address names an SQLite file."""
    return async_url(database_url).get_backend_name() == "sqlite"


def create_engine(database_url: str, *, pool_size: int = 10) -> AsyncEngine:
    """Return the engine for ``database_url``; nothing is connected yet. Raises ValueError."""
    url = async_url(database_url)
    if url.get_backend_name() != "sqlite":
        return create_async_engine(
            url, pool_size=pool_size, max_overflow=pool_size, pool_pre_ping=True, hide_parameters=True
        )
    engine = create_async_engine(
        url,
        pool_size=1,
        max_overflow=0,
        pool_timeout=60,
        hide_parameters=True,
        connect_args={"timeout": _SQLITE_BUSY_SECONDS},
    )
    event.listen(engine.sync_engine, "connect", _prepare_sqlite)
    event.listen(engine.sync_engine, "begin", _begin_immediately)
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # BEGIN is ours to say: see _begin_immediately
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_immediately(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


class Database:
    """The process's one engine, and transactions over it."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncSession]:
        """Give a session whose work is committed at the end, or undone if the block raises.

        Rows stay readable after the commit. Never nest it: on SQLite the inner one would wait for the outer for ever.
        """
        async with AsyncSession(self.engine, expire_on_commit=False) as session, session.begin():
            yield session

    async def close(self) -> None:
        """Close all connections."""
        await self.engine.dispose()
