"""Who was asked what, and how it was answered: the calls to the gateway's own paths, for demos and tests.

Of a body only the order, the amount and its currency are kept, never a card or a person.
"""

import time
from collections import deque
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

from pydantic import BaseModel
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.exact_json import NotJsonError, loads

_KEPT = 1000
_LONGEST_BODY = 64 * 1024
_AMOUNTS = ("amount", "charge_amount", "refund_amount")
_CURRENCIES = ("currency", "order_currency")


class Call(BaseModel):
    """One call. While it is under way `seconds` is None; `http_status` stays None when nothing was answered."""

    number: int
    at: datetime
    http_method: str
    path: str
    order_id: str | None = None
    amount: Decimal | None = None
    currency: str | None = None
    http_status: int | None = None
    seconds: float | None = None


class CallLog:
    """The newest calls, oldest first."""

    def __init__(self) -> None:
        self.calls: deque[Call] = deque(maxlen=_KEPT)
        self._taken = 0

    def begin(self, at: datetime, http_method: str, path: str) -> Call:
        """Write down that a call has come."""
        self._taken += 1
        call = Call(number=self._taken, at=at, http_method=http_method, path=path)
        self.calls.append(call)
        return call


class CallRecorder:
    """ASGI middleware that writes calls down. It stands before the faults: what a caller sees is what is kept."""

    def __init__(self, app: ASGIApp, log: CallLog, clock: Callable[[], datetime]) -> None:
        self._app = app
        self._log = log
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a call and write it down."""
        if scope["type"] != "http" or not scope["path"].startswith(("/api/", "/streaming-report/")):
            await self._app(scope, receive, send)
            return
        call = self._log.begin(self._clock(), scope["method"], scope["path"])
        body = bytearray()

        async def record_body() -> Message:
            message = await receive()
            if message["type"] == "http.request" and len(body) < _LONGEST_BODY:
                body.extend(message.get("body", b""))
                if not message.get("more_body", False):
                    _understand(call, bytes(body))
            return message

        async def note(message: Message) -> None:
            if message["type"] == "http.response.start":
                call.http_status = message["status"]
            await send(message)

        began = time.monotonic()
        try:
            await self._app(scope, record_body, note)
        finally:
            call.seconds = time.monotonic() - began


def _understand(call: Call, body: bytes) -> None:
    try:
        fields = loads(body) if body else None
    except NotJsonError:
        return  # a form of the payer's page
    if isinstance(fields, dict):
        call.order_id = _text(fields.get("order_id"))
        call.amount = next((fields[name] for name in _AMOUNTS if _is_number(fields.get(name))), None)
        call.currency = next((_text(fields[name]) for name in _CURRENCIES if name in fields), None)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
