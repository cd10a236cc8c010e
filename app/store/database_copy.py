"""Copies everything from one database into another, empty one with the same tables: from SQLite to PostgreSQL, or back.

Values are copied as they are stored: hundredths, texts of enums, JSON as text, sealed values. So nothing is rounded,
parsed or opened on the way, and the copy can be compared with its source value by value.

For the whole copy, one transaction keeps everybody from writing to the source. A batch of rows is one transaction in
the target, which stays marked as unfinished until the comparison has found no difference. A copy that was killed
begins again at the first table, and leaves out rows that are there already.

Errors: ``CopyError``, whose message says what to do, and SQLAlchemy's for the target.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any

from sqlalchemy import (
    JSON,
    Column,
    ColumnElement,
    Enum,
    MetaData,
    String,
    Table,
    Text,
    cast,
    func,
    insert,
    select,
    tuple_,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.types import TypeDecorator, TypeEngine, UserDefinedType
from sqlmodel import SQLModel
from sqlmodel.ext.asyncio.session import AsyncSession

from app.store import unfinished_copy
from app.store.columns import Amount, FineAmount, Moment
from app.store.database import TIMEOUTS
from app.store.processes import SILENT_AFTER, all_processes

BATCH_SIZE = 500
"""Rows that are read at once, and written in one transaction."""

_ANEW = "create the target anew, migrate it, and copy again"


class CopyError(Exception):
    """The copy is not possible, or not as it is. The message says what to do."""


class SourceUnavailableError(CopyError):
    """The source could not be read; ``error`` is the database's own."""

    def __init__(self, error: DBAPIError) -> None:
        super().__init__(f"the source could not be read ({type(error.orig).__name__})")
        self.error = error


@dataclass(slots=True)
class CopyProgress:
    """How far a copy is: what is done, with which table, and how many rows are done; each counts in both steps."""

    step: str = ""
    table: str = ""
    rows: int = 0
    total: int | None = None


@dataclass(frozen=True, slots=True)
class TableComparison:
    """A table in both databases: how many rows each has, and the sums of its amounts; source first.

    ``differing``: how many rows of the source the target lacks, or has with another value.
    """

    name: str
    rows: tuple[int, int]
    sums: Mapping[str, tuple[Decimal, Decimal]]
    differing: int

    @property
    def is_equal(self) -> bool:
        """True when there is no difference."""
        source, target = self.rows
        return source == target and not self.differing and all(ours == theirs for ours, theirs in self.sums.values())


class _JsonText(UserDefinedType[str]):
    """JSON as its text: parsed and written again, a number or a missing value might be another."""

    cache_ok = True

    def get_col_spec(self, **_options: Any) -> str:
        return "JSON"

    def column_expression(self, column: ColumnElement[Any]) -> ColumnElement[Any]:
        return cast(column, Text)


def _stored_type(declared: TypeEngine[Any]) -> TypeEngine[Any]:
    """Return the type of the stored value itself, which needs no conversion."""
    match declared:
        case Moment():
            return declared  # SQLite stores it without its zone
        case JSON():
            return _JsonText()
        case Enum():
            return String()
        case TypeDecorator():
            return declared.impl_instance
        case _:
            return declared


@cache
def _stored_values_of(table: Table) -> Table:
    """Return a table of the same name and columns, whose values are those that are stored."""
    columns = (
        Column(column.name, _stored_type(column.type), primary_key=column.primary_key, autoincrement=False)
        for column in table.c
    )
    return Table(table.name, MetaData(), *columns)


