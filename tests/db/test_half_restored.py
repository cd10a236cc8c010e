"""A restore of a backup that was killed: the tables are there, and not all rows, keys and unique indexes."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from app.store.connection_errors import UnfinishedRestoreError
from app.store.migrate import current_revision, migrate, newest_revision
from tests.postgresql import program

_PLAIN_INDEX = """
    SELECT relname FROM pg_class JOIN pg_index ON indexrelid = oid WHERE NOT indisunique AND relname LIKE 'ix_%'
"""


def _plain(url: str) -> str:
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


def _run(name: str, *words: str) -> None:
    subprocess.run([program(name, "postgresql-client"), *words], check=True)


@pytest.fixture
async def dump(tmp_path: Path, new_postgresql: Callable[[], str]) -> Path:
    """Return a backup, as docs/operators/backups.md makes it."""
    url, file = new_postgresql(), tmp_path / "payments.dump"
    await migrate(url)
    _run("pg_dump", "--format=custom", f"--file={file}", _plain(url))
    return file


@pytest.fixture
def restore(dump: Path, new_postgresql: Callable[[], str]) -> Callable[..., str]:
    """Return what restores these sections of the backup into a new database, and returns its address."""

    def run(*sections: str) -> str:
        url = new_postgresql()
        named = [f"--section={section}" for section in sections]
        _run("pg_restore", "--no-owner", "--exit-on-error", *named, f"--dbname={_plain(url)}", str(dump))
        return url

    return run


@pytest.mark.long
@pytest.mark.fault("backup-restored")
@pytest.mark.law(1, 2, 4)
async def test_nobody_works_with_a_backup_of_which_a_part_was_restored(restore: Callable[..., str]) -> None:
    """pg_restore makes keys and unique indexes last, after all rows: where they are missing, it was killed."""
    url = restore("pre-data", "data")
    for work in (current_revision, migrate):
        with pytest.raises(UnfinishedRestoreError, match="a part of a backup"):
            await work(url)


@pytest.mark.long
@pytest.mark.fault("backup-restored")
async def test_a_restore_that_was_killed_at_its_last_unique_index_is_noticed(restore: Callable[..., str]) -> None:
    url = restore("pre-data", "data", "post-data")
    assert await current_revision(url) == newest_revision()
    with psycopg.connect(_plain(url), autocommit=True) as connection:
        connection.execute("DROP INDEX ix_problem_of_payment")
    with pytest.raises(UnfinishedRestoreError, match="problem"):
        await current_revision(url)


@pytest.mark.long
async def test_an_index_that_an_administrator_dropped_for_speed_stops_nobody(restore: Callable[..., str]) -> None:
    url = restore("pre-data", "data", "post-data")
    with psycopg.connect(_plain(url), autocommit=True) as connection:
        (name,) = connection.execute(_PLAIN_INDEX).fetchone() or ("",)
        connection.execute(f"DROP INDEX {name}".encode())
    assert await current_revision(url) == newest_revision()
