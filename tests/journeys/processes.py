"""Apps that are quickly started, and killed at the point that a test has armed (``mortal_app``)."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.sandbox.processes import Process, ServerProcess
from tests.journeys.crash_points import Fate
from tests.journeys.mortal_app import FATE


class AppLauncher:
    """The process that all apps of a test process descend from."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def start(self, environment: dict[str, str], log: Path) -> "Descendant":
        """Start an app with these settings, its log going to ``log``."""
        given, told = self._process.stdin, self._process.stdout
        assert given is not None
        assert told is not None
        print(json.dumps({"environment": environment, "log": str(log)}), file=given, flush=True)
        return Descendant(int(told.readline()))


@contextmanager
def an_app_launcher() -> Iterator[AppLauncher]:
    """Start the process that starts apps; whatever it started ends with it."""
    command = [sys.executable, "-m", "tests.journeys.mortal_app"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield AppLauncher(process)


@dataclass
class Descendant:
    """An app that the launcher started. How it ended is not known, only that it has."""

    pid: int
    returncode: int | None = None

    def poll(self) -> int | None:
        """Return a number once it has ended."""
        if self.returncode is None:
            try:
                os.kill(self.pid, 0)
            except ProcessLookupError:
                self.returncode = -1
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def wait(self, timeout: float) -> int:
        """Wait until it has ended; TimeoutExpired when it does not in time."""
        end = time.monotonic() + timeout
        while (ended := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("app", timeout)
            time.sleep(0.005)
        return ended


@dataclass
class Mortal(ServerProcess):
    """The app as a process that meets its fate where ``fate`` is armed."""

    launcher: AppLauncher | None = None

    @property
    def fate(self) -> Fate:
        """Where its end is decided."""
        return Fate(self._folder / "fate")

    @property
    def _folder(self) -> Path:
        return self.log.parent

    def _spawn(self) -> Process:
        assert self.launcher is not None
        environment = {**self.environment, FATE: str(self._folder / "fate")}
        return self.launcher.start(environment, self.log)
