"""Hanging up on a caller: closing the very connection that a request came on, without an answer.

ASGI has no word for that. The HTTP server takes a protocol class of one's choice, so ours remembers each connection
by the caller's address while it is open; the request's `client` finds it again.
"""

import asyncio
from typing import cast

from uvicorn.protocols.http.h11_impl import H11Protocol

Address = tuple[str, int]


class Connections:
    """The open connections of one server."""

    def __init__(self) -> None:
        self._open: dict[Address, asyncio.Transport] = {}

    def hang_up(self, caller: Address) -> bool:
        """Close a caller's connection. False when it is not known (another server, or closed already)."""
        transport = self._open.get(caller)
        if transport is None:
            return False
        transport.close()
        return True

    def protocol(self) -> type[H11Protocol]:
        """The protocol class for a server whose connections are remembered here."""
        connections = self._open

        class RememberedConnection(H11Protocol):
            def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in H11
                self.caller = cast("Address", tuple(transport.get_extra_info("peername")[:2]))
                connections[self.caller] = transport
                super().connection_made(transport)

            def connection_lost(self, exc: Exception | None) -> None:
                connections.pop(self.caller, None)
                super().connection_lost(exc)

        return RememberedConnection
