"""Servers on this machine: one that serves an app, and one that a test scripts down to the byte."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from urllib.parse import parse_qs, urlsplit

import uvicorn
from starlette.types import ASGIApp

from integration_base import exact_json


@dataclass(frozen=True)
class ReceivedRequest:
    """A request as received over the wire: header names in their original case and order."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def path(self) -> str:
        """The path, without the query."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> dict[str, list[str]]:
        """The parameters after the path."""
        query = urlsplit(self.target).query
        return parse_qs(query, strict_parsing=bool(query))

    @property
    def json(self) -> Any:
        """The decoded body, numbers exact; None when there is none."""
        return exact_json.loads(self.body) if self.body else None

    def header(self, name: str) -> str:
        """Return a header by its name, in any case. Raises KeyError."""
        return {header.lower(): value for header, value in self.headers}[name.lower()]

    def has(self, name: str) -> bool:
        """Return whether there is a header of that name."""
        return any(header.lower() == name.lower() for header, _ in self.headers)


@dataclass(frozen=True)
class Reply:
    """An HTTP response, ``delay`` seconds after the request.

    The pieces of a body are written one after the other with ``pause`` seconds between them. ``length`` overrides the
    Content-Length with a false one; then the connection is closed.
    """

    status: int = 200
    body: bytes | tuple[bytes, ...] = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None
    pause: float = 0
    delay: float = 0

    @property
    def pieces(self) -> tuple[bytes, ...]:
        """The body, in pieces."""
        return (self.body,) if isinstance(self.body, bytes) else self.body

    @property
    def head(self) -> bytes:
        """The status line and the headers."""
        length = sum(map(len, self.pieces)) if self.length is None else self.length
        headers = {"Content-Length": str(length), **self.headers}
        lines = [f"HTTP/1.1 {self.status} Said", *(f"{name}: {value}" for name, value in headers.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


@dataclass(frozen=True)
class Silence:
    """Reads the request and never answers."""


@dataclass(frozen=True)
class HangUp:
    """Reads the request and closes the connection without a response."""


@dataclass(frozen=True)
class Garbage:
    """Answers with something that is not HTTP."""

    content: bytes = b"\x16\x03\x01 what?\r\n\r\n"


Behaviour: TypeAlias = Reply | Silence | HangUp | Garbage


def json_reply(document: object, status: int = 200, *, delay: float = 0, **headers: str) -> Reply:
    """Return a JSON response; a ``_`` in the name of a header is a ``-``."""
    body = exact_json.dumps(document).encode()
    return Reply(status, body, {"Content-Type": "application/json"} | _header_names(headers), delay=delay)


def text_reply(content: str, status: int = 200, **headers: str) -> Reply:
    """Return an HTML response."""
    return Reply(status, content.encode(), {"Content-Type": "text/html"} | _header_names(headers))


def _header_names(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


@asynccontextmanager
async def serve_replies(answer: Callable[[ReceivedRequest], Awaitable[Behaviour]]) -> AsyncIterator[str]:
    """Answer every request on a free port with the result of ``answer``; yields ``http://127.0.0.1:<port>``."""
    over = asyncio.Event()
    connections: set[asyncio.Task[Any]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        try:
            while (request := await _read(reader)) is not None:
                if not await _behave(await answer(request), writer, over):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client has gone, or the test is over
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        over.set()
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections)
        await server.wait_closed()


async def _read(reader: asyncio.StreamReader) -> ReceivedRequest | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.strip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = tuple((name, value.strip()) for name, _, value in (line.partition(":") for line in lines))
    length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
    return ReceivedRequest(method, target, headers, await reader.readexactly(length))


async def _behave(behaviour: Behaviour, writer: asyncio.StreamWriter, over: asyncio.Event) -> bool:
    """Perform a behaviour; return whether the connection stays open."""
    match behaviour:
        case Reply():
            await _wait(over, behaviour.delay)
            writer.write(behaviour.head)
            for piece in behaviour.pieces:
                writer.write(piece)
                await writer.drain()
                await _wait(over, behaviour.pause)
            return behaviour.length is None
        case Garbage():
            writer.write(behaviour.content)
            await writer.drain()
        case Silence():
            await over.wait()
        case HangUp():
            pass
    return False


async def _wait(over: asyncio.Event, seconds: float) -> None:
    if seconds:
        await asyncio.wait([asyncio.ensure_future(over.wait())], timeout=seconds)


@asynccontextmanager
async def serve_app(
    app: ASGIApp,
    port: int = 0,
    *,
    lifespan: Literal["on", "off"] = "off",
    protocol: type[asyncio.Protocol] | Literal["auto"] = "auto",
) -> AsyncIterator[str]:
    """Serve `app` on this machine, on a free port if none is given; yields its address without a trailing slash.

    ``lifespan``: whether the server starts and ends what the app opens, as in production; otherwise the test does.
    ``protocol``: how it speaks HTTP.
    """
    with closing(socket.create_server(("127.0.0.1", port))) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan=lifespan, http=protocol, ws="none"))
        running = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            # The socket listens already: a request sent before the server is up waits in its queue.
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await running
