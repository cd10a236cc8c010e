"""A container is asked whether its worker works; it can only say yes where one was seen just now."""

from datetime import timedelta

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
    said.failed("the database does not respond, or was not migrated")
    assert "hunter2" not in said.err


@one_database
async def test_no_database_is_made_by_asking(shell: Shell, services: Services, database_url: str) -> None:
    (await shell("alive", APP_DATABASE_URL=f"{database_url}.not-there")).failed("there is no database yet")
