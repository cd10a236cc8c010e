"""Servers as processes: started, waited for until they answer, ended or killed, asked for their last lines."""

import asyncio
import random
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import httpx2

from app.saleor.testing.client import certificates

T = TypeVar("T")

HOST = "127.0.0.1"
_STARTING_TAKES_AT_MOST = 60.0
_ENDING_TAKES_AT_MOST = 10.0
_PAUSE = 0.05
_BELOW_OUTGOING = range(20_000, 32_000)


class NotStartedError(Exception):
    """A process ended by itself, or does not answer. The message says which, and where its log is."""


class Process(Protocol):
    """What is needed of a process, however it was started: ``subprocess.Popen`` has it."""

    @property
    def returncode(self) -> int | None: ...
    def poll(self) -> int | None: ...
    def send_signal(self, number: int, /) -> None: ...
    def wait(self, timeout: float) -> int: ...


@dataclass
class ServerProcess:
    """``python -m arguments``, which serves at ``url`` and answers ``health`` there with success once it is ready.

    What it writes is added to the file ``log``. It can be started again after its end.
    """

    name: str
    arguments: Sequence[str]
    url: str
    health: str
    log: Path
    environment: Mapping[str, str]
    process: Process | None = None

    async def start(self) -> None:
        """Start it, and wait until it answers. Raises NotStartedError."""
        self.process = self._spawn()
        try:
            async with asyncio.timeout(_STARTING_TAKES_AT_MOST):
                await self._until_it_answers()
        except TimeoutError:
            raise NotStartedError(f"the {self.name} does not answer at {self.url}: see {self.log}") from None

    def _spawn(self) -> Process:
        with self.log.open("ab") as log:
            return subprocess.Popen(  # noqa: S603 - our own interpreter and modules
                [sys.executable, "-m", *self.arguments],
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # In a session of its own: Ctrl-C reaches only whoever started it, who ends it in good order.
                start_new_session=True,
            )

    async def _until_it_answers(self) -> None:
        async with httpx2.AsyncClient(verify=certificates(), trust_env=False, timeout=2) as http:
            while True:
                if self.ended:
                    raise NotStartedError(f"the {self.name} has ended by itself: see {self.log}")
                try:
                    if (await http.get(self.url + self.health)).is_success:
                        return
                except httpx2.TransportError:
                    pass  # not yet
                await asyncio.sleep(_PAUSE)

    @property
    def ended(self) -> bool:
        """Whether it was started and has ended since."""
        return self.process is not None and self.process.poll() is not None

    async def stop(self) -> None:
        """Ask it to end; kill it when it has not after ten seconds."""
        if self.process is None or self.ended:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            await asyncio.to_thread(self.process.wait, _ENDING_TAKES_AT_MOST)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End it at once, with no chance to tidy up, as a power cut would."""
        if self.process is not None and not self.ended:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(_ENDING_TAKES_AT_MOST)

    def last_lines(self, most: int = 12) -> list[str]:
        """The last lines that it wrote."""
        if not self.log.exists():
            return []
        with self.log.open(encoding="utf-8", errors="replace") as lines:
            return [line.rstrip() for line in deque(lines, maxlen=most)]


def saleor_process(port: int, logs: Path, environment: Mapping[str, str], *options: str) -> ServerProcess:
    """A played Saleor."""
    arguments = ["app.saleor.testing", "--port", str(port), *options]
    return ServerProcess("Saleor", arguments, _at(port), "/.well-known/jwks.json", logs / "saleor.log", environment)


def gateway_process(port: int, logs: Path, environment: Mapping[str, str]) -> ServerProcess:
    """A sandbox."""
    arguments = ["app.sandbox", "--port", str(port)]
    return ServerProcess("gateway", arguments, _at(port), "/health", logs / "gateway.log", environment)


def app_process(
    port: int, logs: Path, environment: Mapping[str, str], kind: Callable[..., ServerProcess] = ServerProcess
) -> ServerProcess:
    """The app itself, reached at its port, with the settings of the environment otherwise."""
    settings = {**environment, "APP_BASE_URL": _at(port), "APP_PORT": str(port)}
    return kind("app", ["app.cli", "run"], _at(port), "/readyz", logs / "app.log", settings)


def _at(port: int) -> str:
    return f"http://{HOST}:{port}"


async def interruptible(work: Coroutine[Any, Any, T]) -> T | signal.Signals:
    """Return what comes of the work; or the signal (SIGINT, SIGTERM, SIGHUP) that cancelled it, once it has ended."""
    running = asyncio.create_task(work)
    interrupted: list[signal.Signals] = []

    def interrupt(number: signal.Signals) -> None:
        if not interrupted:  # a second Ctrl-C does not hinder the work from tidying up
            interrupted.append(number)
            running.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup: it is to outlive the terminal
            asyncio.get_running_loop().add_signal_handler(number, interrupt, number)
    try:
        return await running
    except asyncio.CancelledError:
        if not interrupted:
            raise
    return interrupted[0]


def free_port(wanted: int = 0) -> int:
    """Return the wanted port if nobody uses it, else (or for 0) one that is free at the moment.

    It is below those that a system gives to outgoing connections, any of which could take it before the server does.
    """
    by_chance = random.SystemRandom().sample(_BELOW_OUTGOING, 100)
    for port in (wanted, *by_chance) if wanted else by_chance:
        with socket.socket() as tried, suppress(OSError):
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind((HOST, port))
            return port
    raise NotStartedError("no port is free on this machine")
