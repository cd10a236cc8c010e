"""What the tests of all houses can use, and on what they run: one event loop, servers and clients that are quick."""

import asyncio
import gc
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import cache
from itertools import count
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
from structlog.dev import ConsoleRenderer, plain_traceback

from integration_base import telemetry
from integration_base_tests import browsing
from integration_base_tests.clock import Clock
from integration_base_tests.postgresql import POSTGRESQL, connect_to_server
from integration_base_tests.skipping import missing
from integration_base_tests.waiting import LONGEST_WAIT

# How long one example takes says more about the machine than about the code. Where the checks must be complete, the
# same examples are tried in every run: a failure there is never luck.
settings.register_profile(
    "steady",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("steady")


def pytest_collection() -> None:
    """Turn garbage collection off while tests are collected: they all stay."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Exclude the collected tests from garbage collection, and collect a hundred times less often."""
    gc.enable()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)


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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print one line for each reason for which tests were skipped: pytest prints one for each test."""
    reports = [*terminalreporter.stats.get("skipped", ())]
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in reports)
    for reason, number in reasons.most_common():
        terminalreporter.write_line(f"SKIPPED {number} {'test' if number == 1 else 'tests'}: {reason}")


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


@pytest.fixture(scope="session")
def worker_name() -> str:
    return os.environ.get("PYTEST_XDIST_WORKER", "alone")


@pytest.fixture(scope="session")
def new_postgresql(worker_name: str) -> Iterator[Callable[[], str]]:
    """Give a function that creates an empty database on the running server and returns its address."""
    address = make_url(POSTGRESQL)
    try:
        server = connect_to_server()
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
    [renderer] = [step for step in structlog.get_config()["processors"] if isinstance(step, ConsoleRenderer)]
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
