"""The part that makes things go wrong: it stands before the gateway and applies the fault rules."""

import asyncio
import re
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.exact_json import NotJsonError, dumps, loads
from app.sandbox.connections import Connections
from app.sandbox.sandbox import Sandbox
from app.sandbox.scripting import FaultRule

_ORDER_IN_PATH = re.compile(r"/orders?/([^/]+)")
_HTML = b"<html><head><title>Forbidden</title></head><body><h1>Forbidden</h1></body></html>"
MOVED_TO = "https://moved.gateway.test"
_GARBAGE = b'{"payment_id": "0b5e'


class CallDroppedError(ConnectionError):
    """The connection could not be closed, because no server of ours holds it; the call ends all the same."""


class Faults:
    """ASGI middleware over the gateway's own paths."""

    def __init__(self, app: ASGIApp, sandbox: Sandbox, connections: Connections) -> None:
        self._app = app
        self._sandbox = sandbox
        self._connections = connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a call, unless a rule says otherwise."""
        path: str = scope.get("path", "")
        if scope["type"] != "http" or not path.startswith(("/api/", "/streaming-report/")):
            await self._app(scope, receive, send)
            return
        body = await _read(receive)
        rule = self._sandbox.rules.take_fault(scope["method"], path, _order_id(path, body))
        if rule is None:
            await self._app(scope, _replay(body, receive), send)
        elif rule.moment == "before":
            await asyncio.sleep(rule.seconds)
            if rule.effect == "latency":
                await self._app(scope, _replay(body, receive), send)
            else:
                await self._spoil(rule, scope, receive, send, answer=[])
        else:
            answer: list[Message] = []

            async def keep(message: Message) -> None:
                answer.append(message)

            await self._app(scope, _replay(body, receive), keep)
            await asyncio.sleep(rule.seconds)
            await self._spoil(rule, scope, receive, send, answer)

    async def _spoil(self, rule: FaultRule, scope: Scope, receive: Receive, send: Send, answer: list[Message]) -> None:
        headers = {"content-type": "application/json", **{k.lower(): v for k, v in rule.headers.items()}}
        match rule.effect:
            case "latency":
                for message in answer:
                    await send(message)
            case "status":
                await self._answer_by(rule, scope, headers, send, answer)
            case "garbage":
                await _answer(send, 200, headers, (rule.body or "").encode() or _GARBAGE)
            case "truncate":
                await _answer(send, 200, headers | {"content-length": "4096"}, _GARBAGE, more=True)
                await self._hang_up(scope, receive)
            case "drop":
                await self._hang_up(scope, receive)

    async def _answer_by(
        self, rule: FaultRule, scope: Scope, headers: dict[str, str], send: Send, answer: list[Message]
    ) -> None:
        body, media_type = _worded(rule, answer)
        if rule.body is None:
            headers = {"content-type": media_type} | {k.lower(): v for k, v in rule.headers.items()}
        if 300 <= rule.status < 400:  # the host has moved
            query = scope.get("query_string", b"").decode("latin-1")
            headers.setdefault("location", f"{MOVED_TO}{scope['path']}" + (f"?{query}" if query else ""))
        await _answer(send, rule.status, headers, body)

    async def _hang_up(self, scope: Scope, receive: Receive) -> None:
        caller = scope.get("client")
        if caller is None or not self._connections.hang_up((caller[0], caller[1])):
            raise CallDroppedError("scripted")
        # The server answers 500 for an application that returns silently, unless it knows that the caller is gone.
        while (await receive())["type"] != "http.disconnect":
            pass


def _worded(rule: FaultRule, answer: list[Message]) -> tuple[bytes, str]:
    """The body of a scripted answer, and its media type."""
    if rule.body is not None:
        return rule.body.encode(), "application/json"
    match rule.wording:
        case "html":
            return _HTML, "text/html"
        case "empty":
            return b"", "text/plain"
        case "other":
            return dumps({"message": "no Route matched with those values"}).encode(), "application/json"
        case "record":
            return b"".join(message.get("body", b"") for message in answer), "application/json"
    return dumps({"message": "Scripted answer", "args": {"code": f"P-{rule.status}"}}).encode(), "application/json"


async def _answer(send: Send, status: int, headers: dict[str, str], body: bytes, *, more: bool = False) -> None:
    headers.setdefault("content-length", str(len(body)))
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body, "more_body": more})


async def _read(receive: Receive) -> bytes:
    body: bytes = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return body


def _replay(body: bytes, receive: Receive) -> Receive:
    given = False

    async def replayed() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


def _order_id(path: str, body: bytes) -> str | None:
    if found := _ORDER_IN_PATH.search(path):
        return found[1]
    try:
        value: Any = loads(body) if body else None
    except NotJsonError:
        return None
    return value.get("order_id") if isinstance(value, dict) else None
