"""The migrations make exactly the tables that the program uses, on both databases, once or twice."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection
from sqlmodel import SQLModel

from app.db import tables
from app.db.database import Database
from app.db.migrate import Migrated, current_revision, migrate, newest_revision


async def test_the_migrated_database_has_the_shape_of_the_tables(database: Database) -> None:
    assert tables.Payment.metadata is SQLModel.metadata

    def differences(connection: Connection) -> list[object]:
        context = MigrationContext.configure(connection, opts={"compare_type": False})
        return list(compare_metadata(context, SQLModel.metadata))

    async with database.engine.connect() as connection:
        assert await connection.run_sync(differences) == []


async def test_migrating_twice_changes_nothing(database_url: str) -> None:
    assert await migrate(database_url) == Migrated(newest_revision(), newest_revision(), steps=0)
    assert await current_revision(database_url) == newest_revision() is not None


async def test_an_empty_database_is_brought_to_the_newest_migration(
    tmp_path: Path, new_postgresql: Callable[[], str]
) -> None:
    for url in (f"sqlite:///{tmp_path / 'new.sqlite'}", new_postgresql()):
        done = await migrate(url)
        assert (done.before, done.after) == (None, newest_revision())
        assert done.steps > 0


@pytest.mark.fault("two-versions")
async def test_of_two_processes_that_start_together_one_migrates(new_postgresql: Callable[[], str]) -> None:
    url = new_postgresql()
    program = "import asyncio, sys; from app.db.migrate import migrate; print(asyncio.run(migrate(sys.argv[1])).steps)"
    command = (sys.executable, "-c", program, url)
    both = [await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE) for _ in range(2)]
    steps = [int((await each.communicate())[0]) for each in both]
    assert sorted(each > 0 for each in steps) == [False, True]
    assert await current_revision(url) == newest_revision()
