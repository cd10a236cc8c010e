"""Connections that strangers may hold: so many, and each for only so long before its request is there.

uvicorn ends a connection that is idle between two requests, but waits without end for the rest of one that has begun,
and takes any number of them. Saleor, the gateway and shoppers send what they have to say at once.
"""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

READ_WITHIN = 10.0
"""Seconds from the first moment of a connection, or from the first byte of a later request, to the last of its body."""

MOST_HEADER_BYTES = 64 * 1024

_FULL = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 10\r\nConnection: close\r\n\r\n"
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def bounded_protocol(most: int, read_within: float = READ_WITHIN) -> type[HttpToolsProtocol]:
    """Return uvicorn's protocol, for one server, which has at most so many connections.

    When there are so many, the one that has been silent longest in the midst of its request makes room for a new one;
    if all have said what they want, the new one is refused.
    """
    reading: dict[_Bounded, None] = {}  # those whose request is not all there, the oldest first

    class Bounded(_Bounded):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
            self._reading, self._read_within = reading, read_within
            if len(self.connections) >= most:
                if not reading:
                    transport.write(_FULL)
                    transport.close()
                    return
                next(iter(reading)).end()
            super().connection_made(transport)
            self._taken = True
            self.wait_for_request()

    return Bounded


class _Bounded(HttpToolsProtocol):
    """A connection whose request must be there in time."""

    _reading: dict["_Bounded", None]
    _read_within: float
    _taken = False  # refused, or not made yet
    _too_late: asyncio.TimerHandle | None = None
    _header_bytes = 0

    def data_received(self, data: bytes) -> None:
        """Take what has come."""
        if not self._taken or self.transport.is_closing():
            return
        super().data_received(data)
        cycle = self._newest()
        if cycle is not None and not cycle.response_complete:
            self._header_bytes = 0
            if cycle.more_body:
                self.wait_for_request()
            else:
                self._stop_waiting()
        elif cycle is not None and cycle.more_body:  # answered already: whoever sends it need not go on
            self.wait_for_request()
        elif not self.transport.is_closing():
            self._header_bytes += len(data)
            if self._header_bytes > MOST_HEADER_BYTES:
                self.transport.write(_TOO_LARGE)
                self.end()
            else:
                self.wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        if self._taken:
            super().connection_lost(exc)

    def _newest(self) -> RequestResponseCycle | None:
        """Return the newest request whose header is there; None before the first."""
        return self.cycle

    def wait_for_request(self) -> None:
        """Give the rest of a request its time, which begins once."""
        if self._too_late is None:
            self._too_late = self.loop.call_later(self._read_within, self.end)
            self._reading[self] = None

    def end(self) -> None:
        """End the connection, whatever it still has to say."""
        self._stop_waiting()
        self.connections.discard(self)
        self.transport.close()

    def _stop_waiting(self) -> None:
        self._reading.pop(self, None)
        if self._too_late is not None:
            self._too_late.cancel()
            self._too_late = None
