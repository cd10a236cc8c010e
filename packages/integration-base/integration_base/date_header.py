"""Times in HTTP headers: reading those of other servers, and the ``Date`` of a simulated one."""

from collections.abc import Awaitable, Callable, MutableMapping
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Message, Receive, Send], Awaitable[None]]


def read_date(text: str) -> datetime | None:
    """Return the time in a header, in UTC; None if it is none. A time without a zone (``-0000``) is in UTC."""
    try:
        at = parsedate_to_datetime(text)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


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
