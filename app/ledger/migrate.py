"""Migrations: bring the database to the newest shape, or say how far it is."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from app.ledger.database import create_engine, is_sqlite

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


async def migrate(database_url: str, to: str = "head") -> None:
    """Bring the database forward to a migration, the newest unless another is named.

    Safe to repeat, as every start of the app does on SQLite; on PostgreSQL safe from several processes at once.
    """

    def upgrade(connection: Connection) -> None:
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, to)

    engine = create_engine(database_url, patience=None)
    try:
        async with engine.begin() as connection:
            await connection.run_sync(upgrade)
            if is_sqlite(database_url):
                # Tells SQLite from samples how many rows are behind each index, which PostgreSQL finds out by itself:
                # without it every store is taken for a small one, and all its payments are looked through.
                await connection.exec_driver_sql("PRAGMA analysis_limit=1000")
                await connection.exec_driver_sql("ANALYZE")
    finally:
        await engine.dispose()
