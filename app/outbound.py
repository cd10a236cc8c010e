"""Where this process may connect to, how much it takes from there, and how long it waits.

Nobody who names an address to it reaches the network that it stands in.

What a host looks like is not where it leads: a name can resolve to this machine, and to something else a moment later.
So a host that was chosen by somebody who does not run the app is resolved, all that it resolves to is checked, and the
connection goes to what was checked; the name stays in the request and in the proof of the server's certificate.

And whoever answers there, what the body of an answer grows to is bounded. The HTTP library unpacks what arrives at
once, also what was packed twice: 64 KiB of it can become gigabytes. And it takes a body that breaks off, or that has
nothing in it, for a shorter one. So bodies are unpacked here, piece by piece.
"""

import asyncio
import ipaddress
import re
import socket
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

Guard: TypeAlias = Callable[[str], bool]
"""Says of a host, a name or an address without brackets, whether it may only lead to the public internet."""

UNPACKED: Mapping[str, str] = MappingProxyType({"Accept-Encoding": "identity"})
"""The header of a request that asks for no compression."""

_PART_OF_A_HOST = 0.6  # of all connections
_AT_ONCE = 64 * 1024  # bytes that are unpacked before somebody looks at how many there are
_PRIVATE_NAMES = (".localhost", ".internal", ".local", ".test")
# Addresses in a form of long ago, which resolvers still take: 127.1, 0x7f.0.0.1, 0177.0.0.1, 2130706433.
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+", re.IGNORECASE)


class Deadline:
    """A budget of seconds (laws of money, 11), counted from its making, shared by all that is done for one answer.

    For a webhook it is made when the request arrives, before anything of the request is read.
    """

    def __init__(self, seconds: float, monotonic: Callable[[], float] = monotonic) -> None:
        self._monotonic = monotonic
        self._end = monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds left; never negative."""
        return max(0.0, self._end - self._monotonic())


def no_guard(_host: str) -> bool:
    """Let every host lead anywhere: for a developer's machine."""
    return False


def is_private(host: str) -> bool:
    """Whether ``host`` names this machine or a private network, by its words: nobody is asked where a name leads.

    An address in any but its usual form counts as one.
    """
    name = host.lower().removesuffix(".")
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return (
            "." not in name or name.endswith(_PRIVATE_NAMES) or _NUMBER.fullmatch(name.rpartition(".")[2]) is not None
        )
    return not is_public(name)


def is_public(address: str) -> bool:
    """Whether an IP address belongs to somebody on the public internet, also after what is wrapped in it is undone."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        inner = [found.ipv4_mapped, found.sixtofour, *(found.teredo or ())]
        if found in _TRANSLATED:
            inner.append(ipaddress.IPv4Address(int(found) & 0xFFFFFFFF))
        if any(each is not None and not is_public(str(each)) for each in inner):
            return False
    return found.is_global and not (found.is_multicast or found.is_reserved or found.is_unspecified)


_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")  # IPv4 addresses as NAT64 writes them (RFC 6052)


class CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Opens connections; those to a guarded host only to what it was seen to resolve to."""

    def __init__(self, guard: Guard, inner: httpcore2.AsyncNetworkBackend | None = None) -> None:
        self._guard = guard
        self._inner = inner or httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect; ``timeout`` in seconds. Raises ConnectError and ConnectTimeout."""
        if not self._guard(host):
            return await self._inner.connect_tcp(host, port, timeout, local_address, socket_options)
        until = None if timeout is None else monotonic() + timeout
        addresses = await _checked(host, port, timeout)
        failure: Exception = httpcore2.ConnectError("it resolves to nothing")
        for number, address in enumerate(addresses):
            # Each gets its part of what is left, or the first that does not answer takes all of it.
            left = None if until is None else max(until - monotonic(), 0.0) / (len(addresses) - number)
            try:
                return await self._inner.connect_tcp(address, port, left, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure

    async def sleep(self, seconds: float) -> None:
        """Sleep between two tries."""
        await self._inner.sleep(seconds)


class CheckedTransport(httpx2.AsyncHTTPTransport):
    """The usual way of requests, over connections that are opened by a ``CheckedBackend``.

    One host never has all of them: what is slow or down would make everybody wait. Who finds its part in use waits as
    for a free connection, and as long.
    """

    def __init__(self, verify: ssl.SSLContext, limits: httpx2.Limits, guard: Guard) -> None:
        super().__init__(verify=verify, limits=limits, trust_env=False)
        self._share = None if limits.max_connections is None else max(1, int(limits.max_connections * _PART_OF_A_HOST))
        self._hosts: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=verify,
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=CheckedBackend(guard),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request. Raises httpx2.PoolTimeout, before anything is sent, where there was no connection in time."""
        if self._share is None:
            return await super().handle_async_request(request)
        part = self._hosts.setdefault(request.url.netloc.decode(), asyncio.Semaphore(self._share))
        try:
            async with asyncio.timeout(request.extensions.get("timeout", {}).get("pool")):
                await part.acquire()
        except TimeoutError:
            raise httpx2.PoolTimeout("all connections that one host may have are in use", request=request) from None
        try:
            response = await super().handle_async_request(request)
        except BaseException:
            part.release()
            raise
        response.stream = _Borrowed(cast("httpx2.AsyncByteStream", response.stream), part)
        return response


