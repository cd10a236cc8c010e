"""A log of the calls to the gateway's own paths and their responses, for demos and tests.

Only the order, the amount and its currency of a body are stored, and the names of its members: never a card or a
person.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl

from pydantic import BaseModel
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from integration_base.exact_json import NotJsonError, loads

_MAX_CALLS = 1000
_MAX_BODY_BYTES = 64 * 1024
_AMOUNT_FIELDS = ("amount", "charge_amount", "refund_amount")
_CURRENCY_FIELDS = ("currency", "order_currency")


class Call(BaseModel):
    """One call. `seconds` is None until it has ended; `http_status` stays None when there was no response.

    `fields` are the names of the query's and the body's members, as `split.sub_merchant_id` if nested; `answered` those
    of a JSON response, at its top.
    """

    number: int
    at: datetime
    http_method: str
    path: str
    order_id: str | None = None
    amount: Decimal | None = None
    currency: str | None = None
    http_status: int | None = None
    seconds: float | None = None
    fields: list[str] = []
    answered: list[str] = []


class CallLog:
    """The newest calls, oldest first."""

    def __init__(self) -> None:
        self.calls: deque[Call] = deque(maxlen=_MAX_CALLS)
        self._count = 0

    def record(self, at: datetime, http_method: str, path: str) -> Call:
        """Record that a call has arrived, and return the record."""
        self._count += 1
        call = Call(number=self._count, at=at, http_method=http_method, path=path)
        self.calls.append(call)
        return call


class CallRecorder:
    """ASGI middleware that records calls. It is outside of the faults, so it records what the caller sees."""

    def __init__(self, app: ASGIApp, log: CallLog, clock: Callable[[], datetime]) -> None:
        self._app = app
        self._log = log
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a call and record it."""
        if scope["type"] != "http" or not scope["path"].startswith(("/api/", "/streaming-report/")):
            await self._app(scope, receive, send)
            return
        call = self._log.record(self._clock(), scope["method"], scope["path"])
        call.fields = [name for name, _ in parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)]
        body, answer = bytearray(), bytearray()

        async def record_body() -> Message:
            message = await receive()
            if message["type"] == "http.request" and len(body) < _MAX_BODY_BYTES:
                body.extend(message.get("body", b""))
                if not message.get("more_body", False):
                    _add_body_fields(call, bytes(body))
            return message

        async def record_status(message: Message) -> None:
            if message["type"] == "http.response.start":
                call.http_status = message["status"]
            elif len(answer) < _MAX_BODY_BYTES:
                answer.extend(message.get("body", b""))
            await send(message)

        started = time.monotonic()
        try:
            await self._app(scope, record_body, record_status)
        finally:
            call.seconds = time.monotonic() - started
            call.answered = sorted(set(_names_in(_read(answer.partition(b"\n")[0] or answer), depth=1)))


def _add_body_fields(call: Call, body: bytes) -> None:
    fields = _read(body)  # None: a form of the payer's page
    if isinstance(fields, dict):
        call.fields += sorted(set(_names_in(fields, depth=3)))
        call.order_id = _text_or_none(fields.get("order_id"))
        call.amount = next((fields[name] for name in _AMOUNT_FIELDS if _is_number(fields.get(name))), None)
        call.currency = next((_text_or_none(fields[name]) for name in _CURRENCY_FIELDS if name in fields), None)


def _read(body: bytes | bytearray) -> Any:
    try:
        return loads(bytes(body)) if body else None
    except NotJsonError:
        return None


def _names_in(value: Any, *, depth: int) -> Iterator[str]:
    """Yield the names of the members, also of those in lists and objects, to a depth."""
    if isinstance(value, list):
        for item in value:
            yield from _names_in(item, depth=depth)
    elif isinstance(value, dict):
        for name, member in value.items():
            yield name
            if depth > 1:
                yield from (f"{name}.{inner}" for inner in _names_in(member, depth=depth - 1))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None
