"""Migrations: bring the database to the newest schema, or report how far it is.

An update replaces one process after the other, so the older program works with the newer database for a while. The name
of a migration states which programs can: ``0005.0003`` is the fifth, and a program that knows the third works with it,
since only what the third program no longer uses has been removed. A name without a dot is that of a migration that no
older program works with.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext, MigrationInfo
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, PrimaryKeyConstraint, Table, UniqueConstraint

from app.store import tables, unfinished_copy
from app.store.connection_errors import (
    EncodingError,
    NoChangesError,
    NoRightsError,
    NoSchemaError,
    UnfinishedCopyError,
    UnfinishedRestoreError,
    server_of,
)
from app.store.database import create_engine, is_sqlite

_MIGRATIONS = Path(__file__).parent / "migrations"
_LOCK_SECONDS = 10
"""How long a migration waits for a lock on a table: later queries, also for shoppers, queue behind it."""

_NAME = re.compile(r"(?P<number>\d{4})(?:\.(?P<works_from>\d{4}))?")


class Fit(Enum):
    """How a database and this program fit together."""

    EMPTY = auto()
    BEHIND = auto()  # it must be migrated first
    CURRENT = auto()
    AHEAD = auto()  # a newer program has migrated it, and this one still works with it
    FOREIGN = auto()  # migrated too far, or by something else

    @property
    def works(self) -> bool:
        """True when this program works with the database as it is."""
        return self in {Fit.CURRENT, Fit.AHEAD}


@dataclass(frozen=True, slots=True)
class Revision:
    """The parsed name of a migration: its number, and the oldest program that works with it."""

    number: int
    works_from: int

    @classmethod
    def parse(cls, name: str) -> "Revision | None":
        """Return the parsed name; None if it is not the name of one of our migrations."""
        found = _NAME.fullmatch(name)
        if found is None:
            return None
        return cls(int(found["number"]), int(found["works_from"] or found["number"]))


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    return config


@cache
def newest_revision() -> str:
    """Return the name of the newest migration that this program knows."""
    newest = ScriptDirectory.from_config(_config()).get_current_head()
    assert newest is not None  # noqa: S101 - there is a first one
    return newest


def fit_of(revision: str | None) -> Fit:
    """Return how a database at that ``revision`` fits this program; ``revision`` None: it is empty."""
    if revision is None:
        return Fit.EMPTY
    if revision == newest_revision():
        return Fit.CURRENT
    stands_at, known = Revision.parse(revision), Revision.parse(newest_revision())
    if stands_at is None or known is None:
        return Fit.FOREIGN
    if stands_at.number < known.number:
        return Fit.BEHIND
    return Fit.AHEAD if stands_at.number > known.number >= stands_at.works_from else Fit.FOREIGN


_SEARCH_PATH = """
    SELECT current_schema() IS NOT NULL OR EXISTS (
        SELECT FROM pg_namespace, unnest(string_to_array(current_setting('search_path'), ',')) AS named
        WHERE nspname = replace(btrim(named, ' "'), '$user', current_user)
    ), current_user, current_database(), current_setting('search_path')
