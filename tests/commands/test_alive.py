"""A container is asked whether its worker works; it can only say yes where one was seen just now."""

from datetime import timedelta
from pathlib import Path

import pytest

from app.bootstrap import utc_now
from app.services import Services
from app.store.processes import SILENT_AFTER, RunningProcess, record_heartbeat, this_host
from tests.commands.conftest import Shell, one_database

HERE = RunningProcess("1.0", serves=False, works=True)


async def seen(services: Services, process: RunningProcess, ago: timedelta = timedelta()) -> None:
    async with services.database.transaction() as session:
        await record_heartbeat(session, process, utc_now() - ago)


async def test_a_worker_that_was_seen_is_alive(shell: Shell, services: Services) -> None:
    (await shell("alive")).failed(f"no worker on {this_host()} was seen in the last 75 seconds")
    await seen(services, HERE)
    said = await shell("alive")
    assert (said.status, said.out, said.err) == (0, f"A worker on {this_host()} is running.\n", "")


@pytest.mark.fault("no-worker")
@pytest.mark.parametrize(
    ("process", "ago"),
    [
        (HERE, SILENT_AFTER + timedelta(seconds=1)),
        (RunningProcess("1.0", serves=False, works=True, host="another"), timedelta()),
        (RunningProcess("1.0", serves=True, works=False), timedelta()),
    ],
    ids=["silent", "elsewhere", "only serves"],
)
async def test_no_other_is(shell: Shell, services: Services, process: RunningProcess, ago: timedelta) -> None:
    await seen(services, process, ago)
    assert (await shell("alive")).status == 1


@pytest.mark.fault("no-worker")
async def test_where_the_database_is_away_nobody_is_called_alive(shell: Shell) -> None:
    there_is_none = {"APP_DATABASE_URL": "postgresql://nobody:hunter2@127.0.0.1:9/none"}
    said = await shell("alive", **there_is_none)
    said.failed("APP_DATABASE_URL: no server is listening at 127.0.0.1:9: is it running?")
    assert "hunter2" not in said.err


@one_database
async def test_no_database_is_made_by_asking(shell: Shell, services: Services, database_url: str) -> None:
    (await shell("alive", APP_DATABASE_URL=f"{database_url}.not-there")).failed("there is no database yet")


@one_database
async def test_where_the_database_cannot_be_used_nobody_is_told_to_migrate_it(shell: Shell, tmp_path: Path) -> None:
    """They would, in another user's folder or beside a damaged file, and it would not help."""
    (tmp_path / "folder.sqlite").mkdir()
    (tmp_path / "letter.sqlite").write_text("Dear customer, this is a letter and no database at all.")
    said = await shell("alive", APP_DATABASE_URL=f"sqlite:///{tmp_path}/folder.sqlite")
    said.failed("folder.sqlite cannot be opened: does its folder exist, and may this user write to it?")
    said = await shell("alive", APP_DATABASE_URL=f"sqlite:///{tmp_path}/letter.sqlite")
    said.failed("letter.sqlite is not an SQLite database")


@one_database
async def test_only_where_it_helps_one_is_told_to_migrate(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "empty.sqlite").touch()
    said = await shell("alive", APP_DATABASE_URL=f"sqlite:///{tmp_path}/empty.sqlite")
    said.failed("the database is at revision none")
    assert "run `saleor-gateway migrate`" in said.err
