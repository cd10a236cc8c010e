"""Failures of connections to real servers are told apart, and none of the library's wording is shown."""

import asyncio
import datetime as dt
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from app.bootstrap import MANIFEST
from app.flows.accounts.check import describe_failure
from app.rules.connection_remedies import REMEDIES
from gateway_client.client import GatewayClient
from gateway_client.credentials import Credentials
from gateway_client.errors import NotSentError
from integration_base.connection_failures import REASONS, ConnectionFailure, classify_connection_failure
from integration_base.outbound import CheckedTransport, Guard, no_guard
from integration_base_tests.loopback import Behaviour, Garbage, HangUp, ReceivedRequest, Reply, Silence, serve_replies
from integration_base_tests.tls_server import https_server
from saleor_app_sdk.documents import Documents
from saleor_app_sdk.errors import KeysUnusableError, SaleorUnreachableError
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.jwks import fetch_key_set

TIMEOUT = dt.timedelta(seconds=30)


@asynccontextmanager
async def connecting(
    trusted: ssl.SSLContext | None = None, guard: Guard = no_guard
) -> AsyncIterator[httpx2.AsyncClient]:
    transport = CheckedTransport(trusted or ssl.create_default_context(), httpx2.Limits(), guard)
    async with httpx2.AsyncClient(transport=transport, trust_env=False, timeout=0.5) as http:
        yield http


async def failure_of(http: httpx2.AsyncClient, url: str) -> ConnectionFailure:
    with pytest.raises(httpx2.RequestError) as caught:
        await http.get(url)
    return classify_connection_failure(caught.value)


async def test_a_certificate_that_nobody_vouches_for(tmp_path: Path) -> None:
    async with https_server("localhost", tmp_path, []) as (port, _), connecting() as http:
        assert await failure_of(http, f"https://localhost:{port}/") is ConnectionFailure.UNTRUSTED


async def test_the_remedy_for_an_authority_of_ones_own_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "SSL_CERT_FILE" in REMEDIES[ConnectionFailure.UNTRUSTED]
    async with https_server("localhost", tmp_path, []) as (port, _):
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "server.pem"))
        async with connecting() as http:
            assert (await http.get(f"https://localhost:{port}/")).status_code == 204


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

    async with serve_replies(answer) as address, connecting() as http:
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
    async with server, connecting() as http:
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


def test_each_failure_has_words_of_its_own_and_a_remedy() -> None:
    assert REASONS.keys() == REMEDIES.keys() == set(ConnectionFailure)
    assert len(set(REASONS.values())) == len(REASONS)


async def say_gateway(http: httpx2.AsyncClient, url: str) -> str:
    keys = Credentials(
        pos_id="11111111-2222-4333-8444-555555555555", api_key="k", api_secret="s", endpoints_key="e", base_url=url
    )
    with pytest.raises(NotSentError) as caught:
        await GatewayClient(http, keys).balances.accounts(timeout=30)
    assert caught.value.connection is not None
    assert REASONS[caught.value.connection] in str(caught.value)
    return describe_failure(caught.value, "localhost").message


async def say_saleor(http: httpx2.AsyncClient, url: str) -> str:
    with pytest.raises(SaleorUnreachableError) as caught:
        await SaleorClient(http, Documents(MANIFEST / "operations")).who_am_i(f"{url}/graphql/", "x")
    return str(caught.value)


async def say_signing_keys(http: httpx2.AsyncClient, url: str) -> str:
    with pytest.raises(KeysUnusableError) as caught:
        await fetch_key_set(http, f"{url}/graphql/", timeout=TIMEOUT)
    return str(caught.value)


@pytest.mark.parametrize("say", [say_gateway, say_saleor, say_signing_keys])
async def test_whoever_connects_says_the_reason(
    say: Callable[[httpx2.AsyncClient, str], Awaitable[str]], tmp_path: Path
) -> None:
    async with https_server("payments.example.com", tmp_path, []) as (port, trusted), connecting(trusted) as http:
        assert REASONS[ConnectionFailure.OTHER_NAME] in await say(http, f"https://localhost:{port}")
    async with connecting() as http:
        assert REASONS[ConnectionFailure.UNKNOWN_NAME] in await say(http, "https://shop.invalid")
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            refused = await say(http, f"http://127.0.0.1:{silent.getsockname()[1]}")
        assert REASONS[ConnectionFailure.REFUSED] in refused
        assert "Error" not in refused
