"""The migrations make exactly the tables that the program uses, on both databases, once or twice."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError
from sqlmodel import SQLModel

from app.store import migrate as migrations
from app.store import tables
from app.store.aggregates import ORDERS, POLLS
from app.store.connection_errors import describe_connection_error
from app.store.database import Database, create_engine
from app.store.inbox import NOTIFICATIONS
from app.store.migrate import Fit, MigrationResult, Revision, current_revision, fit_of, migrate, newest_revision
from app.store.outbox import EVENTS
from tests.db.revisions import stand_at
from tests.journeys.next_version import REVISION, next_migrations


async def test_the_migrated_database_has_the_shape_of_the_tables(database: Database) -> None:
    assert tables.Payment.metadata is SQLModel.metadata

    def differences(connection: Connection) -> list[object]:
        context = MigrationContext.configure(connection, opts={"compare_type": False})
        return list(compare_metadata(context, SQLModel.metadata))

    async with database.engine.connect() as connection:
        assert await connection.run_sync(differences) == []


async def test_migrating_twice_changes_nothing(database_url: str) -> None:
    assert await migrate(database_url) == MigrationResult(newest_revision(), newest_revision(), steps=0)
    assert await current_revision(database_url) == newest_revision() is not None


async def test_an_empty_database_is_brought_to_the_newest_migration(
    tmp_path: Path, new_postgresql: Callable[[], str]
) -> None:
    for url in (f"sqlite:///{tmp_path / 'new.sqlite'}", new_postgresql()):
        done = await migrate(url)
        assert (done.before, done.after) == (None, newest_revision())
        assert done.steps > 0


@pytest.mark.parametrize(
    ("revision", "fit"),
    [
        (None, Fit.EMPTY),
        ("0004", Fit.BEHIND),
        ("0004.0001", Fit.BEHIND),
        ("0005.0003", Fit.CURRENT),
        ("0006.0003", Fit.AHEAD),
        ("0006.0005", Fit.AHEAD),
        ("0007.0006", Fit.FOREIGN),
        ("0006", Fit.FOREIGN),
        ("0005.0004", Fit.FOREIGN),
        ("another program's", Fit.FOREIGN),
        ("", Fit.FOREIGN),
    ],
)
def test_the_name_of_a_migration_says_which_programs_work_with_it(
    revision: str | None, fit: Fit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "newest_revision", lambda: "0005.0003")
    assert fit_of(revision) is fit
    assert fit.works is (fit in {Fit.CURRENT, Fit.AHEAD})


def test_every_migration_has_such_a_name_and_none_lets_older_programs_in_again() -> None:
    script = ScriptDirectory.from_config(migrations._config())
    names = [revision.revision for revision in reversed(list(script.walk_revisions()))]
    parsed = [Revision.parse(name) for name in names]
    assert [revision and revision.number for revision in parsed] == list(range(1, len(names) + 1))
    works_from = [revision.works_from for revision in parsed if revision]
    assert works_from == sorted(works_from)
    assert all(revision.works_from <= revision.number for revision in parsed if revision)


@pytest.mark.fault("two-versions")
async def test_a_database_that_a_newer_program_has_migrated_is_left_as_it_is(database_url: str) -> None:
    await stand_at(database_url, "0999.0001")
    try:
        assert await migrate(database_url) == MigrationResult("0999.0001", "0999.0001", steps=0)
        await stand_at(database_url, "0999.0998")
        with pytest.raises(CommandError):
            await migrate(database_url)
        assert await current_revision(database_url) == "0999.0998"
    finally:
        await stand_at(database_url, newest_revision())


async def test_a_migration_does_not_make_everybody_wait_behind_somebody_who_reads_for_long(
    tmp_path: Path, new_postgresql: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_postgresql()
    await migrate(url)
    before = newest_revision()
    monkeypatch.setattr(migrations, "_MIGRATIONS", next_migrations(tmp_path))
    monkeypatch.setattr(migrations, "_LOCK_SECONDS", 0.1)
    reader = create_engine(url)
    async with reader.begin() as reading:
        await reading.execute(text("SELECT count(*) FROM payment"))
        with pytest.raises(DBAPIError) as caught:
            await migrate(url)
    await reader.dispose()
    assert "what was needed was in use for too long" in describe_connection_error(url, caught.value)
    assert await migrate(url) == MigrationResult(before, REVISION, steps=1)


@pytest.mark.fault("two-versions")
async def test_of_two_processes_that_start_together_one_migrates(new_postgresql: Callable[[], str]) -> None:
    url = new_postgresql()
    program = (
        "import asyncio, sys; from app.store.migrate import migrate; print(asyncio.run(migrate(sys.argv[1])).steps)"
    )
    command = (sys.executable, "-c", program, url)
    both = [await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE) for _ in range(2)]
    steps = [int((await process.communicate())[0]) for process in both]
    assert sorted(step > 0 for step in steps) == [False, True]
    assert await current_revision(url) == newest_revision()


async def test_postgresql_cleans_up_behind_the_work_before_it_holds_up_what_follows(
    new_postgresql: Callable[[], str],
) -> None:
    """What was done leaves a dead entry at the front of its queue, which all who look for work step over.

    By its usual setting PostgreSQL lets a fifth of the table change first, and leaves few entries in the indexes.
    """
    url = new_postgresql()
    await migrate(url)
    engine = create_engine(url)
    async with engine.connect() as connection:
        rows = await connection.execute(
            text("SELECT relname, reloptions FROM pg_class WHERE relkind = 'r' AND reloptions IS NOT NULL")
        )
        options = {name: set(chosen) for name, chosen in rows}
    await engine.dispose()
    flows_through = {job_queue.table.__tablename__ for job_queue in (NOTIFICATIONS, EVENTS, POLLS, ORDERS)}
    early = {"autovacuum_vacuum_scale_factor=0.01", "vacuum_index_cleanup=on"}
    assert options == dict.fromkeys(flows_through, early)
