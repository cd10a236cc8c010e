"""A connection to SQLite that goes to its thread once for each statement, and begins a transaction on the way.

aiosqlite goes there for a cursor, to execute, to fetch and to close; each time two threads change places, which costs
more than the statement itself. Whoever asks here always wants all rows at once, so one trip does it all.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import Any, TypeAlias, TypeVar

import aiosqlite
from aiosqlite.context import contextmanager

from app.ledger.private_files import make_private_database

_PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")
_ROWS_AT_ONCE = 64

T = TypeVar("T")
Statement: TypeAlias = Callable[[sqlite3.Connection], sqlite3.Cursor]
Done: TypeAlias = tuple[sqlite3.Cursor, list[Any]]


def connect(database: str, **options: Any) -> "Connection":
    """Return a connection to be awaited; the options are those of ``sqlite3.connect``."""
    return Connection(partial(_open, database, **options))


def _open(database: str, **options: Any) -> sqlite3.Connection:
    make_private_database(database)
    connection: sqlite3.Connection = sqlite3.connect(database, isolation_level=None, **options)  # BEGIN is ours to say
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")
    return connection


class Connection(aiosqlite.Connection):
    """Takes the write lock with the first statement of each transaction, so that what was read stays true."""

    def __init__(self, connector: Callable[[], sqlite3.Connection]) -> None:
        super().__init__(connector, iter_chunk_size=_ROWS_AT_ONCE)
        self._thread.daemon = True  # a connection that nobody closed holds up nobody's end
        self._begun = False
        self._ended: asyncio.Future[Any] | None = None

    def __await__(self) -> Generator[Any, None, aiosqlite.Connection]:
        """Connect. Raises sqlite3.Error, once the thread has ended: it would tell a loop that is closed by then."""
        try:
            yield from super().__await__()
        except Exception:
            if self._ended is not None:
                yield from self._ended
            raise
        return self

    def stop(self) -> "asyncio.Future[Any] | None":
        """End the thread; return what is done when it has ended."""
        self._ended = super().stop()
        return self._ended

    @contextmanager
    async def cursor(self) -> aiosqlite.Cursor:
        """Return a cursor, without going anywhere."""
        return Cursor(self)

    async def commit(self) -> None:
        """Commit the transaction."""
        await self._trip(lambda: self._end(self._conn.commit))

    async def rollback(self) -> None:
        """Undo the transaction."""
        await self._trip(lambda: self._end(self._conn.rollback))

    async def do(self, statement: Statement) -> Done:
        """Execute a statement and fetch all its rows. Raises sqlite3.Error."""
        return await self._trip(lambda: self._in_transaction(statement))

    async def _trip(self, job: Callable[[], T]) -> T:
        done: T = await self._execute(job)  # type: ignore[no-untyped-call] # aiosqlite does not say
        return done

    def _in_transaction(self, statement: Statement) -> Done:
        connection = self._conn
        if not self._begun:
            connection.execute("BEGIN IMMEDIATE")
            self._begun = True
        elif not connection.in_transaction:
            # A full disk, say. What follows would be committed without what came before.
            raise sqlite3.OperationalError("SQLite has undone this transaction")
        cursor = statement(connection)
        rows = cursor.fetchall()
        cursor.close()
        return cursor, rows

    def _end(self, how: Callable[[], None]) -> None:
        how()
        self._begun = False


class Cursor(aiosqlite.Cursor):
    """One statement with all that came of it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._rows: list[Any] = []

    async def execute(self, sql: str, parameters: Iterable[Any] | None = None) -> "Cursor":
        """Execute a statement and fetch its rows."""
        self._cursor, self._rows = await self._connection.do(lambda each: each.execute(sql, tuple(parameters or ())))
        return self

    async def executemany(self, sql: str, parameters: Iterable[Any]) -> "Cursor":
        """Execute a statement for each set of parameters."""
        self._cursor, self._rows = await self._connection.do(lambda each: each.executemany(sql, parameters))
        return self

    async def fetchall(self) -> Iterable[Any]:
        """Return the rows."""
        return self._rows

    async def close(self) -> None:
        """Nothing is open any more."""
