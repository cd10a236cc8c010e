"""The clock that a played server shows to whoever looks at its answers."""

from collections.abc import Callable
from datetime import datetime
from email.utils import format_datetime

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class DatedByClock:
    """Says in each answer what its own clock shows; the server must send no ``Date`` itself."""

    def __init__(self, app: ASGIApp, clock: Callable[[], datetime]) -> None:
        self._app = app
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the app does, with a ``Date``."""

        async def dated(message: Message) -> None:
            if message["type"] == "http.response.start":
                date = format_datetime(self._clock(), usegmt=True).encode()
                message = {**message, "headers": [*message.get("headers", ()), (b"date", date)]}
            await send(message)

        await self._app(scope, receive, dated)
