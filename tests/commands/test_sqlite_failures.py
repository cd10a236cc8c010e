"""SQLite's failures, made by SQLite itself: what a command says of each, what the web answers and what is logged."""

import resource
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from sqlalchemy import event
from sqlalchemy.pool import Pool
from structlog.testing import capture_logs

from app.main import create_app
from app.settings import Settings
from app.store.connection_errors import sqlite_file
from app.store.tables import MerchantAccount
from integration_base_tests.loopback import serve_app
from tests.commands.conftest import KEYS, Shell, one_database
from tests.payments.fake_gateway import payment
from tests.payments.shop import signed_notification

_MB = 1_000_000


class Pragma:
    """Said in every connection before each use of it, also in those that are open."""

    statement = "PRAGMA user_version"

    def __call__(self, connection: Any, *_: object) -> None:
        """Say it, as a listener."""
        connection.cursor().execute(self.statement)

    @contextmanager
    def set_to(self, name: str, value: int, value_afterwards: int) -> Iterator[None]:
        self.statement = f"PRAGMA {name} = {value}"
        try:
            yield
        finally:
            self.statement = f"PRAGMA {name} = {value_afterwards}"


@pytest.fixture
def pragma() -> Iterator[Pragma]:
    pragma = Pragma()
    event.listen(Pool, "checkout", pragma)
    yield pragma
    event.remove(Pool, "checkout", pragma)


_HEAVY = """
CREATE TABLE ballast (weight BLOB);
CREATE TRIGGER heavy_route BEFORE INSERT ON channel_route BEGIN INSERT INTO ballast VALUES (zeroblob(10000000)); END;
CREATE TRIGGER heavy_notice BEFORE INSERT ON notification BEGIN INSERT INTO ballast VALUES (zeroblob(10000000)); END;
"""
_LIGHT = "DROP TRIGGER heavy_route; DROP TRIGGER heavy_notice;"


@contextmanager
def heavy_rows(database_url: str) -> Iterator[int]:
    """Let the rows that these tests store take 10 MB more; yield the pages of the database before."""
    with closing(sqlite3.connect(sqlite_file(database_url))) as connection:
        connection.executescript(_HEAVY)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        try:
            yield pages
        finally:
            connection.executescript(_LIGHT)


@contextmanager
def full(database_url: str, pragma: Pragma) -> Iterator[None]:
    """Give SQLite no page more than it has."""
    with heavy_rows(database_url) as pages, pragma.set_to("max_page_count", pages, 2**30):
        yield


@contextmanager
def limited(database_url: str, _pragma: Pragma) -> Iterator[None]:
    """Let no file of this process grow, as a quota does: for SQLite that is an error of the disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with heavy_rows(database_url):
        resource.setrlimit(resource.RLIMIT_FSIZE, (8 * _MB, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def read_only(_database_url: str, pragma: Pragma) -> Iterator[None]:
    with pragma.set_to("query_only", 1, 0):
        yield


@contextmanager
def locked(database_url: str, _pragma: Pragma) -> Iterator[None]:
    """Let another process write for longer than anybody waits."""
    with closing(sqlite3.connect(sqlite_file(database_url))) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield


@dataclass(frozen=True)
class Failure:
    """One of SQLite's failures, and what comes of it."""

    breaks: Callable[[str, Pragma], AbstractContextManager[None]]
    name: str
    sentence: str
    status: int = 1
    start: str = "nothing was changed"
    line: str = "database.lost"
    requests: int = 3


FAILURES = [
    Failure(full, "SQLITE_FULL", "the disk with {file} is full: free some space there"),
    Failure(
        limited,
        "SQLITE_IOERR_WRITE",
        "the disk with {file} is full or does not work: free some space there, or check it",
    ),
    Failure(read_only, "SQLITE_READONLY", "this user may not write to {file}"),
    Failure(
        locked,
        "SQLITE_BUSY",
        "another process is writing to {file}: try again",
        # Before anything else a command looks at the revision, for which it takes the lock.
        status=2,
        start="APP_DATABASE_URL",
        line="database.not_reached",
        requests=1,  # each waits for five seconds
    ),
]
each_failure = pytest.mark.parametrize("failure", FAILURES, ids=[failure.name for failure in FAILURES])


@one_database
@each_failure
@pytest.mark.fault("disk-full", "database-slow")
async def test_a_command_names_the_failure_and_what_to_do(
    shell: Shell, settings: Settings, account: MerchantAccount, pragma: Pragma, *, failure: Failure
) -> None:
    with failure.breaks(settings.database, pragma):
        said = await shell("channels", "map", "default-channel", account.id)
    assert (said.status, said.out) == (failure.status, "")
    sentence = failure.sentence.format(file=sqlite_file(settings.database))
    assert said.err.splitlines()[-1] == f"error: {failure.start}: {sentence}"
    assert "Traceback" not in said.err
    assert (await shell("channels", "list", "--json")).json == []
    assert (await shell("channels", "map", "default-channel", account.id)).status == 0


@one_database
@each_failure
@pytest.mark.fault("disk-full", "database-slow")
async def test_the_web_says_503_and_logs_a_line_with_the_name_of_the_failure(
    settings: Settings, account: MerchantAccount, pragma: Pragma, *, failure: Failure
) -> None:
    """A failure that lasts is told once, however many requests meet it."""
    notification = signed_notification(payment("c0ffee"), KEYS["GATEWAY_API_SECRET"])
    app = create_app(settings.model_copy(update={"worker": False}))
    async with (
        serve_app(app, lifespan="on") as url,
        httpx2.AsyncClient(trust_env=False) as http,
    ):
        webhook = f"{url}/api/webhooks/gateway/{account.id}"
        assert (await http.get(f"{url}/readyz")).status_code == 200
        with capture_logs() as logs, failure.breaks(settings.database, pragma):
            answers = [await http.post(webhook, content=notification) for _ in range(failure.requests)]
        assert {(answer.status_code, answer.headers["Retry-After"]) for answer in answers} == {(503, "10")}
        # The process's heartbeat may meet the failure too, in the background.
        told = [log for log in logs if log["log_level"] != "info" and log["event"] != "heartbeat.not_written"]
        error = f"the database did not complete the request ({failure.name})"
        assert told == [{"event": failure.line, "error": error, "log_level": "error"}]
        assert (await http.post(webhook, content=notification)).status_code == 200