class _Borrowed(httpx2.AsyncByteStream):
    """The body of an answer, over a connection that is given back when it is closed."""

    def __init__(self, body: httpx2.AsyncByteStream, part: asyncio.Semaphore) -> None:
        self._body = body
        self._part: asyncio.Semaphore | None = part

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._body:
            yield piece

    async def aclose(self) -> None:
        """Close the body; more than once is like once."""
        part, self._part = self._part, None
        try:
            await self._body.aclose()
        finally:
            if part is not None:
                part.release()


async def _checked(host: str, port: int, timeout: float | None) -> list[str]:
    """Return what a host resolves to. Raises ConnectError unless all of it is public, or ConnectTimeout."""
    try:
        async with asyncio.timeout(timeout):
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except TimeoutError as error:
        raise httpcore2.ConnectTimeout("its name was not resolved in time") from error
    except OSError as error:
        raise httpcore2.ConnectError("its name cannot be resolved") from error
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    if not all(map(is_public, addresses)):
        raise httpcore2.ConnectError("it does not lead to the public internet")
    return addresses


class BodyError(Exception):
    """The body of an answer cannot be taken as it is. The message says why, and quotes nothing."""


async def pieces(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    """Give the body of an opened answer as it arrives, none of its pieces larger than what has arrived, or 64 KiB.

    We ask for no compression; what somebody on the way has compressed, once, is unpacked. Raises BodyError for a coding
    that nobody asked for, and for a body that is not whole; and what the HTTP library raises.
    """
    codings = [each.strip().lower() for each in response.headers.get("Content-Encoding", "").split(",")]
    match [each for each in codings if each not in ("", "identity")]:
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
                if unpacking.eof:  # several compressed files, one after the other, are one body
                    unpacking = zlib.decompressobj(window)
                yield unpacking.decompress(packed, _AT_ONCE)
                packed = unpacking.unused_data if unpacking.eof else unpacking.unconsumed_tail
        whole = unpacking.eof
    except zlib.error:
        whole = False
    if not whole:
        raise BodyError("a compressed answer that is not whole")


async def read_at_most(limit: int, response: httpx2.Response) -> bytes:
    """Return the body of an opened answer. Raises BodyError as soon as it is longer than ``limit`` bytes, and what
    ``pieces`` raises.
    """
    body = bytearray()
    async with aclosing(pieces(response)) as arriving:
        async for piece in arriving:
            body += piece
            if len(body) > limit:
                raise BodyError("the answer is too large")
    return bytes(body)
