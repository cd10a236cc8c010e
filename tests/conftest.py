"""What every test can use: databases of both kinds, a clock that moves only when a test moves it."""

import asyncio
import gc
import os
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import count
from pathlib import Path
from secrets import token_hex
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import httpcore2
import psycopg
import pytest
import structlog
import uvicorn.server
import uvloop
from cryptography.hazmat.primitives.asymmetric import rsa
from httpx2._config import DEFAULT_TIMEOUT_CONFIG
from hypothesis import HealthCheck, settings
from joserfc._rfc7518 import rsa_key
from playwright.async_api import Browser
from psycopg import sql
from sqlalchemy import make_url
from sqlmodel import SQLModel
from structlog.dev import ConsoleRenderer, plain_traceback

from app.store.database import Database, is_sqlite
from app.store.migrate import migrate
from app.store.vault import KEY_BYTES, Vault
from integration_base import telemetry
from tests import browsing
from tests.database_turns import alternate_databases
from tests.fork_server import ForkServer, open_fork_server
from tests.memory import folder_in_memory
from tests.reuse import Connections, Engines, reuse_connections, reuse_engines
from tests.suites import choose_sample, mark_tooling
from tests.waiting import LONGEST_WAIT

# How long one example takes says more about the machine than about the code. Where the checks must be complete, the
# same examples are tried in every run: a failure there is never luck.
settings.register_profile(
    "steady",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("steady")

POSTGRESQL = os.environ.get("TEST_DATABASE_URL", "postgresql://postgres@127.0.0.1:5432/postgres")
REPOSITORY = Path(__file__).parent.parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--sample", type=float, metavar="SECONDS", help="of the long tests, run what takes so long")
    parser.addoption("--sample-seed", default="", metavar="TEXT", help="which of them: CI gives the commit")


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Give tests the loop that serves the app. The tests of a process share one loop, and so one browser."""
    return {"uvloop": _new_event_loop}


def _new_event_loop() -> asyncio.AbstractEventLoop:
    """Return a loop on which a test's time limit ends the test.

    pytest-timeout raises in a signal handler, which uvloop runs as a callback: it would only log what that raises.
    SystemExit is the exception that it lets through, and that pytest takes for a failure of the test.
    """
    loop = uvloop.new_event_loop()

    def end_test(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, pytest.fail.Exception):
            raise SystemExit(error.msg) from error
        loop.default_exception_handler(context)

    loop.set_exception_handler(end_test)
    return loop


def pytest_collection(session: pytest.Session) -> None:
    """Turn garbage collection off while tests are collected: they all stay."""
    gc.disable()
    _collect_from_a_place_of_its_own(session.config)


def _collect_from_a_place_of_its_own(config: pytest.Config) -> None:
    """Let each of several processes begin with different tests: modules that one has compiled, the others only load."""
    worker = getattr(config, "workerinput", None)
    if worker is None or config.args != config.getini("testpaths"):
        return
    places = sorted(str(path) for path in (REPOSITORY / "tests").glob("[a-z]*"))
    first = len(places) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    config.args = places[first:] + places[:first]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run some tests on one kind of database now, and on the other in the long campaigns, of which CI runs a sample.

    All processes need the same order, wherever each began; pytest then groups tests that share fixtures.
    """
    items.sort(key=lambda item: item.path.relative_to(REPOSITORY).parts[:2])
    mark_tooling(items)
    if postgresql_answers():
        alternate_databases(items)
    _leave_out_of_sample(config, items)


def _leave_out_of_sample(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep only as many of the long tests as were asked for: without a number, all."""
    seconds, seed = config.getoption("--sample"), config.getoption("--sample-seed")
    if seconds is None:
        return
    long = {item.nodeid for item in items if item.get_closest_marker("long")}
    left_out = long - choose_sample(long, seconds, seed)
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
    items[:] = [item for item in items if item.nodeid not in left_out]


def pytest_collection_finish() -> None:
    """Exclude the collected tests from garbage collection, and collect a hundred times less often."""
    gc.enable()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)


def postgresql_answers() -> bool:
    """Whether there is a server for the tests that run on each kind of database."""
    try:
        _server().close()
    except psycopg.OperationalError:
        return False
    return True


def _server() -> "psycopg.Connection[tuple[object, ...]]":
    plain = make_url(POSTGRESQL).set(drivername="postgresql").render_as_string(hide_password=False)
    return psycopg.connect(plain, autocommit=True, connect_timeout=20)


def missing(what: str) -> None:
    """Skip a test that needs ``what``, with that reason; where the checks must be complete (CI), fail instead."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing, and nothing may be skipped here")
    pytest.skip(f"{what} is missing")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print one line for each reason for which tests were skipped: pytest prints one for each test."""
    reports = [*terminalreporter.stats.get("skipped", ())]
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in reports)
    for reason, number in reasons.most_common():
        terminalreporter.write_line(f"SKIPPED {number} {'test' if number == 1 else 'tests'}: {reason}")


class Clock:
    """A clock that stands still until a test moves it."""

    def __init__(self, now: datetime = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **span: float) -> datetime:
        """Move the clock, for example ``forward(minutes=5)``."""
        self.now += timedelta(**span)
        return self.now


@pytest.fixture(autouse=True)
def unwatched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the step listeners of earlier tests: logs and metrics belong to the whole process."""
    monkeypatch.setattr(telemetry, "_listeners", ())


@pytest.fixture(autouse=True)
async def alone() -> AsyncIterator[None]:
    """Cancel what a test has started, so that it does not continue in the next one, which has the same loop."""
    before = asyncio.all_tasks()
    yield
    left = asyncio.all_tasks() - before - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def vault() -> Vault:
    return Vault([b"\x07" * KEY_BYTES])


@pytest.fixture(scope="session")
def worker_name() -> str:
    return os.environ.get("PYTEST_XDIST_WORKER", "alone")


@pytest.fixture(scope="session")
def new_postgresql(worker_name: str) -> Iterator[Callable[[], str]]:
    """Give a function that creates an empty database on the running server and returns its address."""
    address = make_url(POSTGRESQL)
    try:
        server = _server()
    except psycopg.OperationalError as exc:
        missing(f"a PostgreSQL server at TEST_DATABASE_URL ({address.host}:{address.port}: {type(exc).__name__})")
        raise
    made: list[str] = []

    def create() -> str:
        # What tests on another machine, or killed ones, have made on this server is in nobody's way.
        name = f"saleor_gateway_test_{os.getpid()}_{worker_name}_{len(made)}_{token_hex(4)}"
        server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        made.append(name)
        # The app may be killed, the server is not: a commit need not wait for the disk.
        server.execute(sql.SQL("ALTER DATABASE {} SET synchronous_commit = off").format(sql.Identifier(name)))
        return address.set(database=name).render_as_string(hide_password=False)

    yield create
    for name in made:
        server.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
    server.close()


class MigratedDatabases:
    """Databases at the newest migration: created once, handed out empty."""

    def __init__(self, folder: Path, connections: Connections) -> None:
        self._folder = folder
        self._connections = connections
        self._sqlite: Path | None = None
        self._postgresql: str | None = None
        self._cleaning: psycopg.Connection[tuple[object, ...]] | None = None

    async def sqlite(self, place: Path | None = None) -> str:
        """Return a new file in ``place``, or the one that every test finds at the same address."""
        place = place or self._folder
        if self._sqlite is None:
            self._sqlite = self._folder / "migrated.sqlite"
            await migrate(f"sqlite:///{self._sqlite}")
        for left in place.glob("payments.sqlite*"):  # a process that still has it open keeps its own copy
            left.unlink()
        shutil.copy(self._sqlite, place / "payments.sqlite")
        return f"sqlite:///{place / 'payments.sqlite'}"

    async def postgresql(self, create: Callable[[], str]) -> str:
        if self._postgresql is None or self._cleaning is None:
            self._postgresql = create()
            await migrate(self._postgresql)
            self._connections.reuse_connections_to(self._postgresql)
            plain = make_url(self._postgresql).set(drivername="postgresql").render_as_string(hide_password=False)
            self._cleaning = psycopg.connect(plain, autocommit=True)
            return self._postgresql
        # TRUNCATE creates new files for every table: a hundred times slower than this.
        tables = [sql.Identifier(table.name) for table in reversed(SQLModel.metadata.sorted_tables)]
        empty = sql.SQL(" ").join(sql.SQL("DELETE FROM {};").format(table) for table in tables)
        numbers = sql.SQL("SELECT setval(oid::regclass, 1, false) FROM pg_class WHERE relkind = 'S'")
        mark = sql.SQL("DROP TABLE IF EXISTS unfinished_copy;")
        self._cleaning.execute(mark + empty + numbers)
        return self._postgresql

    def close(self) -> None:
        if self._cleaning is not None:
            self._cleaning.close()


@pytest.fixture(scope="session")
def migrated() -> Iterator[MigratedDatabases]:
    with folder_in_memory() as folder, reuse_connections() as connections:
        databases = MigratedDatabases(folder, connections)
        yield databases
        databases.close()


@pytest.fixture(params=["sqlite", "postgresql"])
async def database_url(request: pytest.FixtureRequest, migrated: MigratedDatabases) -> str:
    """The address of an empty, migrated database: the test runs once on each kind."""
    if request.param == "sqlite":
        return await migrated.sqlite()
    return await migrated.postgresql(request.getfixturevalue("new_postgresql"))


@pytest.fixture
async def other_url(
    request: pytest.FixtureRequest, database_url: str, migrated: MigratedDatabases, tmp_path: Path
) -> str:
    """The address of an empty, migrated database of the other kind than ``database_url``."""
    if is_sqlite(database_url):
        return await migrated.postgresql(request.getfixturevalue("new_postgresql"))
    return await migrated.sqlite(tmp_path)


@pytest.fixture(scope="session", autouse=True)
def _servers_end_at_once() -> Iterator[None]:
    """Let uvicorn check for shutdown and for closed connections more often than every 0.1 s."""

    async def shortly(seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.005))

    with patch.object(uvicorn.server, "asyncio", SimpleNamespace(**(vars(asyncio) | {"sleep": shortly}))):
        yield


