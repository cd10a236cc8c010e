"""The transport between the three: HTTP requests to ASGI applications in this process."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextvars import Context
from typing import Any

import httpx2
from starlette.types import ASGIApp, Message

Endpoint = Callable[[httpx2.Request], Coroutine[Any, Any, httpx2.Response]]


class PortRouter(httpx2.AsyncBaseTransport):
    """Routes a request to the endpoint that has its port."""

    def __init__(self, endpoints: Mapping[int, Endpoint]) -> None:
        self._endpoints = endpoints

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the response of the endpoint, or raise as a broken connection would."""
        # Each endpoint stands for a process of its own: a task that it starts does not end with its caller.
        work = self._endpoints[request.url.port or 80](request)
        response = await asyncio.create_task(work, context=Context())
        # A response created with its content counts as read already; the caller may want to stream it.
        body = b"".join(response.stream) if isinstance(response.stream, httpx2.SyncByteStream) else b""
        return httpx2.Response(response.status_code, headers=response.headers, stream=_Body(body))


class _Body(httpx2.AsyncByteStream):
    def __init__(self, content: bytes) -> None:
        self._content = content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._content


async def serve(app: ASGIApp, request: httpx2.Request) -> httpx2.Response:
    """Let an application answer a request. Raises RemoteProtocolError when the response is incomplete."""
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
