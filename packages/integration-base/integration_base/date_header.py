"""The ``Date`` header of a simulated server: its clock as clients see it."""

from collections.abc import Awaitable, Callable, MutableMapping
from datetime import datetime
from email.utils import format_datetime
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Message, Receive, Send], Awaitable[None]]


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
