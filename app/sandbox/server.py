"""Running a sandbox: as a process of its own, or beside a test in the same event loop."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Generator

import uvicorn
from fastapi import FastAPI

from app.saleor.testing.date_header import DatedByClock
from app.sandbox.application import create_sandbox
from app.sandbox.connections import Connections
from app.sandbox.settings import SandboxSettings


class PortNotFreeError(Exception):
    """Nobody can listen where the settings say; the message says where."""


def serve(settings: SandboxSettings, on_start: Callable[[str], None] | None = None) -> None:
    """Serve until the process is told to stop. `on_start` is given the address (with port 0: the one found)."""
    listening = listen(settings.host, settings.port)
    connections = Connections()
    server = uvicorn.Server(_configured(create_sandbox(settings, connections), settings, connections))
    if on_start is not None:
        on_start(_address(settings, listening))
    server.run(sockets=[listening])


@contextlib.asynccontextmanager
async def running_sandbox(settings: SandboxSettings) -> AsyncIterator[tuple[str, FastAPI]]:
    """A sandbox in this event loop, for tests: its address and its application. Port 0 finds a free one."""
    listening = listen(settings.host, settings.port)
    connections = Connections()
    app = create_sandbox(settings, connections)
    async with serving(_configured(app, settings, connections), listening):
        yield _address(settings, listening), app


@contextlib.asynccontextmanager
async def serving(config: uvicorn.Config, listening: socket.socket) -> AsyncIterator[None]:
    """Serve in this event loop while the context is open. Raises RuntimeError when it does not start."""
    server = _ServerBesideOthers(config)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        while not server.started:
            if task.done():
                task.result()
                raise RuntimeError("the server did not start")
            await asyncio.sleep(0.005)
        yield
    finally:
        server.should_exit = True
        await task
        listening.close()


class _ServerBesideOthers(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield  # the process keeps its own handlers


def _configured(app: FastAPI, settings: SandboxSettings, connections: Connections) -> uvicorn.Config:
    return uvicorn.Config(
        DatedByClock(app, settings.clock),
        date_header=False,
        http=connections.protocol(),
        ws="none",
        # A forwarded address is not the connection's: with it, hanging up would close somebody else's.
        proxy_headers=False,
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=1,
    )


def listen(host: str, port: int) -> socket.socket:
    """Listen at a port; 0 finds a free one. Raises PortNotFreeError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's algorithm off only for sockets that say they are TCP; with it each answer waits 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as exc:
        listening.close()
        raise PortNotFreeError(f"cannot listen on port {port} of {host}: is it in use?") from exc
    listening.listen(128)
    return listening


def _address(settings: SandboxSettings, listening: socket.socket) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{listening.getsockname()[1]}"