"""  # whether any schema of it exists, and what to say if none does


async def current_revision(database_url: str, *, for_copy: bool = False, to_write: bool = False) -> str | None:
    """Return the current migration of the database; None for an empty one.

    Raises UnusableDatabaseError for one that cannot hold all names, whose tables this user may not see, or into which
    another is being copied. ``for_copy``: that copy may go on. ``to_write``: nor may it be one that only reads.
    """

    def read(connection: Connection) -> str | None:
        _require_utf8(connection)
        _require_schema(connection)
        if not for_copy:
            _require_complete(connection)
        if to_write:
            _require_changes(connection)
        revision = MigrationContext.configure(connection).get_current_revision()
        _require_restored(connection, revision)
        return revision

    engine = create_engine(database_url)
    try:
        async with engine.connect() as connection:
            return await connection.run_sync(read)
    finally:
        await engine.dispose()


def _require_utf8(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
        if encoding != "UTF8":
            raise EncodingError(encoding)


def _require_existing_schema(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        exists, *named = connection.exec_driver_sql(_SEARCH_PATH).one()
        if not exists:
            raise NoSchemaError(*named)


def _require_schema(connection: Connection) -> None:
    _require_existing_schema(connection)
    if connection.dialect.name == "postgresql":
        query = "SELECT current_schema(), current_user, current_database()"
        schema, user, name = connection.exec_driver_sql(query).one()
        if schema is None:
            raise NoRightsError(user, name)


def _require_changes(connection: Connection) -> None:
    if connection.dialect.name != "postgresql":
        return
    if connection.exec_driver_sql("SHOW transaction_read_only").scalar_one() == "on":
        raise NoChangesError(server_of(connection.engine.url))


def _require_complete(connection: Connection) -> None:
    source = unfinished_copy.find_source(connection)
    if source is not None:
        raise UnfinishedCopyError(source)


_UNIQUE_INDEXES = """
    SELECT relname, count(*) FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
    WHERE indisunique AND pg_table_is_visible(indrelid) GROUP BY relname
"""


def _require_restored(connection: Connection, revision: str | None) -> None:
    """Raise UnfinishedRestoreError where pg_restore was killed: it makes keys and unique indexes after all rows.

    A payment of which there is no row would be begun again, and without them twice. SQLite's own file is damaged then.
    """
    if connection.dialect.name != "postgresql" or fit_of(revision) is not Fit.CURRENT:
        return
    found = dict(connection.exec_driver_sql(_UNIQUE_INDEXES).tuples().all())
    incomplete = [
        table.name for table in tables.Payment.metadata.sorted_tables if found.get(table.name, 0) < _uniques_of(table)
    ]
    if incomplete:
        raise UnfinishedRestoreError(incomplete)


def _uniques_of(table: Table) -> int:
    """Return how many unique indexes a table has; its key is one."""
    constraints = sum(
        isinstance(constraint, PrimaryKeyConstraint | UniqueConstraint) for constraint in table.constraints
    )
    return constraints + sum(index.unique for index in table.indexes)


@dataclass(frozen=True, slots=True)
class MigrationResult:
    """The database's migration before (None: it was empty) and after, and the number of steps, which may be zero."""

    before: str | None
    after: str | None
    steps: int


async def migrate(database_url: str) -> MigrationResult:
    """Upgrade the database to the newest migration; return what was done.

    Nothing is done if a newer program has migrated it already and this one works with the result. Safe to repeat, as
    every start of the app does on SQLite; on PostgreSQL safe from several processes at once. Raises CommandError (of
    Alembic) for a database that this program does not know, UnusableDatabaseError for one that cannot hold all names
    or has no schema for the tables, or into which another is being copied.
    """

    def upgrade(connection: Connection) -> MigrationResult:
        _require_utf8(connection)
        _require_existing_schema(connection)
        _require_complete(connection)
        stood_at = MigrationContext.configure(connection).get_current_revision()
        if fit_of(stood_at) is Fit.AHEAD:
            return MigrationResult(stood_at, stood_at, 0)
        steps: list[MigrationInfo] = []
        config = _config()
        config.attributes["connection"] = connection
        config.attributes["lock_seconds"] = _LOCK_SECONDS
        # Counted as they are applied: two processes that start together both see the database as it was before.
        config.attributes["on_version_apply"] = lambda *, step, **_rest: steps.append(step)
        command.upgrade(config, "head")
        after = MigrationContext.configure(connection).get_current_revision()
        _require_restored(connection, after)
        before = next(iter(steps[0].source_revision_ids), None) if steps else after
        return MigrationResult(before, after, len(steps))

    engine = create_engine(database_url, timeouts=None)
    try:
        async with engine.begin() as connection:
            done = await connection.run_sync(upgrade)
            if is_sqlite(database_url):
                # Lets SQLite estimate from samples how many rows each index has, as PostgreSQL does by itself: without
                # this it assumes that every store is small, and scans all its payments.
                await connection.exec_driver_sql("PRAGMA analysis_limit=1000")
                await connection.exec_driver_sql("ANALYZE")
            return done
    finally:
        await engine.dispose()