@dataclass(slots=True)
class DatabaseCopy:
    """One copy; both databases are at the same migration. Create it with ``open_copy``."""

    source: AsyncConnection
    target: AsyncEngine
    progress: CopyProgress = field(default_factory=CopyProgress)
    batch_size: int = BATCH_SIZE
    tables: Sequence[Table] = field(default_factory=lambda: SQLModel.metadata.sorted_tables)
    """All tables; those that others refer to come first."""

    async def require_stopped(self, now: datetime) -> None:
        """Raise CopyError if a process of the app was seen on the source a moment ago."""
        async with AsyncSession(self.source) as session:
            running = [process for process in await all_processes(session) if process.seen_at > now - SILENT_AFTER]
        if running:
            names = ", ".join(f"process {process.pid} on {process.host}" for process in running)
            raise CopyError(
                f"the app is running ({names}): stop it, and copy then; after a process was killed, wait "
                f"{SILENT_AFTER.total_seconds():.0f} seconds"
            )

    async def begin(self, source: str, now: datetime) -> bool:
        """Mark the target as unfinished; ``source`` is the place of the source. Return True if it is so already.

        Raises CopyError for a target that holds anything else.
        """
        async with self.target.begin() as connection:
            copied = await connection.run_sync(unfinished_copy.find_source)
            if copied is not None:
                if copied != source:
                    raise CopyError(f"the target holds an unfinished copy of {copied}, not of {source}: {_ANEW}")
                return True
            for table in self.tables:
                if await _has_rows(connection, table):
                    raise CopyError(
                        f"the target is not empty (there are rows in {table.name}): choose a database of which nothing "
                        "is used yet"
                    )
            await connection.run_sync(unfinished_copy.mark_unfinished, source, now)
        return False

    async def copy(self) -> None:
        """Copy all rows that the target lacks. Raises CopyError if the source has changed one since it was copied."""
        counts = [(await self._read(select(func.count()).select_from(table)))[0][0] for table in self.tables]
        self.progress.step, self.progress.total = "Copying", 2 * sum(counts)  # each row is copied, then compared
        for table in self.tables:
            stored = _stored_values_of(table)
            async with self.target.connect() as connection:
                has_rows = await _has_rows(connection, table)
            async for rows in self._batches(stored):
                async with self._begin_batch() as connection:
                    present = await _find(connection, stored, rows) if has_rows else {}
                    if any(present.get(key, row) != row for key, row in rows.items()):
                        raise CopyError(f"rows of {table.name} have changed since they were copied: {_ANEW}")
                    missing = [row for key, row in rows.items() if key not in present]
                    if missing:
                        await connection.execute(
                            insert(stored), [dict(zip(stored.c.keys(), row, strict=True)) for row in missing]
                        )
        await self._set_sequences()

    async def compare(self) -> list[TableComparison]:
        """Return how the tables compare: counts and sums as each database computes them, and every value."""
        self.progress.step = "Comparing"
        compared = []
        for table in self.tables:
            stored, differing = _stored_values_of(table), 0
            async with self.target.connect() as connection:
                async for rows in self._batches(stored):
                    present = await _find(connection, stored, rows)
                    differing += sum(present.get(key) != row for key, row in rows.items())
                theirs = (await connection.execute(_totals(table))).one()
            ours = (await self._read(_totals(table)))[0]
            pairs = zip(_money_of(table), ours[1:], theirs[1:], strict=True)
            sums = {column.name: (mine or Decimal(), other or Decimal()) for column, mine, other in pairs}
            compared.append(TableComparison(table.name, (ours[0], theirs[0]), sums, differing))
        return compared

    async def finish(self) -> None:
        """Remove the mark: the app may use the target."""
        async with self.target.begin() as connection:
            await connection.run_sync(unfinished_copy.mark_finished)

    @asynccontextmanager
    async def _begin_batch(self) -> AsyncIterator[AsyncConnection]:
        """Yield a transaction in the target whose commit does not wait for PostgreSQL's disk.

        If the server crashes, rows that were committed last may be missing, and the target is still marked as
        unfinished: the mark is removed by a commit that waits, and takes all before it to the disk.
        """
        async with self.target.begin() as connection:
            if connection.dialect.name == "postgresql":
                await connection.exec_driver_sql("SET LOCAL synchronous_commit = off")
            yield connection

    async def _batches(self, stored: Table) -> AsyncIterator[Mapping[Any, Any]]:
        """Yield all rows of the source by primary key, some at a time."""
        self.progress.table = stored.name
        key = _key(stored)
        query = select(stored).order_by(*stored.primary_key).limit(self.batch_size)
        following = query
        while rows := _by_key(stored, await self._read(following)):
            yield rows
            self.progress.rows += len(rows)
            last = tuple_(*list(rows)[-1], types=[column.type for column in stored.primary_key])
            following = query.where(key > last)

    async def _read(self, query: Any) -> Sequence[Any]:
        try:
            return (await self.source.execute(query)).all()
        except DBAPIError as exc:
            raise SourceUnavailableError(exc) from exc

    async def _set_sequences(self) -> None:
        """Let PostgreSQL number new rows after those that were copied; SQLite does so by itself.

        It also counts the rows now, as it does by itself only after a while, so that its first plans are good.
        """
        if self.target.dialect.name != "postgresql":
            return
        async with self.target.begin() as connection:
            for table in self.tables:
                column = table.autoincrement_column
                if column is not None:
                    sequence, last = func.pg_get_serial_sequence(table.name, column.name), func.max(column)
                    await connection.execute(select(func.setval(sequence, func.coalesce(last, 1), last.is_not(None))))
                await connection.exec_driver_sql(f"ANALYZE {table.name}")


@asynccontextmanager
async def open_copy(source: AsyncEngine, target: AsyncEngine) -> AsyncIterator[DatabaseCopy]:
    """Yield a copy that is to be made; until the end of the block nobody can write to the source.

    Raises SourceUnavailableError, for example while somebody else is writing.
    """
    async with AsyncExitStack() as stack:
        try:
            connection = await stack.enter_async_context(source.connect())
            copy = DatabaseCopy(connection, target)
            await _lock(connection, copy.tables)
        except DBAPIError as exc:
            raise SourceUnavailableError(exc) from exc
        yield copy


async def _lock(connection: AsyncConnection, tables: Sequence[Table]) -> None:
    """Keep others from writing; they can read. SQLite's transactions do so from their first statement on."""
    if connection.dialect.name == "postgresql":
        names = ", ".join(table.name for table in tables)
        await connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(TIMEOUTS.lock * 1000)}")
        await connection.exec_driver_sql(f"LOCK TABLE {names} IN SHARE MODE")
    else:
        await connection.execute(select(1))


def _key(stored: Table) -> Any:
    return tuple_(*stored.primary_key)


def _by_key(stored: Table, rows: Sequence[Any]) -> dict[Any, Any]:
    places = [index for index, column in enumerate(stored.c) if column.primary_key]
    return {tuple(row[place] for place in places): tuple(row) for row in rows}


async def _find(connection: AsyncConnection, stored: Table, rows: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return those of the rows that this database has, by primary key."""
    query = select(stored).where(_key(stored).in_(list(rows)))
    return _by_key(stored, (await connection.execute(query)).all())


async def _has_rows(connection: AsyncConnection, table: Table) -> bool:
    return (await connection.execute(select(1).select_from(table).limit(1))).first() is not None


def _money_of(table: Table) -> list[Column[Any]]:
    return [column for column in table.c if isinstance(column.type, Amount | FineAmount)]


def _totals(table: Table) -> Any:
    """Return the query of the number of rows and the sum of each column of amounts."""
    return select(func.count(), *(func.sum(column) for column in _money_of(table))).select_from(table)
