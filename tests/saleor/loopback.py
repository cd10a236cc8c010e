"""A real HTTP server on this machine, for what only a socket can show."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import uvicorn
from starlette.types import ASGIApp


class _Server(uvicorn.Server):
    """Says when it listens."""

    def __init__(self, asgi: ASGIApp) -> None:
        super().__init__(uvicorn.Config(asgi, port=0, log_config=None, lifespan="off", ws="none"))
        self.listens = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listens.set()


@asynccontextmanager
async def serving(asgi: ASGIApp) -> AsyncIterator[str]:
    """Serve ``asgi`` on a free port; yields ``http://127.0.0.1:<port>``."""
    server = _Server(asgi)
    task = asyncio.create_task(server.serve())
    await server.listens.wait()
    try:
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def misbehaving(
    handle: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[str]:
    """Listen without any manners: ``handle`` gets the bare connection."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handle(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
