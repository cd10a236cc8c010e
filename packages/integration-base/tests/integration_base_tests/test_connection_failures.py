"""Failures of connections to real servers are told apart."""

import asyncio
import datetime as dt
import socket
from pathlib import Path

import httpx2
import pytest

from integration_base.connection_failures import REASONS, ConnectionFailure, classify_connection_failure
from integration_base.outbound import Guard, no_guard
from integration_base_tests.loopback import Behaviour, Garbage, HangUp, ReceivedRequest, Reply, Silence, serve_replies
from integration_base_tests.outbound import connecting
from integration_base_tests.tls_server import https_server
from integration_base_tests.waiting import LONGEST_WAIT


def test_each_failure_has_words_of_its_own() -> None:
    assert REASONS.keys() == set(ConnectionFailure)
    assert len(set(REASONS.values())) == len(REASONS)


async def failure_of(http: httpx2.AsyncClient, url: str) -> ConnectionFailure:
    with pytest.raises(httpx2.RequestError) as caught:
        await http.get(url)
    return classify_connection_failure(caught.value)


def timeout_for(expected: ConnectionFailure) -> float:
    """Return the seconds after which the client gives up: few only where that is what is expected."""
    return 0.5 if expected is ConnectionFailure.TIMED_OUT else LONGEST_WAIT


async def test_a_certificate_that_nobody_vouches_for(tmp_path: Path) -> None:
    async with https_server("localhost", tmp_path, []) as (port, _), connecting() as http:
        assert await failure_of(http, f"https://localhost:{port}/") is ConnectionFailure.UNTRUSTED


async def test_a_certificate_that_has_expired(tmp_path: Path) -> None:
    async with (
        https_server("localhost", tmp_path, [], valid_for=-dt.timedelta(days=1)) as (port, trusted),
        connecting(trusted) as http,
    ):
        assert await failure_of(http, f"https://localhost:{port}/") is ConnectionFailure.EXPIRED


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
async def test_a_certificate_for_another_name(host: str, tmp_path: Path) -> None:
    async with (
        https_server("payments.example.com", tmp_path, []) as (port, trusted),
        connecting(trusted) as http,
    ):
        assert await failure_of(http, f"https://{host}:{port}/") is ConnectionFailure.OTHER_NAME


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_port_at_which_nothing_listens(host: str) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # nobody else can listen there
        async with connecting() as http:
            refused = await failure_of(http, f"http://{host}:{silent.getsockname()[1]}/")
    assert refused is ConnectionFailure.REFUSED


@pytest.mark.parametrize("guard", [no_guard, lambda _host: True], ids=["unguarded", "guarded"])
async def test_a_name_that_does_not_resolve(guard: Guard) -> None:
    async with connecting(guard=guard) as http:
        assert await failure_of(http, "https://shop.invalid/") is ConnectionFailure.UNKNOWN_NAME


async def test_a_guarded_name_that_leads_to_this_machine() -> None:
    async with connecting(guard=lambda _host: True) as http:
        assert await failure_of(http, "http://localhost/") is ConnectionFailure.NOT_PUBLIC


@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        (Silence(), ConnectionFailure.TIMED_OUT),
        (HangUp(), ConnectionFailure.BROKEN),
        (Garbage(), ConnectionFailure.BROKEN),
        (Reply(body=b"a part", length=500), ConnectionFailure.BROKEN),
    ],
    ids=str,
)
async def test_a_server_that_does_not_answer_as_one(behaviour: Behaviour, expected: ConnectionFailure) -> None:
    async def answer(_heard: ReceivedRequest) -> Behaviour:
        return behaviour

    async with serve_replies(answer) as address, connecting(timeout=timeout_for(expected)) as http:
        assert await failure_of(http, address) is expected


@pytest.mark.parametrize(
    ("first_bytes", "expected"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", ConnectionFailure.NO_TLS),
        (b"", ConnectionFailure.BROKEN),
        (None, ConnectionFailure.TIMED_OUT),
    ],
)
async def test_a_server_that_speaks_no_tls(first_bytes: bytes | None, expected: ConnectionFailure) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await (reader.read() if first_bytes is None else reader.read(1))  # all of it: until the client gives up
        writer.write(first_bytes or b"")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server, connecting(timeout=timeout_for(expected)) as http:
        assert await failure_of(http, f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/") is expected


async def test_all_connections_in_use() -> None:
    arrived = asyncio.Event()

    async def answer(_heard: ReceivedRequest) -> Behaviour:
        arrived.set()
        return Silence()

    limits = httpx2.Limits(max_connections=1)
    async with (
        serve_replies(answer) as address,
        httpx2.AsyncClient(limits=limits, trust_env=False, timeout=httpx2.Timeout(30, pool=0.1)) as http,
    ):
        first = asyncio.create_task(http.get(address))
        await arrived.wait()
        assert await failure_of(http, address) is ConnectionFailure.ALL_IN_USE
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
