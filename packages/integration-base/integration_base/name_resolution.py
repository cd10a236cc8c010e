"""Resolves the names of hosts, so that one whose name server is silent keeps nobody else waiting.

An event loop resolves only a few names at once (uvloop two), and a silent name server occupies it for half a minute,
however soon whoever asked gives up. So each name is resolved in a thread of its own, once for all who wait for it.
"""

import asyncio
import socket
from contextlib import suppress
from socket import getaddrinfo
from threading import Thread

_Found = list[str] | Exception


class NameResolver:
    """Resolves names for one event loop, at most so many at once."""

    def __init__(self, most: int = 200) -> None:
        self._most = most
        self._pending: dict[tuple[str, int], asyncio.Future[_Found]] = {}

    async def resolve(self, host: str, port: int) -> list[str]:
        """Return the addresses of a host. Raises OSError."""
        pending = self._pending.get((host, port))
        if pending is None:
            if len(self._pending) >= self._most:
                raise socket.gaierror(socket.EAI_AGAIN, "too many names are being resolved")
            pending = self._start(host, port)
        found = await asyncio.shield(pending)
        if isinstance(found, list):
            return found
        raise OSError("its name cannot be resolved") from found

    def _start(self, host: str, port: int) -> asyncio.Future[_Found]:
        loop = asyncio.get_running_loop()
        pending: asyncio.Future[_Found] = loop.create_future()

        def end(found: _Found) -> None:
            del self._pending[host, port]
            pending.set_result(found)

        def work() -> None:
            found = _look_up(host, port)
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(end, found)

        try:
            Thread(target=work, name="name", daemon=True).start()  # the process need not wait for it at its end
        except RuntimeError as error:
            raise OSError("no thread can be started") from error
        self._pending[host, port] = pending
        return pending


def _look_up(host: str, port: int) -> _Found:
    try:
        found = getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, ValueError, OverflowError) as error:  # the last two: what can be no name, or no port
        return error
    return list(dict.fromkeys(str(info[4][0]) for info in found))
