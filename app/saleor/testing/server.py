"""On a real port: in the running loop, in a thread, or as a process (``python -m app.saleor.testing``)."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import typer
import uvicorn
from fastapi import FastAPI

from app.saleor.testing.client import FakeSaleor
from app.saleor.testing.date_header import DatedByClock
from app.saleor.testing.engine import Saleor
from app.saleor.testing.http import create_saleor
from app.saleor.testing.settings import SaleorSettings

HOST = "127.0.0.1"
_STARTING_TAKES_AT_MOST = 10.0


class _Server(uvicorn.Server):
    """A server among others in a process: it leaves the process's signal handlers alone, and says when it is ready."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()
        self._ready_here = asyncio.Event()
        self._leaving = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def main_loop(self) -> None:
        """Wait until somebody says leave; uvicorn itself would look ten times a second, and leave that much later."""
        self._loop = asyncio.get_running_loop()
        await self.on_tick(0)
        if not self.should_exit:
            await self._leaving.wait()

    def leave(self) -> None:
        """Stop serving; from any thread."""
        self.should_exit = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._leaving.set)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, or fail to; either way the waiting is over."""
        try:
            await super().startup(sockets)
        finally:
            self.ready.set()
            self._ready_here.set()

    async def until_ready(self) -> None:
        """Return when it serves; raise RuntimeError if it cannot."""
        await self._ready_here.wait()
        self.must_have_started()

    def must_have_started(self) -> None:
        """Raise RuntimeError if it does not serve."""
        if not self.started:
            msg = "Saleor did not start"
            raise RuntimeError(msg)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@dataclass(frozen=True)
class Serving:
    """A Saleor that serves at ``url``. ``engine`` may be touched only in the loop that it serves in."""

    url: str
    saleor: FakeSaleor
    engine: Saleor


@asynccontextmanager
async def serving(
    settings: SaleorSettings | None = None, *, port: int = 0, clock: Callable[[], datetime] | None = None
) -> AsyncIterator[Serving]:
    """Serve a Saleor in the running loop, on a free port unless one is named, until the block ends."""
    with _listening(port) as (listener, url):
        server, app = _server(settings, url, clock)
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            await server.until_ready()
            async with FakeSaleor(url) as person:
                yield Serving(url, person, app.state.saleor)
        finally:
            server.leave()
            await task


@contextmanager
def serving_in_thread(
    settings: SaleorSettings | None = None, *, port: int = 0, clock: Callable[[], datetime] | None = None
) -> Iterator[str]:
    """Serve a Saleor in a thread with a loop of its own, until the block ends; the value is its URL."""
    with _listening(port) as (listener, url):
        server, _ = _server(settings, url, clock)
        thread = threading.Thread(target=_run, args=(server, listener), name="saleor", daemon=True)
        thread.start()
        try:
            server.ready.wait(_STARTING_TAKES_AT_MOST)
            server.must_have_started()
            yield url
        finally:
            server.leave()
            thread.join(_STARTING_TAKES_AT_MOST)


def serve_forever(settings: SaleorSettings | None = None, *, port: int = 8000) -> None:
    """Serve a Saleor until the process is interrupted."""
    with _listening(port) as (listener, url):
        chosen = (settings or SaleorSettings()).served_at(url)
        # For whoever started the process and waits for it: with port 0 nobody else knows.
        typer.echo(f"Saleor on {url}")
        config = uvicorn.Config(create_saleor(chosen), log_level="warning", timeout_graceful_shutdown=1)
        uvicorn.Server(config).run(sockets=[listener])


@contextmanager
def _listening(port: int) -> Iterator[tuple[socket.socket, str]]:
    # Bound before anything is served: the port is part of the address that apps are told.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        # From here on whoever calls is put on hold instead of being turned away.
        listener.listen()
        yield listener, f"http://{HOST}:{listener.getsockname()[1]}"


def _server(settings: SaleorSettings | None, url: str, clock: Callable[[], datetime] | None) -> tuple[_Server, FastAPI]:
    chosen = (settings or SaleorSettings()).served_at(url)
    app = create_saleor(chosen, clock)
    # uvicorn's own Date is that of its newest tick, and this server has only one.
    served = DatedByClock(app, clock or (lambda: datetime.now(UTC)))
    config = uvicorn.Config(served, log_level="error", lifespan="on", timeout_graceful_shutdown=1, date_header=False)
    return _Server(config), app


def _run(server: _Server, listener: socket.socket) -> None:
    asyncio.run(server.serve(sockets=[listener]))
