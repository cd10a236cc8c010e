"""A process under a supervisor that waits until it serves, as systemd does with ``Type=notify``."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from app.commands.supervisor import tell_ready
from app.demo.processes import HOST, free_port
from integration_base_tests.waiting import LONGEST_WAIT
from tests.commands.conftest import clean_environment
from tests.commands.test_processes import COMMAND


@contextmanager
def started(command: str, environment: dict[str, str]) -> Iterator[None]:
    """Start a service, which is to end well when the block has."""
    process = subprocess.Popen(
        [*COMMAND, command],
        env=clean_environment(environment), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield
        process.send_signal(signal.SIGTERM)
        assert process.wait(LONGEST_WAIT) in (0, -signal.SIGTERM)
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("command", "in_a_folder", "port"), [("run", True, "APP_PORT"), ("worker", False, "APP_METRICS_PORT")]
)
def test_it_is_told_once_the_service_answers(
    command: str, in_a_folder: bool, port: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # an address has at most a hundred letters
    name = f"notify-{os.getpid()}"
    environment = {
        "NOTIFY_SOCKET": name if in_a_folder else f"@{name}", "APP_DATA_DIR": "data", port: str(free_port()),
    }  # fmt: skip
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.settimeout(LONGEST_WAIT)
        listener.bind(name if in_a_folder else f"\0{name}")
        with started(command, environment):
            assert listener.recv(100) == b"READY=1"
            socket.create_connection((HOST, int(environment[port])), LONGEST_WAIT).close()


def test_one_that_has_gone_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "gone"))
    with capture_logs() as logged:
        tell_ready()
    assert logged == [
        {"event": "supervisor.not_notified", "error": "No such file or directory", "log_level": "warning"}
    ]
