"""A line between two programs that can be cut: a TCP proxy on loopback which breaks, refuses or holds connections."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: closing sends a reset and drops what was not sent
_CHUNK = 65536


@dataclass
class Line:
    """A way to ``target``, a host and port. ``is_down``: whoever connects is cut off at once."""

    target: tuple[str, int]
    url: str = ""
    port: int = 0
    is_down: bool = False
    flowing: asyncio.Event = field(default_factory=asyncio.Event)
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    def cut(self) -> int:
        """Break all connections with a reset, whatever is on its way; return how many there were."""
        cut = len(self._writers) // 2
        for writer in list(self._writers):
            _reset(writer)
        return cut

    async def down(self, seconds: float) -> None:
        """Break all connections, and take no new ones for so long."""
        self.is_down = True
        self.cut()
        try:
            await asyncio.sleep(seconds)
        finally:
            self.is_down = False

    async def hold(self, seconds: float) -> None:
        """Let nothing through for so long; then what was held goes on."""
        self.flowing.clear()
        try:
            await asyncio.sleep(seconds)
        finally:
            self.flowing.set()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        self._writers.add(writer)
        try:
            if self.is_down:
                _reset(writer)
                return
            there_reader, there_writer = await asyncio.open_connection(*self.target)
            self._writers.add(there_writer)
            try:
                await asyncio.gather(self._pump(reader, there_writer), self._pump(there_reader, writer))
            finally:
                self._writers.discard(there_writer)
                there_writer.close()
        except OSError:
            _reset(writer)  # nobody is there
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(_CHUNK):
            await self.flowing.wait()
            writer.write(data)
            await writer.drain()
        with suppress(OSError, RuntimeError):
            writer.write_eof()


def _reset(writer: asyncio.StreamWriter) -> None:
    found: socket.socket | None = writer.get_extra_info("socket")
    with suppress(OSError, AttributeError):
        if found is not None:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()


@asynccontextmanager
async def open_line(host: str, port: int) -> AsyncIterator[Line]:
    """Yield a line to that address, with an address of its own on loopback."""
    line = Line((host, port))
    line.flowing.set()
    server = await asyncio.start_server(line.accept, "127.0.0.1", 0)
    line.port = server.sockets[0].getsockname()[1]
    line.url = f"http://127.0.0.1:{line.port}"
    try:
        yield line
    finally:
        server.close()
        line.cut()
