"""A connection to SQLite that switches to its thread only once for each statement, and begins transactions itself.

SQLAlchemy uses SQLite through aiosqlite's interface: with one call each to create a cursor, execute, fetch and close;
each of them switches threads, which costs more than the statement itself. Callers here always need all rows at once, so
one switch does it all. A connection here has the methods of aiosqlite's that SQLAlchemy calls, and a thread of its own.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Self, TypeAlias, TypeVar

from app.store.private_files import create_private_database

_PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")

T = TypeVar("T")
Statement: TypeAlias = Callable[[sqlite3.Connection], sqlite3.Cursor]
Result: TypeAlias = tuple[sqlite3.Cursor, list[Any]]


def connect(database: str, **options: Any) -> "Connection":
    """Return a connection, which must be awaited; the options are those of ``sqlite3.connect``."""
    return Connection(partial(_open, database, **options))


def _open(database: str, **options: Any) -> sqlite3.Connection:
    create_private_database(database)
    connection: sqlite3.Connection = sqlite3.connect(database, isolation_level=None, **options)  # BEGIN is issued here
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")
    return connection


class Connection:
    """Takes the write lock with the first statement of each transaction, so that what was read stays true."""

    _connection: sqlite3.Connection

    def __init__(self, connector: Callable[[], sqlite3.Connection]) -> None:
        self._connector = connector
        # Its thread does not keep the process alive, not even if the connection is never closed.
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sqlite")
        self._begun = False  # in the thread
        self._used = False  # in the event loop: since the last transaction ended, whatever the thread has done of it

    def __await__(self) -> Generator[Any, None, Self]:
        return self._opened().__await__()

    async def _opened(self) -> Self:
        self._connection = await self.run(self._connector)
        return self

    async def run(self, job: Callable[[], T]) -> T:
        """Run ``job`` in the thread."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, job)

    async def cursor(self) -> "Cursor":
        """Return a cursor, without switching to the thread."""
        return Cursor(self)

    async def commit(self) -> None:
        """Commit the transaction."""
        await self._end_used(self._connection.commit)

    async def rollback(self) -> None:
        """Roll back the transaction."""
        await self._end_used(self._connection.rollback)

    async def close(self) -> None:
        """Close the connection once its current work is done."""
        await self.run(self._connection.close)
        self._executor.shutdown(wait=False)

    def stop(self) -> None:
        """Close the connection without waiting for it."""
        self._executor.submit(self._connection.close)
        self._executor.shutdown(wait=False)

    async def create_function(self, *function: Any, **options: Any) -> None:
        """Register an SQL function; the arguments are those of ``sqlite3``."""
        await self.run(partial(self._connection.create_function, *function, **options))

    async def do(self, statement: Statement) -> Result:
        """Execute a statement and fetch all its rows. Raises sqlite3.Error."""
        self._used = True
        return await self.run(lambda: self._in_transaction(statement))

    def _in_transaction(self, statement: Statement) -> Result:
        connection = self._connection
        if not self._begun:
            connection.execute("BEGIN IMMEDIATE")
            self._begun = True
        elif not connection.in_transaction:
            # Because of a full disk, for example. Later statements would be committed without the earlier ones.
            raise sqlite3.OperationalError("SQLite has undone this transaction")
        cursor = statement(connection)
        rows = cursor.fetchall()
        cursor.close()
        return cursor, rows

    async def _end_used(self, how: Callable[[], None]) -> None:
        """End the transaction, if there may be one: SQLAlchemy also rolls back each connection that it takes back."""
        if self._used:
            await self.run(lambda: self._end(how))
            self._used = False

    def _end(self, how: Callable[[], None]) -> None:
        how()
        self._begun = False


class Cursor:
    """One statement with all of its results."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._cursor: sqlite3.Cursor | None = None
        self._rows: list[Any] = []

    @property
    def description(self) -> Any:
        """The column descriptions of ``sqlite3``; None where there are no rows to fetch."""
        return None if self._cursor is None else self._cursor.description

    @property
    def rowcount(self) -> int:
        """How many rows were written."""
        return -1 if self._cursor is None else self._cursor.rowcount

    @property
    def lastrowid(self) -> int | None:
        """The id of the row that was inserted last."""
        return None if self._cursor is None else self._cursor.lastrowid

    async def execute(self, sql: str, parameters: Iterable[Any] | None = None) -> Self:
        """Execute a statement and fetch its rows."""
        self._cursor, self._rows = await self._connection.do(
            lambda cursor: cursor.execute(sql, tuple(parameters or ()))
        )
        return self

    async def executemany(self, sql: str, parameters: Iterable[Any]) -> Self:
        """Execute a statement for each set of parameters."""
        self._cursor, self._rows = await self._connection.do(lambda cursor: cursor.executemany(sql, parameters))
        return self

    async def fetchall(self) -> Iterable[Any]:
        """Return the rows."""
        return self._rows

    async def close(self) -> None:
        """Do nothing: the cursor is closed already."""
