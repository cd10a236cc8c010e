"""Serving on a real port: in the running loop, in a thread, or in a process (``python -m saleor_app_sdk.testing``)."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import typer
import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp

from integration_base.date_header import DateHeaderMiddleware
from saleor_app_sdk.testing.client import FakeSaleor
from saleor_app_sdk.testing.engine import Saleor
from saleor_app_sdk.testing.http import create_saleor
from saleor_app_sdk.testing.settings import SaleorSettings

HOST = "127.0.0.1"
_START_TIMEOUT = 10.0


class _Server(uvicorn.Server):
    """A server that shares its process with others: it installs no signal handlers, and signals when it is ready."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()
        self._ready_in_loop = asyncio.Event()
        self._shutdown_requested = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def main_loop(self) -> None:
        """Wait for a shutdown request; uvicorn itself would poll ten times a second, and stop up to 0.1 s later."""
        self._loop = asyncio.get_running_loop()
        await self.on_tick(0)
        if not self.should_exit:
            await self._shutdown_requested.wait()

    def request_shutdown(self) -> None:
        """Stop serving; can be called from any thread."""
        self.should_exit = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._shutdown_requested.set)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start; release those that wait for readiness, whether the start succeeds or fails."""
        try:
            await super().startup(sockets)
        finally:
            self.ready.set()
            self._ready_in_loop.set()

    async def wait_until_ready(self) -> None:
        """Return once it serves; raise RuntimeError if it failed to start."""
        await self._ready_in_loop.wait()
        self.check_started()

    def check_started(self) -> None:
        """Raise RuntimeError if it failed to start."""
        if not self.started:
            msg = "the server did not start"
            raise RuntimeError(msg)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@dataclass(frozen=True)
class Serving:
    """A running Saleor at ``url``. Use ``engine`` only in the event loop in which it serves."""

    url: str
    saleor: FakeSaleor
    engine: Saleor


@asynccontextmanager
async def serving(
    settings: SaleorSettings | None = None, *, port: int = 0, clock: Callable[[], datetime] | None = None
) -> AsyncIterator[Serving]:
    """Serve a Saleor in the running loop, on a free port unless ``port`` is given, until the block ends."""
    with _listening_socket(port) as (listener, url):
        server, app = _build_server(settings, url, clock)
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            await server.wait_until_ready()
            async with FakeSaleor(url) as client:
                yield Serving(url, client, app.state.saleor)
        finally:
            server.request_shutdown()
            await task


@contextmanager
def serving_in_thread(
    settings: SaleorSettings | None = None, *, port: int = 0, clock: Callable[[], datetime] | None = None
) -> Iterator[str]:
    """Serve a Saleor in a thread with its own event loop, until the block ends; yield its URL."""
    with _listening_socket(port) as (listener, url):
        server, _ = _build_server(settings, url, clock)
        with _running_in_thread(server, listener, "saleor"):
            yield url


@contextmanager
def serving_app_in_thread(create: Callable[[str], ASGIApp]) -> Iterator[str]:
    """Serve an app of your own in a thread, on a free port, until the block ends; yield its URL.

    ``create`` gets the URL, which has no slash at the end, and returns the ASGI app.
    """
    with _listening_socket(0) as (listener, url):
        server = _Server(_config_within_process(create(url)))
        with _running_in_thread(server, listener, "app"):
            yield url


def serve_forever(settings: SaleorSettings | None = None, *, port: int = 8000) -> None:
    """Serve a Saleor until the process is interrupted."""
    with _listening_socket(port) as (listener, url):
        chosen = (settings or SaleorSettings()).with_default_url(url)
        # For the parent process, which waits for this line: with port 0 it has no other way to learn the port.
        typer.echo(f"Saleor on {url}")
        config = uvicorn.Config(create_saleor(chosen), log_level="warning", timeout_graceful_shutdown=1)
        uvicorn.Server(config).run(sockets=[listener])


@contextmanager
def _listening_socket(port: int) -> Iterator[tuple[socket.socket, str]]:
    # Bound before anything is served: the port is part of the public URL that apps receive.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        # From here on connections are queued instead of refused.
        listener.listen()
        yield listener, f"http://{HOST}:{listener.getsockname()[1]}"


def _build_server(
    settings: SaleorSettings | None, url: str, clock: Callable[[], datetime] | None
) -> tuple[_Server, FastAPI]:
    chosen = (settings or SaleorSettings()).with_default_url(url)
    app = create_saleor(chosen, clock)
    # uvicorn takes Date from its latest tick, and this server ticks only once.
    dated_app = DateHeaderMiddleware(app, clock or (lambda: datetime.now(UTC)))
    return _Server(_config_within_process(dated_app, lifespan="on")), app


def _config_within_process(app: ASGIApp, lifespan: Literal["auto", "on"] = "auto") -> uvicorn.Config:
    # How the process logs is its own business: uvicorn would change that for all servers in it.
    return uvicorn.Config(
        app, lifespan=lifespan, log_config=None, access_log=False, timeout_graceful_shutdown=1, date_header=False
    )


@contextmanager
def _running_in_thread(server: _Server, listener: socket.socket, name: str) -> Iterator[None]:
    thread = threading.Thread(target=_run, args=(server, listener), name=name, daemon=True)
    thread.start()
    try:
        server.ready.wait(_START_TIMEOUT)
        server.check_started()
        yield
    finally:
        server.request_shutdown()
        thread.join(_START_TIMEOUT)


def _run(server: _Server, listener: socket.socket) -> None:
    asyncio.run(server.serve(sockets=[listener]))
