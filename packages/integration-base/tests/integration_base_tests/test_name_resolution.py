"""Names whose name server says nothing: only who asks for them waits."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from typing import Any

import httpcore2
import pytest

from integration_base.connection_failures import ConnectionFailure, classify_connection_failure
from integration_base.name_resolution import NameResolver
from integration_base.outbound import CheckedBackend, Guard, no_guard
from integration_base_tests.outbound import Dialled, guarded
from integration_base_tests.waiting import unless_it_hangs

SILENT = [f"shop{number}.example.com" for number in range(40)]  # more than the threads of any event loop
ADDRESS = "93.184.216.34"


class NameServer:
    """Answers at once, but not for the silent names: for these once it is set free."""

    def __init__(self) -> None:
        self.free = threading.Event()
        self.asked: list[str] = []

    def getaddrinfo(self, host: str, port: int, **_: Any) -> list[tuple[Any, ...]]:
        self.asked.append(host)
        if host in SILENT:
            self.free.wait()
        if host.startswith("."):
            return socket.getaddrinfo(host, port)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ADDRESS, port))]


@pytest.fixture
def name_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[NameServer]:
    server = NameServer()
    monkeypatch.setattr("integration_base.name_resolution.getaddrinfo", server.getaddrinfo)
    yield server
    server.free.set()


@pytest.mark.fault("saleor-slow", "gateway-slow")
@pytest.mark.parametrize("guard", [guarded, no_guard])
async def test_names_that_are_not_resolved_keep_no_other_host_waiting(name_server: NameServer, guard: Guard) -> None:
    dialled = Dialled()
    backend = CheckedBackend(guard, dialled)
    waiting = [asyncio.create_task(backend.connect_tcp(host, 443)) for host in SILENT]
    await asyncio.sleep(0)  # all of them have asked
    async with unless_it_hangs():
        with pytest.raises(httpcore2.ConnectError):
            await backend.connect_tcp("other.example.com", 443)
    assert dialled.hosts == [ADDRESS]
    assert not any(task.done() for task in waiting)
    name_server.free.set()
    async with unless_it_hangs():
        await asyncio.wait(waiting)
    assert dialled.hosts == [ADDRESS] * 41
    assert all(isinstance(task.exception(), httpcore2.ConnectError) for task in waiting)


async def test_a_name_is_resolved_once_for_all_who_wait_and_anew_for_who_asks_later(name_server: NameServer) -> None:
    names = NameResolver()
    impatient, patient = (asyncio.create_task(names.resolve(SILENT[0], 443)) for _ in range(2))
    await asyncio.sleep(0)
    impatient.cancel()
    name_server.free.set()
    async with unless_it_hangs():
        assert await patient == [ADDRESS]
        assert await names.resolve(SILENT[0], 443) == [ADDRESS]
    assert name_server.asked == [SILENT[0]] * 2


async def test_whoever_gives_up_learns_that_it_took_too_long(name_server: NameServer) -> None:
    with pytest.raises(httpcore2.ConnectTimeout):
        await CheckedBackend(no_guard, Dialled()).connect_tcp(SILENT[0], 443, timeout=0.05)


async def test_of_names_that_take_long_there_are_only_so_many(name_server: NameServer) -> None:
    names = NameResolver(most=2)
    waiting = [asyncio.create_task(names.resolve(host, 443)) for host in SILENT[:2]]
    await asyncio.sleep(0)
    with pytest.raises(OSError, match="too many"):
        await names.resolve("other.example.com", 443)
    name_server.free.set()
    await asyncio.wait(waiting)
    assert await names.resolve("other.example.com", 443) == [ADDRESS]


@pytest.mark.parametrize("host", [".example.com", f".{'a' * 64}.example.com"])
async def test_what_can_be_no_name_is_a_name_that_does_not_resolve(name_server: NameServer, host: str) -> None:
    with pytest.raises(httpcore2.ConnectError) as raised:
        await CheckedBackend(no_guard, Dialled()).connect_tcp(host, 443)
    assert classify_connection_failure(raised.value) is ConnectionFailure.UNKNOWN_NAME
