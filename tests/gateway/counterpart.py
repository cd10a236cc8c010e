"""The other end of the line: real HTTP over loopback, answering what the test says, down to the byte."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from app import exact_json


@dataclass
class Heard:
    """One request as it came over the exact_json."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return exact_json.loads(self.body)


@dataclass
class Reply:
    """An answer: ``pieces`` are written one after the other with ``pause`` seconds between them."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    pieces: tuple[bytes, ...] = (b"",)
    length: int | None = None
    pause: float = 0

    def head(self) -> bytes:
        length = sum(map(len, self.pieces)) if self.length is None else self.length
        lines = [f"HTTP/1.1 {self.status} Said", f"Content-Length: {length}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


@dataclass
class Silence:
    """Reads the request and never answers."""


@dataclass
class HangUp:
    """Reads the request and closes the connection without a word."""


@dataclass
class Garbage:
    """Answers something that is not HTTP."""

    content: bytes = b"\x16\x03\x01 what?\r\n\r\n"


Behaviour = Reply | Silence | HangUp | Garbage


def said(document: object, status: int = 200, **headers: str) -> Reply:
    """A JSON answer."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, {"Content-Type": "application/json"} | named, (exact_json.dumps(document).encode(),))


def text(content: str, status: int = 200, **headers: str) -> Reply:
    """An answer that is not JSON."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, {"Content-Type": "text/html"} | named, (content.encode(),))


def lines(*documents: object) -> Reply:
    """A list, one JSON object per line."""
    return Reply(pieces=tuple(exact_json.dumps(document).encode() + b"\n" for document in documents))


class Counterpart:
    """A server whose next answers a test lays down with ``will``; ``heard`` is what it was asked."""

    def __init__(self) -> None:
        self.heard: list[Heard] = []
        self.arrived = asyncio.Event()
        self.port = 0
        self._plan: deque[Behaviour] = deque()
        self._stop = asyncio.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def will(self, *behaviours: Behaviour) -> None:
        self._plan.extend(behaviours)

    @property
    def last(self) -> Heard:
        return self.heard[-1]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (heard := await _read(reader)) is not None:
                self.heard.append(heard)
                self.arrived.set()
                if not await self._behave(self._plan.popleft(), writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _behave(self, behaviour: Behaviour, writer: asyncio.StreamWriter) -> bool:
        match behaviour:
            case Reply():
                writer.write(behaviour.head())
                for piece in behaviour.pieces:
                    writer.write(piece)
                    await writer.drain()
                    if behaviour.pause:
                        await asyncio.wait([asyncio.ensure_future(self._stop.wait())], timeout=behaviour.pause)
                return behaviour.length is None
            case Garbage():
                writer.write(behaviour.content)
                await writer.drain()
                return False
            case Silence():
                await self._stop.wait()
                return False
            case HangUp():
                return False

    def stop(self) -> None:
        self._stop.set()


async def _read(reader: asyncio.StreamReader) -> Heard | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii")
    except asyncio.IncompleteReadError:
        return None
    first, *rest = head.strip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    parts = urlsplit(target)
    return Heard(method, parts.path, parse_qs(parts.query, strict_parsing=bool(parts.query)), headers, body)


@asynccontextmanager
async def counterpart() -> AsyncIterator[Counterpart]:
    other = Counterpart()
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        await other.serve(reader, writer)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    other.port = server.sockets[0].getsockname()[1]
    try:
        yield other
    finally:
        other.stop()
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


PAYMENT: Mapping[str, Any] = {
    "payment_id": "0b3a3b4e-8f5e-4f6f-9d5b-1f4f0f6d2f01",
    "order_id": "order1",
    "transaction_id": "5d4a4c9e-1111-4f6f-9d5b-1f4f0f6d2f01",
    "pos_id": "5b3c1c6d-7a7e-4f0d-b8ad-3f6b6d0b2a11",
    "mode": "hosted",
    "method": "purchase",
    "amount": 100,
    "currency": "UAH",
    "status": "success",
    "status_code": "1000",
    "status_description": "OK",
    "created_at": "2026-11-21T10:00:00.000",
    "processed_at": "2026-11-21T10:00:05.120",
}
REFUND: Mapping[str, Any] = {
    "operation_id": "7f0f2f55-2222-4f6f-9d5b-1f4f0f6d2f01",
    "payment_id": PAYMENT["payment_id"],
    "order_id": "order1",
    "transaction_id": "5d4a4c9e-3333-4f6f-9d5b-1f4f0f6d2f01",
    "pos_id": PAYMENT["pos_id"],
    "mode": "direct",
    "method": "refund",
    "amount": 10,
    "currency": "UAH",
    "status": "success",
    "status_code": "1004",
    "created_at": "2026-11-21T11:00:00.000",
    "processed_at": "2026-11-21T11:00:00.500",
    "fee": None,
}
