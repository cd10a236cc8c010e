"""The ways between the three: HTTP requests to ASGI applications in this process, and what becomes of them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextvars import Context
from typing import Any

import httpx2
from starlette.types import ASGIApp, Message

Place = Callable[[httpx2.Request], Coroutine[Any, Any, httpx2.Response]]


class Roads(httpx2.AsyncBaseTransport):
    """Leads a request to the place that has its port."""

    def __init__(self, places: Mapping[int, Place]) -> None:
        self._places = places

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the answer of the place, or raise as a broken connection would."""
        # Each place is a process of its own: what it begins does not end with whoever called.
        work = self._places[request.url.port or 80](request)
        answered = await asyncio.create_task(work, context=Context())
        # What was made with its content counts as read already; whoever called may want to read it piece by piece.
        body = b"".join(answered.stream) if isinstance(answered.stream, httpx2.SyncByteStream) else b""
        return httpx2.Response(answered.status_code, headers=answered.headers, stream=_Body(body))


class _Body(httpx2.AsyncByteStream):
    def __init__(self, content: bytes) -> None:
        self._content = content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._content


async def serve(app: ASGIApp, request: httpx2.Request) -> httpx2.Response:
    """Let an application answer a request. Raises RemoteProtocolError when it breaks off."""
    body, asked = await request.aread(), False
    status, headers, content, complete = 0, list[tuple[bytes, bytes]](), bytearray(), False

    async def receive() -> Message:
        nonlocal asked
        if asked:
            return {"type": "http.disconnect"}
        asked = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status, complete
        if message["type"] == "http.response.start":
            status = message["status"]
            headers.extend(message.get("headers", ()))
        elif message["type"] == "http.response.body":
            content.extend(message.get("body", b""))
            complete = not message.get("more_body", False)

    url = request.url
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": url.scheme,
        "path": url.path,
        "raw_path": url.raw_path.partition(b"?")[0],
        "query_string": url.query,
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "server": (url.host, url.port),
        "client": ("127.0.0.1", 1),
    }
    await app(scope, receive, send)
    if not complete:
        raise httpx2.RemoteProtocolError("the answer broke off")
    return httpx2.Response(status, headers=headers, content=bytes(content), request=request)
