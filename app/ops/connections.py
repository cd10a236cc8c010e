"""Limits of connections from unknown clients: their number, and the time until each has sent its request.

uvicorn closes a connection that is idle between two requests, but waits without limit for the rest of a request that
has begun and for a client that takes no answer, and accepts any number of connections. Saleor, the gateway and shoppers
send their requests at once, and take their answers.

A request may be answered before all of it has arrived, and be the last of its connection. If that were closed at once,
the unread rest would reset it, and whoever still sends would lose the answer. nginx then answers 502 and sends this
process nothing for a while: anybody could shut others out with one large request. So the rest is read and dropped.
"""

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

READ_WITHIN = 10.0
"""Seconds from the start of a connection, or the first byte of a later request, to the last byte of the body."""

TAKEN_WITHIN = 60.0
"""Seconds in which a client must take a part of what is written to it."""

MOST_HEADER_BYTES = 64 * 1024

_FULL = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 10\r\nConnection: close\r\n\r\n"
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def bounded_protocol(
    most: int, read_within: float = READ_WITHIN, taken_within: float = TAKEN_WITHIN
) -> type[HttpToolsProtocol]:
    """Return uvicorn's protocol for one server that has at most ``most`` connections.

    At that limit a new connection replaces the one whose client has been waited for longest: for the rest of a request,
    or to take the answer; else the one that has been idle longest between two requests. If all requests are being
    processed, the new connection is refused.
    """
    waited_for: dict[_Bounded, None] = {}  # the oldest first
    idle: dict[_Bounded, None] = {}

    class Bounded(_Bounded):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
            self._waited_for, self._idle = waited_for, idle
            self._read_within, self._taken_within = read_within, taken_within
            if len(self.connections) >= most:
                replaced = next(iter(waited_for or idle), None)
                if replaced is None:
                    transport.write(_FULL)
                    transport.close()
                    return
                replaced.end()
            self._socket = transport
            super().connection_made(cast("asyncio.Transport", _DrainingTransport(transport, self)))
            self._accepted = True
            self.start_deadline()

    return Bounded


class _Bounded(HttpToolsProtocol):
    """A connection whose client must send its request, and take the answer, before a deadline."""

    _socket: asyncio.Transport
    _waited_for: dict["_Bounded", None]
    _idle: dict["_Bounded", None]
    _read_within: float
    _taken_within: float
    _accepted = False  # refused, or not made yet
    _deadline: asyncio.TimerHandle | None = None
    _taking: asyncio.TimerHandle | None = None
    _untaken = 0  # bytes
    _header_bytes = 0

    def data_received(self, data: bytes) -> None:
        """Process received data."""
        if not self._accepted or self.transport.is_closing():
            return
        self._idle.pop(self, None)
        super().data_received(data)
        cycle = self._newest_request()
        if cycle is not None and not cycle.response_complete:
            self._header_bytes = 0
            if cycle.more_body:
                self.start_deadline()
            else:
                self._clear_deadline()
        elif cycle is not None and cycle.more_body:  # answered already: the client need not continue sending
            self.start_deadline()
        elif not self.transport.is_closing():
            self._header_bytes += len(data)
            if self._header_bytes > MOST_HEADER_BYTES:
                self.transport.write(_TOO_LARGE)
                self.transport.close()
            else:
                self.start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Clean up after the connection is lost."""
        self._stop_waiting()
        if self._accepted:
            super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Process the end of an answer."""
        super().on_response_complete()
        cycle = self._newest_request()
        if cycle is not None and cycle.response_complete and not self.transport.is_closing():
            self._idle[self] = None

    def pause_writing(self) -> None:
        """Wait for a client that does not take its answer as fast as it is written."""
        super().pause_writing()
        self.start_taking()

    def resume_writing(self) -> None:
        """Go on writing to a client that has taken most of what was written."""
        super().resume_writing()
        self._stop_taking()

    @property
    def is_sent_more(self) -> bool:
        """True while the client has not sent all of a request that has been answered."""
        cycle = self._newest_request()
        return cycle is not None and cycle.response_complete and cycle.more_body

    def _newest_request(self) -> RequestResponseCycle | None:
        """Return the newest request whose header is complete; None before the first."""
        return self.cycle

    def start_deadline(self) -> None:
        """Start the deadline for the rest of a request, unless it is running."""
        if self._deadline is None:
            self._deadline = self.loop.call_later(self._read_within, self.end)
            self._waited_for[self] = None

    def start_taking(self) -> None:
        """Start the deadline for taking what is written, unless it is running."""
        if self._taking is None:
            self._untaken = self._socket.get_write_buffer_size()
            self._taking = self.loop.call_later(self._taken_within, self._require_progress)
            self._waited_for[self] = None

    def _require_progress(self) -> None:
        if self._socket.get_write_buffer_size() >= self._untaken:
            self.end()
            return
        self._stop_taking()
        self.start_taking()

    def end(self) -> None:
        """Close the connection at once, even if its request is incomplete, or its answer not taken."""
        self._stop_waiting()
        self.connections.discard(self)
        self._socket.abort()

    def _stop_taking(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None
            if self._deadline is None:
                self._waited_for.pop(self, None)

    def _clear_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
            if self._taking is None:
                self._waited_for.pop(self, None)

    def _stop_waiting(self) -> None:
        self._clear_deadline()
        self._stop_taking()
        self._idle.pop(self, None)


class _DrainingTransport:
    """The transport that uvicorn sees: closing it waits, until a deadline, for a client that still sends or reads.

    What arrives from then on is dropped (``_Bounded.data_received``).
    """

    def __init__(self, socket: asyncio.Transport, connection: _Bounded) -> None:
        self._socket = socket
        self._connection = connection
        self._is_draining = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)

    def is_closing(self) -> bool:
        """Return True from the first call of ``close`` on."""
        return self._is_draining or self._socket.is_closing()

    def close(self) -> None:
        """Send what is written, and close the connection; a second time, as when the server stops, at once."""
        if self.is_closing() or not self._connection.is_sent_more:
            self._socket.close()
            if self._socket.get_write_buffer_size():
                self._connection.start_taking()
            return
        self._is_draining = True
        self._socket.write_eof()
        self._socket.resume_reading()
        self._connection.start_deadline()
