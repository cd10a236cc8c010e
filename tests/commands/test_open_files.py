"""Processes that the system lets open few files: a connection is one of them."""

import resource
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import pytest

from app.demo.processes import HOST, free_port
from integration_base_tests.waiting import LONGEST_WAIT
from tests.commands.conftest import clean_environment
from tests.commands.test_processes import COMMAND

HALF = b"GET / HTTP/1.1\r\nHost: here\r\n"
MANY = 100


class Started:
    """A service that has started, and what it has logged."""

    def __init__(self, port: int, log: Path) -> None:
        self.port = port
        self.url = f"http://{HOST}:{port}"
        self.log = log

    def is_ready(self) -> bool:
        """Return whether it serves a caller who connects now."""
        try:
            return httpx2.get(f"{self.url}/readyz", trust_env=False, timeout=LONGEST_WAIT).status_code == 200
        except httpx2.TransportError:
            return False

    def warnings(self) -> list[str]:
        """Return its warnings of open files."""
        return [line for line in self.log.read_text().splitlines() if "open_files" in line and "warning" in line]


@contextmanager
def started(command: str, tmp_path: Path, soft: int, hard: int) -> Iterator[Started]:
    """Start a service with limits of open files, wait until it answers, and end it with the block."""
    service = Started(free_port(), tmp_path / "log")
    port = "APP_PORT" if command == "run" else "APP_METRICS_PORT"
    environment = clean_environment({"APP_DATA_DIR": str(tmp_path / "data"), port: str(service.port)})
    with service.log.open("wb") as log:
        process = subprocess.Popen(
            [*COMMAND, command],
            env=environment, stdout=log, stderr=log,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)),  # noqa: PLW1509 - one thread
        )  # fmt: skip
    try:
        until = time.monotonic() + LONGEST_WAIT
        while not service.is_ready():
            assert process.poll() is None, service.log.read_text()
            assert time.monotonic() < until, service.log.read_text()
            time.sleep(0.1)
        yield service
        process.send_signal(signal.SIGTERM)
        assert process.wait(LONGEST_WAIT) in (0, -signal.SIGTERM)
    finally:
        process.kill()
        process.wait()


def half_open(service: Started, stack: ExitStack) -> list[socket.socket]:
    """Open many connections, none of which says all of its request."""
    callers = []
    for _ in range(MANY):
        caller = stack.enter_context(socket.create_connection((HOST, service.port), LONGEST_WAIT))
        caller.sendall(HALF)
        callers.append(caller)
    return callers


def is_open(caller: socket.socket) -> bool:
    """Return whether the other side has left this connection open."""
    caller.setblocking(False)
    try:
        return caller.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


@pytest.mark.fault("no-connections")
@pytest.mark.threat("flood")
def test_with_few_files_connections_make_way_and_the_log_says_so(tmp_path: Path) -> None:
    with started("run", tmp_path, 64, 64) as service, ExitStack() as stack:
        callers = half_open(service, stack)
        assert service.is_ready()
        assert not is_open(callers[0])
        assert is_open(callers[-1])
        (warning,) = service.warnings()
        assert "limit=64 " in warning
        assert "needed=800" in warning


@pytest.mark.fault("no-connections")
def test_a_limit_that_may_be_raised_is_raised(tmp_path: Path) -> None:
    with started("run", tmp_path, 64, 1024) as service, ExitStack() as stack:
        callers = half_open(service, stack)
        assert service.is_ready()
        assert all(is_open(caller) for caller in callers)
        assert service.warnings() == []


def test_a_worker_with_few_files_says_so(tmp_path: Path) -> None:
    with started("worker", tmp_path, 64, 64) as service:
        (warning,) = service.warnings()
        assert "needed=300" in warning
