"""Names that lead where a test says, and connections that go where it says."""

import socket
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import httpcore2
import httpx2
import pytest

from integration_base.outbound import CheckedTransport, Guard, no_guard
from integration_base_tests.waiting import LONGEST_WAIT

PRIVATE = [
    "localhost", "LOCALHOST", "localhost.", "sandbox", "db.internal", "x.localhost", "x.localhost.", "printer.local",
    "127.0.0.1", "127.1", "127.0.1", "0x7f.0.0.1", "0x7f000001", "0X7F.1", "0177.0.0.1", "017700000001", "2130706433",
    "127.0.0.1.", "0.0.0.0", "0",  # noqa: S104 - nothing is bound
    "10.0.0.7", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "100.127.255.254", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1",
    "fe80::1%eth0",
    "fc00::1", "fd12::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:10.0.0.7", "::ffff:100.64.0.1",
    "64:ff9b::7f00:1", "64:ff9b::a00:7", "2002:7f00:1::", "2002:a00:7::", "example.0x7f", "evil.example.127",
]  # fmt: skip
PUBLIC = ["93.184.216.34", "8.8.8.8", "100.128.0.1", "2606:2800:220:1:248:1893:25c8:1946"]


class Names:
    """What names resolve to, each time anew; the last answer stays."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.told: dict[str, list[list[str]]] = {}
        self.asked: list[str] = []
        monkeypatch.setattr("integration_base.name_resolution.getaddrinfo", self.getaddrinfo)

    def getaddrinfo(self, host: str, port: int, **_: Any) -> list[tuple[Any, ...]]:
        self.asked.append(host)
        if host not in self.told:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        answers = self.told[host]
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]


class Dialled(httpcore2.AsyncNetworkBackend):
    """Writes down whom it is to connect to, and connects to ``port`` of this machine instead, if it has one."""

    def __init__(self, port: int | None = None, deaf: Iterable[str] = ()) -> None:
        self.hosts: list[str] = []
        self._port, self._deaf = port, set(deaf)

    async def connect_tcp(self, host: str, *_: Any, **__: Any) -> httpcore2.AsyncNetworkStream:
        self.hosts.append(host)
        if self._port is None or host in self._deaf:
            raise httpcore2.ConnectError("nobody there")
        return await httpcore2.AnyIOBackend().connect_tcp("127.0.0.1", self._port)


def guarded(_host: str) -> bool:
    return True


@asynccontextmanager
async def connecting(
    trusted: ssl.SSLContext | None = None, guard: Guard = no_guard, *, timeout: float = LONGEST_WAIT
) -> AsyncIterator[httpx2.AsyncClient]:
    """``timeout``: seconds for each step, such as the look-up of a name; short only where a test waits for its end."""
    transport = CheckedTransport(trusted or ssl.create_default_context(), httpx2.Limits(), guard)
    async with httpx2.AsyncClient(transport=transport, trust_env=False, timeout=timeout) as http:
        yield http
