"""Servers as processes: start one and wait until it responds, stop or kill it, read the last lines of its log."""

import asyncio
import random
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Protocol, TypeVar

import httpx2

from saleor_app_sdk.testing.client import shared_ssl_context

T = TypeVar("T")

HOST = "127.0.0.1"
_START_TIMEOUT = 60.0
_STOP_TIMEOUT = 30.0
_POLL_INTERVAL = 0.05
_PORTS_BELOW_EPHEMERAL = range(20_000, 32_000)
_PORTS_OF_A_PROCESS = 100


class NotStartedError(Exception):
    """A process ended by itself, or does not respond. The message names it and its log file."""


class Process(Protocol):
    """The interface that ``ServerProcess`` needs of a process, however it was started; ``subprocess.Popen`` has it."""

    @property
    def returncode(self) -> int | None: ...
    def poll(self) -> int | None: ...
    def send_signal(self, number: int, /) -> None: ...
    def wait(self, timeout: float) -> int: ...


@dataclass
class ServerProcess:
    """``python -m arguments``, which serves at ``url``; its path ``health`` responds with success once it is ready.

    Its output is appended to the file ``log``. It can be started again after it has ended.
    """

    name: str
    arguments: Sequence[str]
    url: str
    health: str
    log: Path
    environment: Mapping[str, str]
    process: Process | None = None

    async def start(self) -> None:
        """Start it, and wait until it responds. Raises NotStartedError."""
        self.process = self._spawn()
        try:
            async with asyncio.timeout(_START_TIMEOUT):
                await self._wait_until_healthy()
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
                # In a session of its own: Ctrl-C reaches only the parent process, which stops it in good order.
                start_new_session=True,
            )

    async def _wait_until_healthy(self) -> None:
        async with httpx2.AsyncClient(verify=shared_ssl_context(), trust_env=False, timeout=2) as http:
            while True:
                if self.has_ended:
                    raise NotStartedError(f"the {self.name} has ended by itself: see {self.log}")
                try:
                    if (await http.get(self.url + self.health)).is_success:
                        return
                except httpx2.TransportError:
                    pass  # not yet
                await asyncio.sleep(_POLL_INTERVAL)

    @property
    def has_ended(self) -> bool:
        """Whether it was started and has since ended."""
        return self.process is not None and self.process.poll() is not None

    async def stop(self) -> None:
        """Terminate it; kill it if it has not ended after half a minute."""
        if self.process is None or self.has_ended:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            await asyncio.to_thread(self.process.wait, _STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Kill it at once, with no chance to clean up, as a power cut would."""
        if self.process is not None and not self.has_ended:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(_STOP_TIMEOUT)

    def last_lines(self, most: int = 12) -> list[str]:
        """Return the last lines of its log; empty when there is no log."""
        if not self.log.exists():
            return []
        with self.log.open(encoding="utf-8", errors="replace") as lines:
            return [line.rstrip() for line in deque(lines, maxlen=most)]


def saleor_process(port: int, logs: Path, environment: Mapping[str, str], *options: str) -> ServerProcess:
    """Return the process of a stand-in Saleor."""
    arguments = ["saleor_app_sdk.testing", "--port", str(port), *options]
    return ServerProcess(
        "Saleor", arguments, _url_of_port(port), "/.well-known/jwks.json", logs / "saleor.log", environment
    )


def gateway_process(port: int, logs: Path, environment: Mapping[str, str], *options: str) -> ServerProcess:
    """Return the process of a sandbox gateway; ``options`` are those of its command."""
    arguments = ["gateway_client.sandbox", "--port", str(port), *options]
    return ServerProcess("gateway", arguments, _url_of_port(port), "/health", logs / "gateway.log", environment)


def app_process(
    port: int, logs: Path, environment: Mapping[str, str], kind: Callable[..., ServerProcess] = ServerProcess
) -> ServerProcess:
    """Return the process of the app itself: its address and port set, all other settings from the environment."""
    settings = {**environment, "APP_BASE_URL": _url_of_port(port), "APP_PORT": str(port)}
    return kind("app", ["app.cli", "run"], _url_of_port(port), "/readyz", logs / "app.log", settings)


def _url_of_port(port: int) -> str:
    return f"http://{HOST}:{port}"


async def run_until_signal(work: Coroutine[Any, Any, T]) -> T | signal.Signals:
    """Return the result of the work, or the signal (SIGINT, SIGTERM, SIGHUP) that cancelled it, once it has ended."""
    task = asyncio.create_task(work)
    received: list[signal.Signals] = []

    def interrupt(number: signal.Signals) -> None:
        if not received:  # a second Ctrl-C does not interrupt the clean-up
            received.append(number)
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup: it must outlive the terminal
            asyncio.get_running_loop().add_signal_handler(number, interrupt, number)
    try:
        return await task
    except asyncio.CancelledError:
        if not received:
            raise
    return received[0]


def free_port(wanted: int = 0) -> int:
    """Return the wanted port if it is free, otherwise (or for 0) another free one. Raises NotStartedError.

    The other port is below the range that systems use for outgoing connections, any of which could take it before the
    server does. Nobody else who calls this function gets it, and this process again only after 99 others: what is
    killed finds its port free when it is started anew.
    """
    for port in _candidates(wanted):
        with socket.socket() as probe, suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, port))
            return port
    raise NotStartedError("no port is free on this machine")


def _candidates(wanted: int) -> Iterator[int]:
    if wanted:
        yield wanted
    yield from islice(_own_ports(), _PORTS_OF_A_PROCESS)


@cache
def _own_ports() -> Iterator[int]:
    """Return the ports that are this process's alone, over and over. Raises NotStartedError when there are none left.

    A UDP socket at the first of them, which stays open as long as the process lives, keeps other processes off: it is
    in no TCP server's way, and nothing is left behind by a process that is killed.
    """
    firsts = _PORTS_BELOW_EPHEMERAL[::_PORTS_OF_A_PROCESS]
    for first in random.SystemRandom().sample(firsts, len(firsts)):
        mark = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            mark.bind((HOST, first))
        except OSError:
            mark.close()
        else:
            mark.detach()
            return cycle(range(first, first + _PORTS_OF_A_PROCESS))
    raise NotStartedError("other processes have reserved all ports for their servers")
