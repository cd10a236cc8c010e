"""What the tests of the app can use beside what those of every house can: migrated databases of both kinds."""

import shutil
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url
from sqlmodel import SQLModel

from app.store.database import Database, is_sqlite
from app.store.migrate import migrate
from app.store.vault import KEY_BYTES, Vault
from integration_base_tests.clock import Clock  # noqa: F401 -- scripts that play a case import it from here
from integration_base_tests.places import REPOSITORY
from integration_base_tests.postgresql import postgresql_answers
from tests.database_turns import alternate_databases
from tests.fork_server import ForkServer, open_fork_server
from tests.memory import folder_in_memory
from tests.postgresql import Program, open_tls_server
from tests.reuse import Connections, Engines, reuse_connections, reuse_engines
from tests.suites import changed_houses, choose_sample, house_of, mark_tooling, put_first


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--sample", type=float, metavar="SECONDS", help="of the long tests, run what takes so long")
    parser.addoption("--sample-seed", default="", metavar="TEXT", help="which of them: CI gives the commit")
    parser.addoption("--since", default="", metavar="COMMIT", help="run first the tests of houses changed since then")


def pytest_collection(session: pytest.Session) -> None:
    """Let each of several processes begin with different tests: modules that one has compiled, the others only load."""
    config = session.config
    worker = getattr(config, "workerinput", None)
    if worker is None or not set(config.args) <= set(config.getini("testpaths")):
        return
    whole = tuple(str(REPOSITORY / path) for path in config.args)
    found = (*REPOSITORY.glob("tests/[a-z]*"), *REPOSITORY.glob("packages/*/tests"))
    places = sorted(str(path) for path in found if str(path).startswith(whole))
    first = len(places) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    config.args = places[first:] + places[:first]


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, None, None]:
    """Run some tests on one kind of database now, and on the other in the long campaigns, of which CI runs a sample.

    All processes need the same order, wherever each began; pytest then groups tests that share fixtures.
    """
    items.sort(key=lambda item: item.path.relative_to(REPOSITORY).parts[:2])
    mark_tooling(items)
    # Which test runs which lines is seen on SQLite: all cases must be told there, also those whose turn is the other's.
    if postgresql_answers() and not config.pluginmanager.has_plugin("tests.mutations.reach"):
        alternate_databases(items)
    _leave_out_of_sample(config, items)
    yield
    if since := config.getoption("--since"):
        houses = changed_houses(REPOSITORY, since)
        workers: int = getattr(config, "workerinput", {"workercount": 1})["workercount"]
        items[:] = put_first(items, lambda item: house_of(item.nodeid) in houses, workers)


def _leave_out_of_sample(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep only as many of the long tests as were asked for: without a number, all."""
    seconds, seed = config.getoption("--sample"), config.getoption("--sample-seed")
    if seconds is None:
        return
    long = {item.nodeid for item in items if item.get_closest_marker("long")}
    left_out = long - choose_sample(long, seconds, seed)
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
    items[:] = [item for item in items if item.nodeid not in left_out]


@pytest.fixture
def vault() -> Vault:
    return Vault([b"\x07" * KEY_BYTES])


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


@pytest.fixture
async def database(database_url: str, engines: Engines) -> AsyncIterator[Database]:
    database = Database(engines.take(database_url))
    yield database
    await database.close()
    engines.give_back(database.engine)


@pytest.fixture
async def tls_server(tmp_path: Path) -> AsyncIterator[Program]:
    """A PostgreSQL server of its own that accepts everybody, with TLS and without; its certificate is in tmp_path."""
    async with open_tls_server(tmp_path) as server:
        yield server
