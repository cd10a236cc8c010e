"""Times in HTTP headers: reading those of other servers, and the ``Date`` of a simulated one."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Message, Receive, Send], Awaitable[None]]

_LONGEST_PAUSE = 3600.0


def read_date(text: str) -> datetime | None:
    """Return the time in a header, in UTC; None if it is none. A time without a zone (``-0000``) is in UTC."""
    try:
        at = parsedate_to_datetime(text)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait, an hour at most, from ``Retry-After``; None if it states none.

    It has seconds, or a date that is compared with the response's own: the clocks may differ.
    """
    text = headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdecimal():
        return float(min(int(text[:9]), _LONGEST_PAUSE))
    until, sent = read_date(text), read_date(headers.get("Date", ""))
    if until is None or sent is None:
        return None
    return min(max((until - sent).total_seconds(), 0.0), _LONGEST_PAUSE)


class DateHeaderMiddleware:
    """Adds a ``Date`` header with this clock's time to each response; the server itself must send no ``Date``."""

    def __init__(self, app: ASGIApp, clock: Callable[[], datetime]) -> None:
        self._app = app
        self._clock = clock

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass the request on to the app, and add ``Date`` to its response."""

        async def send_with_date(message: Message) -> None:
            if message["type"] == "http.response.start":
                date = format_datetime(self._clock(), usegmt=True).encode()
                message = {**message, "headers": [*message.get("headers", ()), (b"date", date)]}
            await send(message)

        await self._app(scope, receive, send_with_date)
