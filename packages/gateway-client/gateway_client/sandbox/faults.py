"""Fault injection: a middleware in front of the gateway that applies the fault rules."""

import asyncio
import re
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway_client.sandbox.connections import Connections
from gateway_client.sandbox.sandbox import Sandbox
from gateway_client.sandbox.scripting import FaultRule
from integration_base.exact_json import NotJsonError, dumps, loads

_ORDER_IN_PATH = re.compile(r"/orders?/([^/]+)")
_HTML = b"<html><head><title>Forbidden</title></head><body><h1>Forbidden</h1></body></html>"
MOVED_TO = "https://moved.gateway.test"
_GARBAGE = b'{"payment_id": "0b5e'


class CallDroppedError(ConnectionError):
    """The connection could not be closed, because none of our servers holds it; the call is aborted all the same."""


class FaultMiddleware:
    """ASGI middleware for the gateway's own paths."""

    def __init__(self, app: ASGIApp, sandbox: Sandbox, connections: Connections) -> None:
        self._app = app
        self._sandbox = sandbox
        self._connections = connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a call, unless a rule prevents that."""
        path: str = scope.get("path", "")
        if scope["type"] != "http" or not path.startswith(("/api/", "/streaming-report/")):
            await self._app(scope, receive, send)
            return
        body, state = await _read_body(receive), self._sandbox.state
        rule = self._sandbox.rules.take_fault_rule(
            scope["method"], path, _order_id(scope["raw_path"].decode("latin-1"), body)
        )
        if rule is None:
            await self._app(scope, _replay_body(body, receive), send)
        elif rule.moment == "before":
            await self._delay(rule)
            if self._sandbox.state is not state:  # reset meanwhile: the call was meant for what is gone
                await self._drop_connection(scope, receive)
            elif rule.effect == "latency":
                await self._app(scope, _replay_body(body, receive), send)
            else:
                await self._apply_fault(rule, scope, receive, send, response=[])
        else:
            response: list[Message] = []

            async def collect(message: Message) -> None:
                response.append(message)

            await self._app(scope, _replay_body(body, receive), collect)
            await self._delay(rule)
            await self._apply_fault(rule, scope, receive, send, response)

    async def _delay(self, rule: FaultRule) -> None:
        """Wait for the rule's seconds, at most until the rules are cleared."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._sandbox.rules_cleared.wait(), rule.seconds)

    async def _apply_fault(
        self, rule: FaultRule, scope: Scope, receive: Receive, send: Send, response: list[Message]
    ) -> None:
        headers = {"content-type": "application/json", **{k.lower(): v for k, v in rule.headers.items()}}
        match rule.effect:
            case "latency":
                for message in response:
                    await send(message)
            case "status":
                await self._send_scripted_response(rule, scope, headers, send, response)
            case "garbage":
                await _send_response(send, 200, headers, (rule.body or "").encode() or _GARBAGE)
            case "truncate":
                await _send_response(send, 200, headers | {"content-length": "4096"}, _GARBAGE, more=True)
                await self._drop_connection(scope, receive)
            case "drop":
                await self._drop_connection(scope, receive)

    async def _send_scripted_response(
        self, rule: FaultRule, scope: Scope, headers: dict[str, str], send: Send, response: list[Message]
    ) -> None:
        body, media_type = _scripted_body(rule, response)
        if rule.body is None:
            headers = {"content-type": media_type} | {k.lower(): v for k, v in rule.headers.items()}
        if 300 <= rule.status < 400:  # the host has moved
            query = scope.get("query_string", b"").decode("latin-1")
            headers.setdefault("location", f"{MOVED_TO}{scope['path']}" + (f"?{query}" if query else ""))
        await _send_response(send, rule.status, headers, body)

    async def _drop_connection(self, scope: Scope, receive: Receive) -> None:
        caller = scope.get("client")
        if caller is None or not self._connections.drop((caller[0], caller[1])):
            raise CallDroppedError("scripted")
        # The server sends a 500 for an application that returns without a response, unless it knows that the caller
        # has disconnected.
        while (await receive())["type"] != "http.disconnect":
            pass


def _scripted_body(rule: FaultRule, response: list[Message]) -> tuple[bytes, str]:
    """Return the body of a scripted response, and its media type."""
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
            return b"".join(message.get("body", b"") for message in response), "application/json"
    return dumps({"message": "Scripted answer", "args": {"code": f"P-{rule.status}"}}).encode(), "application/json"


async def _send_response(send: Send, status: int, headers: dict[str, str], body: bytes, *, more: bool = False) -> None:
    headers.setdefault("content-length", str(len(body)))
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body, "more_body": more})


async def _read_body(receive: Receive) -> bytes:
    body: bytes = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return body


def _replay_body(body: bytes, receive: Receive) -> Receive:
    delivered = False

    async def receive_replayed() -> Message:
        nonlocal delivered
        if delivered:
            return await receive()
        delivered = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_replayed


def _order_id(sent_path: str, body: bytes) -> str | None:
    """Return the order that a call names; in the path as it was sent, where a slash of its id is escaped."""
    if found := _ORDER_IN_PATH.search(sent_path):
        return unquote(found[1])
    try:
        value: Any = loads(body) if body else None
    except NotJsonError:
        return None
    return value.get("order_id") if isinstance(value, dict) else None
