"""The stage of a demo: a folder, four addresses, three processes and a shop; all of it is gone afterwards."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import uvicorn
from fastapi import FastAPI

from app.saleor.testing.client import FakeSaleor
from app.sandbox.control.client import SandboxControl
from app.sandbox.demo.browser import Browser
from app.sandbox.demo.command_line import Typed, type_command
from app.sandbox.demo.processes import Resident
from app.sandbox.demo.shop import create_shop
from app.sandbox.demo.staff import Staff
from app.sandbox.demo.telling import Teller
from app.sandbox.demo.watching import Watcher
from app.sandbox.settings import DEFAULT_PORT, PointOfSale

HOST = "127.0.0.1"
USUAL_PORTS = {"saleor": 8000, "gateway": DEFAULT_PORT, "app": 8100, "shop": 3000}

# Whatever is set for an app or a gateway of the person's own has no business here, least of all a database.
_NOT_OURS = ("APP_", "GATEWAY_", "SANDBOX_")

# What an answer already told Saleor is told again when Saleor must have read it: after 25 s where Saleor is far away.
_PATIENCE = {"APP_ANSWER_WINDOW": "0.5"}


@dataclass(frozen=True, slots=True)
class Keys:
    """What the operator types for the merchant account."""

    pos_id: str
    api_key: str
    api_secret: str
    endpoints_key: str


def right_keys() -> Keys:
    """The keys that the sandbox knows."""
    known = PointOfSale()
    return Keys(
        pos_id=str(known.pos_id),
        api_key=known.api_key,
        api_secret=known.api_secret.get_secret_value(),
        endpoints_key=known.endpoints_key.get_secret_value(),
    )


@dataclass(frozen=True, slots=True)
class Urls:
    """Where everybody is."""

    saleor: str
    gateway: str
    app: str
    shop: str


class Stage:
    """Everything that a story needs. Open it with ``open_stage``."""

    def __init__(self, folder: Path, urls: Urls, teller: Teller, keys: Keys, stack: AsyncExitStack) -> None:
        self.urls = urls
        self.teller = teller
        self.keys = keys
        self.data = folder / "data"
        self.saleor = FakeSaleor(urls.saleor)
        self.gateway = SandboxControl(urls.gateway)
        self.watcher = Watcher(self.saleor, self.gateway, teller)
        http = httpx2.AsyncClient(trust_env=False, timeout=30)
        self.browser = Browser(http)
        self.staff = Staff(self.saleor, urls.app, self.browser, http)
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(_NOT_OURS)},
            **_PATIENCE,
            "PYTHONUNBUFFERED": "1",
            "APP_BASE_URL": urls.app,
            "APP_PORT": urls.app.rpartition(":")[2],
            "APP_DATA_DIR": str(self.data),
        }
        logs = folder / "logs"
        logs.mkdir()
        self.residents = {
            name: Resident(name, arguments, url, health, logs / f"{name}.log", self._environment)
            for name, arguments, url, health in (
                ("Saleor", ["app.saleor.testing", "--port", _port(urls.saleor)], urls.saleor, "/.well-known/jwks.json"),
                ("gateway", ["app.sandbox", "--port", _port(urls.gateway)], urls.gateway, "/health"),
                ("app", ["app.cli", "run"], urls.app, "/health"),
            )
        }
        self._stack = stack
        for resident in self.residents.values():
            stack.push_async_callback(resident.stop)
        stack.push_async_callback(self.saleor.close)
        stack.push_async_callback(self.gateway.__aexit__, None, None, None)
        stack.push_async_callback(http.aclose)

    async def start(self) -> None:
        """Start everybody, and wait until they answer. Raises NotStartedError."""
        starting = [asyncio.create_task(resident.start()) for resident in self.residents.values()]
        try:
            await asyncio.gather(*starting)
        finally:
            for task in starting:
                task.cancel()
            await asyncio.gather(*starting, return_exceptions=True)
        shop = create_shop(self.urls.shop, self.saleor, self.watcher)
        await self._stack.enter_async_context(_serving(shop, int(_port(self.urls.shop))))
        self.following = asyncio.create_task(self.watcher.follow())
        self._stack.push_async_callback(_end, self.following)

    async def type(self, *words: str) -> Typed:
        """Type a command of the app, as its operator."""
        secrets = {
            "GATEWAY_API_KEY": self.keys.api_key,
            "GATEWAY_API_SECRET": self.keys.api_secret,
            "GATEWAY_ENDPOINTS_KEY": self.keys.endpoints_key,
        }
        return await type_command({**self._environment, **secrets}, *words)

    def ended(self) -> Resident | None:
        """A process that has ended by itself, if there is one."""
        return next((resident for resident in self.residents.values() if resident.ended), None)


@asynccontextmanager
async def open_stage(
    folder: Path, teller: Teller, *, keys: Keys | None = None, free_ports: bool = False
) -> AsyncIterator[Stage]:
    """Build a stage in an empty folder; everything on it is stopped at the end, whatever happens."""
    urls = Urls(**{name: f"http://{HOST}:{_choose(port, free_ports)}" for name, port in USUAL_PORTS.items()})
    async with AsyncExitStack() as stack:
        yield Stage(folder, urls, teller, keys or right_keys(), stack)


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _port(url: str) -> str:
    return url.rpartition(":")[2]


def _choose(usual: int, free: bool) -> int:
    """The usual port, if nobody uses it; else any that is free at the moment."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((HOST, 0 if free else usual))
        except OSError:
            tried.bind((HOST, 0))
        port: int = tried.getsockname()[1]
    return port


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # the demo has its own


@asynccontextmanager
async def _serving(app: FastAPI, port: int) -> AsyncIterator[None]:
    config = uvicorn.Config(app, log_config=None, lifespan="off", ws="none", timeout_graceful_shutdown=1)
    server = _Server(config)
    with socket.create_server((HOST, port)) as listener:
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            # The socket listens already: whoever calls before the server is up waits in its queue.
            yield
        finally:
            server.should_exit = True
            await task
