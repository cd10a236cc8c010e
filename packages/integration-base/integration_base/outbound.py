"""Limits of outgoing requests: the hosts this process may connect to, the size of responses, and the time to wait.

An address that is supplied from outside never reaches the network in which this process runs (no SSRF).

A host's name does not show where it leads: it can resolve to this machine, and to something else a moment later. So a
host that was chosen by anyone but the operator is resolved, all of its addresses are checked, and the connection goes
to a checked address; the name stays in the request and in the verification of the server's certificate.

The size of a response body is bounded, too. The HTTP library decompresses all received data at once, also data that was
compressed twice: 64 KiB of it can become gigabytes. And it takes a truncated or empty compressed body for a complete
one. So bodies are decompressed here, chunk by chunk.
"""

import asyncio
import ipaddress
import re
import ssl
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from contextlib import aclosing
from time import monotonic
from types import MappingProxyType
from typing import TypeAlias, cast
from weakref import WeakValueDictionary

import httpcore2
import httpx2

from integration_base.connection_failures import NotPublicError
from integration_base.name_resolution import NameResolver
from integration_base.unsolicited_data import CheckedStream

Guard: TypeAlias = Callable[[str], bool]
"""Returns True if a host, a name or an address without brackets, may only lead to the public internet."""

NO_COMPRESSION: Mapping[str, str] = MappingProxyType({"Accept-Encoding": "identity"})
"""The header of a request that asks for no compression."""

_SHARE_PER_HOST = 0.6  # of all connections
_UNPACKED_CHUNK = 64 * 1024  # bytes that are decompressed before their number is checked
_PRIVATE_NAMES = (".localhost", ".internal", ".local", ".test")
# The last part of an address in a legacy form, which resolvers still accept: 127.1, 0x7f.0.0.1, 0177.0.0.1, 2130706433.
_NUMERIC_PART = re.compile(r"0x[0-9a-f]*|[0-9]+", re.IGNORECASE)


class Deadline:
    """A budget of seconds (laws of money, 11), counted from its creation and shared by all work for one response.

    For a webhook it is created when the request arrives, before any of the request is read.
    """

    def __init__(self, seconds: float, monotonic: Callable[[], float] = monotonic) -> None:
        self._monotonic = monotonic
        self._end = monotonic() + seconds

    @property
    def left(self) -> float:
        """The remaining seconds; never negative."""
        return max(0.0, self._end - self._monotonic())


def no_guard(_host: str) -> bool:
    """Guard no host: for a developer's machine."""
    return False


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_private(host: str) -> bool:
    """Return True if ``host`` names this machine or a private network, judging by its text alone: no name is resolved.

    An address in any form but the usual one counts as private.
    """
    name = host.lower().removesuffix(".")
    if not _is_address(name):
        return (
            "." not in name
            or name.endswith(_PRIVATE_NAMES)
            or _NUMERIC_PART.fullmatch(name.rpartition(".")[2]) is not None
        )
    return not is_public(name)


