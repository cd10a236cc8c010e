"""Running a sandbox: as a process of its own, or in the event loop of a test."""

import asyncio
import contextlib
import errno
import socket
from collections.abc import AsyncIterator, Callable, Generator
from typing import Literal

import uvicorn
from fastapi import FastAPI
from uvicorn.config import LOGGING_CONFIG

from gateway_client.sandbox.application import create_sandbox
from gateway_client.sandbox.connections import Connections
from gateway_client.sandbox.settings import SandboxSettings
from integration_base.date_header import DateHeaderMiddleware


class PortNotFreeError(Exception):
    """The address in the settings cannot be listened on; the message names it. ``setting``: what to correct."""

    def __init__(self, message: str, setting: Literal["host", "port"] = "port") -> None:
        super().__init__(message)
        self.setting = setting


def serve(settings: SandboxSettings, on_start: Callable[[str], None] | None = None) -> None:
    """Serve until the process is stopped. `on_start` is called with the address (for port 0, with the port found).

    Raises StateFileError and PortNotFreeError.
    """
    connections = Connections()
    config = _uvicorn_config(create_sandbox(settings, connections), settings, connections, owns_process=True)
    server = uvicorn.Server(config)
    listener = listen(settings.host, settings.port)
    if on_start is not None:
        on_start(_address(settings, listener))
    server.run(sockets=[listener])


@contextlib.asynccontextmanager
async def running_sandbox(settings: SandboxSettings) -> AsyncIterator[tuple[str, FastAPI]]:
    """Run a sandbox in this event loop, for tests; yield its address and its application. Port 0 finds a free one."""
    listener = listen(settings.host, settings.port)
    connections = Connections()
    app = create_sandbox(settings, connections)
    async with serving(_uvicorn_config(app, settings, connections), listener):
        yield _address(settings, listener), app


@contextlib.asynccontextmanager
async def serving(config: uvicorn.Config, listener: socket.socket) -> AsyncIterator[None]:
    """Serve in this event loop while the context is open. Raises RuntimeError when it does not start."""
    server = _ServerWithoutSignalHandlers(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
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
        listener.close()


class _ServerWithoutSignalHandlers(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield  # the process keeps its own handlers


def _uvicorn_config(
    app: FastAPI, settings: SandboxSettings, connections: Connections, *, owns_process: bool = False
) -> uvicorn.Config:
    return uvicorn.Config(
        DateHeaderMiddleware(app, settings.clock),
        date_header=False,
        http=connections.protocol_class(),
        ws="none",
        # A forwarded address is not the connection's: with it, dropping a caller would close another's connection.
        proxy_headers=False,
        access_log=False,
        log_config=LOGGING_CONFIG if owns_process else None,  # uvicorn changes the logs of the whole process
        log_level="warning" if owns_process else None,
        timeout_graceful_shutdown=1,
    )


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on a port; 0 finds a free one. Raises PortNotFreeError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns off Nagle's algorithm only for sockets created with IPPROTO_TCP; with it each response takes 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as exc:
        listener.close()
        if exc.errno == errno.EACCES:
            raise PortNotFreeError(f"this user may not listen on port {port}: choose one above 1023") from exc
        if exc.errno == errno.EADDRINUSE:
            raise PortNotFreeError(f"cannot listen on port {port} of {host}: is it in use?") from exc
        raise PortNotFreeError(f"this machine cannot listen on {host}", "host") from exc
    listener.listen(128)
    return listener


def _address(settings: SandboxSettings, listener: socket.socket) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{listener.getsockname()[1]}"
