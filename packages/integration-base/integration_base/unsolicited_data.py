"""A connection that refuses unsolicited data: what came before it was asked for.

A connection is used for one request after the other, and what arrives on it is the answer to the last one. A server or
proxy that answers one request twice (once more for a body that it had not read, say) would shift all later answers: a
shopper would be led to another's payment page. The HTTP library only notices what is still unread in the socket: not
what it has read already together with the answer before, nor what TLS has received and not decrypted.
"""

import ssl
from typing import Any

import httpcore2


class CheckedStream(httpcore2.AsyncNetworkStream):
    """A stream over another one. ``is_answered``: whether anything was read since something was written last."""

    def __init__(self, inner: httpcore2.AsyncNetworkStream) -> None:
        self._inner = inner
        self._closed = False
        self.is_answered = False

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read; ``timeout`` in seconds."""
        piece = await self._inner.read(max_bytes, timeout)
        self.is_answered = True
        return piece

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write; ``timeout`` in seconds."""
        self.is_answered = False
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        """Close the connection."""
        self._closed = True
        await self._inner.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> "CheckedStream":
        """Return the stream inside of TLS."""
        return CheckedStream(await self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        """Return a fact about the connection; an idle one that ``is_readable`` is closed instead of used again."""
        found = self._inner.get_extra_info(info)
        if info == "is_readable":
            return self._closed or found or self._has_record()
        return found

    def _has_record(self) -> bool:
        """Return whether TLS holds data, or the end. The data is lost then: nothing was asked that it could answer."""
        tls: ssl.SSLObject | None = self._inner.get_extra_info("ssl_object")
        if tls is None:
            return False
        try:
            tls.read(1)
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLError:
            return True
        return True
