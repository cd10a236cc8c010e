"""Migrations: bring the database to the newest shape, or say how far it is."""

from dataclasses import dataclass
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext, MigrationInfo
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from app.db.database import create_engine, is_sqlite

_MIGRATIONS = Path(__file__).parent / "migrations"


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    return config


def newest_revision() -> str | None:
    """Return the name of the newest migration that this program knows."""
    return ScriptDirectory.from_config(_config()).get_current_head()


async def current_revision(database_url: str) -> str | None:
    """Return the migration at which the database stands; None for an empty one."""
    engine = create_engine(database_url)
    try:
        async with engine.connect() as connection:
            return await connection.run_sync(lambda sync: MigrationContext.configure(sync).get_current_revision())
    finally:
        await engine.dispose()


@dataclass(frozen=True, slots=True)
class Migrated:
    """From which migration to which the database was brought (None: it was empty), in how many steps: perhaps none."""

    before: str | None
    after: str | None
    steps: int


async def migrate(database_url: str) -> Migrated:
    """Bring the database forward to the newest migration; return what was done.

    Safe to repeat, as every start of the app does on SQLite; on PostgreSQL safe from several processes at once.
    """

    def upgrade(connection: Connection) -> Migrated:
        steps: list[MigrationInfo] = []
        config = _config()
        config.attributes["connection"] = connection
        # Counted where they are made: two processes that start together both see the database as it was before.
        config.attributes["on_version_apply"] = lambda *, step, **_rest: steps.append(step)
        command.upgrade(config, "head")
        after = MigrationContext.configure(connection).get_current_revision()
        before = next(iter(steps[0].source_revision_ids), None) if steps else after
        return Migrated(before, after, len(steps))

    engine = create_engine(database_url, patience=None)
    try:
        async with engine.begin() as connection:
            done = await connection.run_sync(upgrade)
            if is_sqlite(database_url):
                # Tells SQLite from samples how many rows are behind each index, which PostgreSQL finds out by itself:
                # without it every store is taken for a small one, and all its payments are looked through.
                await connection.exec_driver_sql("PRAGMA analysis_limit=1000")
                await connection.exec_driver_sql("ANALYZE")
            return done
    finally:
        await engine.dispose()
