"""The migrations make exactly the tables that the program uses, on both databases, once or twice."""

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection
from sqlmodel import SQLModel

from app.ledger import tables
from app.ledger.database import Database
from app.ledger.migrate import current_revision, migrate, newest_revision


async def test_the_migrated_database_has_the_shape_of_the_tables(database: Database) -> None:
    assert tables.Payment.metadata is SQLModel.metadata

    def differences(connection: Connection) -> list[object]:
        context = MigrationContext.configure(connection, opts={"compare_type": False})
        return list(compare_metadata(context, SQLModel.metadata))

    async with database.engine.connect() as connection:
        assert await connection.run_sync(differences) == []


async def test_migrating_twice_changes_nothing(database_url: str) -> None:
    await migrate(database_url)
    assert await current_revision(database_url) == newest_revision() is not None