@pytest.fixture(scope="session", autouse=True)
def _clients_wait_long_enough() -> Iterator[None]:
    """Let HTTP clients that name no time-out wait until something hangs, instead of 5 s."""
    with patch.multiple(
        DEFAULT_TIMEOUT_CONFIG, connect=LONGEST_WAIT, read=LONGEST_WAIT, write=LONGEST_WAIT, pool=LONGEST_WAIT
    ):
        yield


@pytest.fixture(scope="session", autouse=True)
def _certificates_are_read_once() -> Iterator[None]:
    """Read the CA certificates once: each client would load them in 20 ms, and tests create thousands."""
    with patch.object(httpcore2, "default_ssl_context", cache(httpcore2.default_ssl_context)):
        yield


@pytest.fixture(scope="session", autouse=True)
def _logged_errors_are_plain() -> None:
    """Log exceptions as Python prints them: structlog would colour the source code of each step, in 50 ms."""
    [renderer] = [each for each in structlog.get_config()["processors"] if isinstance(each, ConsoleRenderer)]
    renderer.exception_formatter = plain_traceback


@pytest.fixture(scope="session", autouse=True)
def _rsa_keys_are_taken_by_turns() -> Iterator[None]:
    """Reuse a dozen RSA keys: each played Saleor and each card store would generate its own in 50 ms."""
    make, made, turns = rsa.generate_private_key, dict[tuple[int, int, int], rsa.RSAPrivateKey](), count()

    def take(public_exponent: int, key_size: int) -> rsa.RSAPrivateKey:
        name = (next(turns) % 12, public_exponent, key_size)
        if name not in made:
            made[name] = make(public_exponent, key_size)
        return made[name]

    with patch.object(rsa, "generate_private_key", take), patch.object(rsa_key, "generate_private_key", take):
        yield


@pytest.fixture(scope="session")
def fork_server(tmp_path_factory: pytest.TempPathFactory, worker_name: str) -> Iterator[ForkServer]:
    """Start the processes of tests quickly. tests/commands show that a terminal starts them too."""
    own = tmp_path_factory.getbasetemp()
    with open_fork_server(own if worker_name == "alone" else own.parent) as server:
        yield server


@pytest.fixture(scope="session", autouse=True)
def engines() -> Iterator[Engines]:
    with reuse_engines() as engines:
        yield engines


@pytest.fixture(scope="session")
async def chromium() -> AsyncIterator[Browser]:
    try:
        async with browsing.chromium() as chromium:
            yield chromium
    except FileNotFoundError as exc:
        missing(str(exc))


@pytest.fixture
async def browser(chromium: Browser) -> AsyncIterator[Browser]:
    """Yield the browser of this test process, which takes a second of processor time to start, without open pages."""
    yield chromium
    for context in list(chromium.contexts):
        await context.close()


@pytest.fixture
async def database(database_url: str, engines: Engines) -> AsyncIterator[Database]:
    database = Database(engines.take(database_url))
    yield database
    await database.close()
    engines.give_back(database.engine)