def is_public(address: str) -> bool:
    """Return True if an IP address is public, and so is any IPv4 address that is embedded in it."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        inner = [found.ipv4_mapped, found.sixtofour, *(found.teredo or ())]
        if found in _NAT64_NETWORK:
            inner.append(ipaddress.IPv4Address(int(found) & 0xFFFFFFFF))
        if any(embedded is not None and not is_public(str(embedded)) for embedded in inner):
            return False
    return found.is_global and not (found.is_multicast or found.is_reserved or found.is_unspecified)


_NAT64_NETWORK = ipaddress.IPv6Network("64:ff9b::/96")  # IPv4 addresses translated by NAT64 (RFC 6052)


class CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Opens connections; those to a guarded host only to the addresses that were checked."""

    def __init__(self, guard: Guard, inner: httpcore2.AsyncNetworkBackend | None = None) -> None:
        self._guard = guard
        self._inner = inner or httpcore2.AnyIOBackend()
        self._names = NameResolver()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect; ``timeout`` in seconds. Raises ConnectError and ConnectTimeout."""
        is_guarded = self._guard(host)
        until = None if timeout is None else monotonic() + timeout
        addresses = await self._resolve(host, port, timeout)
        if is_guarded and not all(map(is_public, addresses)):
            raise NotPublicError("it does not lead to the public internet")
        if not is_guarded and len(addresses) > 1:
            addresses = [host]  # all of them are tried side by side
        failure: Exception = httpcore2.ConnectError("it resolves to nothing")
        for number, address in enumerate(addresses):
            # Each address gets its share of the remaining time, so that an unresponsive one does not use up all of it.
            left = None if until is None else max(until - monotonic(), 0.0) / (len(addresses) - number)
            try:
                stream = await self._inner.connect_tcp(address, port, left, local_address, socket_options)
                return CheckedStream(stream)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure

    async def _resolve(self, host: str, port: int, timeout: float | None) -> list[str]:
        """Return the addresses of a host. Raises ConnectError and ConnectTimeout."""
        if _is_address(host):
            return [host]
        try:
            async with asyncio.timeout(timeout):
                return await self._names.resolve(host, port)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout("its name was not resolved in time") from error
        except OSError as error:
            raise httpcore2.ConnectError("its name cannot be resolved") from error

    async def sleep(self, seconds: float) -> None:
        """Sleep between two attempts."""
        await self._inner.sleep(seconds)


class CheckedTransport(httpx2.AsyncHTTPTransport):
    """The usual HTTP transport, over connections that are opened by a ``CheckedBackend``.

    No host can occupy all connections: if it were slow or down, all requests would wait. A request to a host whose
    share is in use waits as for a free connection, with the same timeout.
    """

    def __init__(self, verify: ssl.SSLContext, limits: httpx2.Limits, guard: Guard) -> None:
        super().__init__(verify=verify, limits=limits, trust_env=False)
        self._share = None if limits.max_connections is None else max(1, int(limits.max_connections * _SHARE_PER_HOST))
        self._hosts: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=verify,
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=CheckedBackend(guard),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request. Raises httpx2.PoolTimeout, before anything is sent, if no connection is free in time."""
        if self._share is None:
            return await self._send(request)
        part = self._hosts.setdefault(request.url.netloc.decode(), asyncio.Semaphore(self._share))
        try:
            async with asyncio.timeout(request.extensions.get("timeout", {}).get("pool")):
                await part.acquire()
        except TimeoutError:
            raise httpx2.PoolTimeout("all connections that one host may have are in use", request=request) from None
        try:
            response = await self._send(request)
        except BaseException:
            part.release()
            raise
        response.stream = _SlotReleasingBody(cast("httpx2.AsyncByteStream", response.stream), part)
        return response

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; a connection that its peer ends in the very moment in which it is taken is one that failed.

        Such a socket has no addresses any more, and anyio does not expect that. Nor is anything an answer that was
        there before the request.
        """
        try:
            response = await super().handle_async_request(request)
        except AttributeError as error:
            raise httpx2.ReadError("the connection ended as soon as it was taken", request=request) from error
        stream = response.extensions.get("network_stream")
        if isinstance(stream, CheckedStream) and not stream.is_answered:
            await stream.aclose()
            await response.aclose()
            raise httpx2.ReadError("the answer was there before the request", request=request)
        return response


class _SlotReleasingBody(httpx2.AsyncByteStream):
    """A response body that releases its host's connection slot when it is closed."""

    def __init__(self, body: httpx2.AsyncByteStream, part: asyncio.Semaphore) -> None:
        self._body = body
        self._part: asyncio.Semaphore | None = part

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._body:
            yield piece

    async def aclose(self) -> None:
        """Close the body; further calls have no effect on the slot."""
        part, self._part = self._part, None
        try:
            await self._body.aclose()
        finally:
            if part is not None:
                part.release()


class BodyError(Exception):
    """A response body cannot be accepted. The message states why, and quotes nothing of it."""


async def stream_body(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    """Yield the body of an opened response as it arrives, in chunks no larger than received, or 64 KiB.

    We request no compression; a body that was compressed once on the way is decompressed. Raises BodyError for any
    other content coding and for an incomplete body, and the errors of the HTTP library.
    """
    codings = [part.strip().lower() for part in response.headers.get("Content-Encoding", "").split(",")]
    match [coding for coding in codings if coding not in ("", "identity")]:
        case []:
            async for piece in response.aiter_raw():
                yield piece
            return
        case ["gzip" | "x-gzip"]:
            window = 16 + zlib.MAX_WBITS
        case ["deflate"]:
            window = zlib.MAX_WBITS
        case _:
            raise BodyError("an answer in a coding that was not asked for")
    unpacking = zlib.decompressobj(window)
    try:
        async for piece in response.aiter_raw():
            packed = piece
            while packed:
                if unpacking.eof:  # a body may be several compressed files, one after the other
                    unpacking = zlib.decompressobj(window)
                yield unpacking.decompress(packed, _UNPACKED_CHUNK)
                packed = unpacking.unused_data if unpacking.eof else unpacking.unconsumed_tail
        whole = unpacking.eof
    except zlib.error:
        whole = False
    if not whole:
        raise BodyError("a compressed answer that is not whole")


async def read_at_most(limit: int, response: httpx2.Response) -> bytes:
    """Return the body of an opened response. Raises BodyError as soon as it exceeds ``limit`` bytes, and the errors of
    ``stream_body``.
    """
    body = bytearray()
    async with aclosing(stream_body(response)) as arriving:
        async for piece in arriving:
            body += piece
            if len(body) > limit:
                raise BodyError("the answer is too large")
    return bytes(body)
