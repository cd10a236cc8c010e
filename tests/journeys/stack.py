"""Three processes on loopback: a Saleor, the app, a gateway. Whole stories are played in them."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol, TypeVar

import httpx2
from sqlalchemy import ColumnElement
from sqlmodel import col, select

from app.db.accounts import AccountKeys, NewAccount
from app.db.tables import EventState, SaleorEvent
from app.main import open_services
from app.saleor.testing.client import FakeSaleor, certificates
from app.sandbox.control.client import SandboxControl
from app.sandbox.settings import PointOfSale
from app.settings import Settings

T = TypeVar("T")

_STARTING_TAKES_AT_MOST = 30.0
_EVENTUALLY = 20.0
STOREFRONT = "https://shop.test"

# Short enough for a story to be told in seconds; the proportions are those of the real thing.
PATIENCE = {
    "APP_GATEWAY_BUDGET": "2",
    "APP_ANSWER_WINDOW": "0.5",
    "APP_FIRST_SETTLE": "0.3",
    "APP_FIRST_POLL": "0.5",
    "APP_SETTLING_TIME": "3",
    "APP_WORKER_LEASE": "4",
}


class Process(Protocol):
    """What a town must be able to do with a process, however it was started."""

    @property
    def returncode(self) -> int | None: ...
    def poll(self) -> int | None: ...
    def send_signal(self, number: int, /) -> None: ...
    def wait(self, timeout: float) -> int: ...


@dataclass
class Resident:
    """A process that serves at ``url``. It can be killed as a power cut would, and started again."""

    name: str
    command: list[str]
    url: str
    health: str
    log: IO[bytes]
    environment: dict[str, str] = field(default_factory=dict)
    process: Process | None = None

    async def start(self) -> None:
        """Start it, and wait until it answers."""
        process = self.process = self._spawn()

        async with httpx2.AsyncClient(verify=certificates(), trust_env=False, timeout=2) as http:

            async def answers() -> bool:
                if process.poll() is not None:
                    raise RuntimeError(f"{self.name} ended with {process.returncode}: see {self.log.name}")
                try:
                    return not (await http.get(self.url + self.health)).is_server_error
                except httpx2.TransportError:
                    return False

            await eventually(answers, within=_STARTING_TAKES_AT_MOST)

    def _spawn(self) -> Process:
        environment = {**os.environ, **self.environment}
        return subprocess.Popen(self.command, env=environment, stdout=self.log, stderr=subprocess.STDOUT)

    def kill(self) -> None:
        """End it at once, with no chance to tidy up."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(10)

    async def stop(self) -> None:
        """Ask it to end; insist after a while."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            await asyncio.to_thread(self.process.wait, 10)
        except subprocess.TimeoutExpired:
            self.kill()


@dataclass
class Stack:
    """The three, and the people in them."""

    saleor: FakeSaleor
    gateway: SandboxControl
    app: Resident
    settings: Settings
    gateway_url: str

    async def open_account(self, **different: object) -> str:
        """Add the sandbox's point of sale for the only channel, as an operator would; return the account's id."""
        point = PointOfSale()
        async with open_services(self.settings) as services:
            installation = await services.installations.find(self.saleor.api_url)
            assert installation is not None, "install the app first"
            new = {
                "installation_id": installation.id,
                "name": point.name,
                "pos_id": str(point.pos_id),
                "base_url": self.gateway_url,
                "scheme_word": "CPAY",
                "keys": AccountKeys(
                    api_key=point.api_key,
                    api_secret=point.api_secret.get_secret_value(),
                    endpoints_key=point.endpoints_key.get_secret_value(),
                ),
                "currencies": ["UAH"],
                "storefront_origins": [STOREFRONT],
            } | different
            account = await services.accounts.add(NewAccount(**new))  # type: ignore[arg-type] # the story chooses
            await services.accounts.map_channel("uah", account.id)
        return account.id

    async def unsaid(self) -> int:
        """Return how many events Saleor has not heard yet."""
        return len(await self._events(col(SaleorEvent.state) == EventState.WAITING))

    async def attempts(self, event: str) -> int:
        """Return how often the app has tried to tell Saleor of such an event."""
        return sum(each.attempts for each in await self._events(col(SaleorEvent.type) == event))

    async def _events(self, condition: ColumnElement[bool]) -> Sequence[SaleorEvent]:
        async with open_services(self.settings) as services, services.database.transaction() as session:
            return (await session.exec(select(SaleorEvent).where(condition))).all()


async def eventually(true: Callable[[], Awaitable[T | None]], *, within: float = _EVENTUALLY) -> T:
    """Wait until something holds, and return what it gave; AssertionError when it does not in time."""
    loop = asyncio.get_running_loop()
    end = loop.time() + within
    while True:
        found = await true()
        if found:
            return found
        assert loop.time() < end, f"did not come true within {within:.0f} s: {true}"
        await asyncio.sleep(0.05)


def free_port() -> int:
    """Return a port that nobody uses at the moment."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port


@contextmanager
def the_neighbours(folder: Path) -> Iterator[tuple[str, str]]:
    """Start a Saleor and a gateway, each a process of its own, for many stories; give their addresses."""
    python, ports = sys.executable, (free_port(), free_port())
    saleor_url, gateway_url = (f"http://127.0.0.1:{port}" for port in ports)
    with ExitStack() as stack:
        logs = [stack.enter_context((folder / f"{name}.log").open("wb")) for name in ("saleor", "gateway")]
        saleor = Resident(
            "saleor",
            [python, "-m", "app.saleor.testing", "--port", str(ports[0]), "--delay-factor", "0.01"],
            saleor_url,
            "/.well-known/jwks.json",
            logs[0],
        )
        gateway = Resident("gateway", [python, "-m", "app.sandbox", "--port", str(ports[1])], gateway_url, "/", logs[1])

        async def start() -> None:
            await asyncio.gather(saleor.start(), gateway.start())

        try:
            asyncio.run(start())
            yield saleor_url, gateway_url
        finally:
            asyncio.run(saleor.stop())
            asyncio.run(gateway.stop())


@asynccontextmanager
async def a_stack(
    database_url: str,
    folder: Path,
    neighbours: tuple[str, str],
    *,
    patience: Mapping[str, str] = PATIENCE,
    resident: Callable[..., Resident] = Resident,
) -> AsyncIterator[Stack]:
    """Start the app with an empty database beside its neighbours, who begin anew too. Its log is in ``folder``.

    ``patience`` is how the app is set up beside that; ``resident`` is what kind of process it becomes.
    """
    saleor_url, gateway_url = neighbours
    port = free_port()
    app_url = f"http://127.0.0.1:{port}"
    environment = {
        **patience,
        "APP_BASE_URL": app_url,
        "APP_PORT": str(port),
        "APP_DATA_DIR": str(folder / "data"),
        "APP_DATABASE_URL": database_url,
    }
    settings = Settings(data_dir=folder / "data", database_url=database_url, base_url=app_url)
    settings.open_vault()
    with (folder / "app.log").open("wb") as log:
        app = resident("app", [sys.executable, "-m", "app.cli", "run"], app_url, "/health", log, environment)
        async with FakeSaleor(saleor_url) as saleor, SandboxControl(gateway_url) as gateway:
            await gateway.reset()
            await gateway.options(hosted_answer="redirect")
            await saleor.put_right()
            for installed in await saleor.apps():
                await saleor.uninstall(installed.identifier)
            try:
                await app.start()
                yield Stack(saleor=saleor, gateway=gateway, app=app, settings=settings, gateway_url=gateway_url)
            finally:
                await app.stop()
