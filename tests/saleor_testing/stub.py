"""A payment app on a real port that does what the test tells it, and remembers what it was asked."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from app.saleor.testing.vocabulary import WebhookEvent
from tests.saleor_testing.recordings import recording

Headers = list[tuple[str, str]]


@dataclass
class Asked:
    """A request as it came over the wire: header names in their own case and order."""

    method: str
    path: str
    headers: Headers
    body: bytes

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)

    def header(self, name: str) -> str:
        """Return a header by its name."""
        return dict(self.headers)[name]


@dataclass
class Told:
    """What to answer: status and JSON (or raw text); ``drop`` cuts the connection, ``delay`` waits first."""

    body: Any = None
    status: int = 200
    headers: Headers = field(default_factory=list)
    drop: bool = False
    delay: float = 0


Answerer = Callable[[Asked], Told]


class Stub:
    """The app. ``answers`` maps a path to one answer, to a list of answers in turn, or to a function."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[Asked] = []
        self.answers: dict[str, Told | list[Told] | Answerer] = {"/register": Told({"success": True})}
        self.manifest = manifest(url)

    @property
    def manifest_url(self) -> str:
        """Where Saleor finds the manifest."""
        return f"{self.url}/manifest"

    def answer(self, event: WebhookEvent, *told: Told | Answerer) -> None:
        """Answer an event: always the same, or one after the other, or what a function says."""
        [first, *more] = told
        if more:
            self.answers[f"/{event.value}"] = [item for item in told if isinstance(item, Told)]
        else:
            self.answers[f"/{event.value}"] = first

    def asked_for(self, path: str) -> list[Asked]:
        """Return the requests to a path (an event's name without slash will do)."""
        return [asked for asked in self.asked if asked.path.strip("/") == path.strip("/")]

    def _told(self, asked: Asked) -> Told:
        if asked.path == "/manifest" and "/manifest" not in self.answers:
            return Told(self.manifest)
        told = self.answers.get(asked.path.partition("?")[0], Told({"error": "unexpected"}, status=404))
        if isinstance(told, list):
            return told.pop(0)
        return told if isinstance(told, Told) else told(asked)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read one request, answer it, close."""
        try:
            asked = await _read(reader)
            self.asked.append(asked)
            told = self._told(asked)
            await asyncio.sleep(told.delay)
            if not told.drop:
                content = (told.body if isinstance(told.body, str) else json.dumps(told.body)).encode()
                more = "".join(f"{name}: {value}\r\n" for name, value in told.headers)
                head = (
                    f"HTTP/1.1 {told.status} Told\r\nContent-Length: {len(content)}\r\nConnection: close\r\n{more}\r\n"
                )
                writer.write(head.encode() + content)
                await writer.drain()
        except ConnectionError:
            pass  # Saleor lost its patience; that is what some tests are about.
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Asked:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = [(name, value) for name, _, value in (line.partition(": ") for line in lines)]
    length = int(dict(headers).get("Content-Length", "0"))
    return Asked(method, path, headers, await reader.readexactly(length))


def manifest(url: str) -> dict[str, Any]:
    """Return the recorded manifest, its addresses moved to ``url``; a webhook's path is its event."""
    recorded: dict[str, Any] = recording("install/manifest_fetch_request")["response"]["body"]
    for hook in recorded["webhooks"]:
        hook["targetUrl"] = f"{url}/{hook['name']}"
    return {**recorded, "appUrl": f"{url}/", "tokenTargetUrl": f"{url}/register"}


@asynccontextmanager
async def a_stub() -> AsyncIterator[Stub]:
    """Serve a stub on a free port."""
    stub = Stub("")
    server = await asyncio.start_server(stub.handle, "127.0.0.1", 0)
    stub.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    stub.manifest = manifest(stub.url)
    async with server:
        yield stub
