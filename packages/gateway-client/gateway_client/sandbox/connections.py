"""Dropping a caller: closing the connection on which a request arrived, without a response.

ASGI has no message for that. The HTTP server accepts a custom protocol class, so ours tracks each open connection by
the caller's address; the request's `client` is the key to it.
"""

import asyncio
from typing import cast

from uvicorn.protocols.http.h11_impl import H11Protocol

Address = tuple[str, int]


class Connections:
    """The open connections of one server."""

    def __init__(self) -> None:
        self._open: dict[Address, asyncio.Transport] = {}

    def drop(self, caller: Address) -> bool:
        """Close a caller's connection. Return False when it is unknown (of another server, or already closed)."""
        transport = self._open.get(caller)
        if transport is None:
            return False
        transport.close()
        return True

    def protocol_class(self) -> type[H11Protocol]:
        """Return a protocol class for the server whose connections are tracked here."""
        connections = self._open

        class TrackedConnection(H11Protocol):
            def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in H11
                self.caller = cast("Address", tuple(transport.get_extra_info("peername")[:2]))
                connections[self.caller] = transport
                super().connection_made(transport)

            def connection_lost(self, exc: Exception | None) -> None:
                connections.pop(self.caller, None)
                super().connection_lost(exc)

        return TrackedConnection
