"""Where this process may connect to: nobody who names an address to it reaches the network that it stands in.

What a host looks like is not where it leads: a name can resolve to this machine, and to something else a moment later.
So a host that was chosen by somebody who does not run the app is resolved, all that it resolves to is checked, and the
connection goes to what was checked; the name stays in the request and in the proof of the server's certificate.
"""

import asyncio
import ipaddress
import re
import socket
import ssl
from collections.abc import Callable, Iterable
from time import monotonic
from typing import TypeAlias

import httpcore2
import httpx2

Guard: TypeAlias = Callable[[str], bool]
"""Says of a host, a name or an address without brackets, whether it may only lead to the public internet."""

_PRIVATE_NAMES = (".localhost", ".internal", ".local", ".test")
# Addresses in a form of long ago, which resolvers still take: 127.1, 0x7f.0.0.1, 0177.0.0.1, 2130706433.
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+", re.IGNORECASE)


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
    """The usual way of requests, over connections that are opened by a ``CheckedBackend``."""

    def __init__(self, verify: ssl.SSLContext, limits: httpx2.Limits, guard: Guard) -> None:
        super().__init__(verify=verify, limits=limits, trust_env=False)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=verify,
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=CheckedBackend(guard),
        )


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
