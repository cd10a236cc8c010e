"""Nobody who names an address to an app reaches the network that it stands in."""

import asyncio
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpcore2
import httpx2
import pytest

from integration_base.outbound import CheckedBackend, CheckedTransport, is_private, is_public, no_guard
from integration_base_tests.loopback import ReceivedRequest, Reply, serve_replies
from integration_base_tests.outbound import PRIVATE, PUBLIC, Dialled, Names, guarded
from integration_base_tests.tls_server import https_server


@pytest.fixture
async def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    return Names(monkeypatch)


@pytest.mark.threat("ssrf-gateway", "ssrf-saleor")
@pytest.mark.parametrize("host", PRIVATE)
def test_what_is_private_by_its_words(host: str) -> None:
    assert is_private(host)


@pytest.mark.parametrize("host", [*PUBLIC, "example.com", "example.com.", "127.example.com", "0x7f.example"])
def test_what_is_public_by_its_words(host: str) -> None:
    assert not is_private(host)
    assert is_public(host) is (host in PUBLIC)


@pytest.mark.threat("dns-rebinding")
async def test_a_connection_goes_to_what_was_checked_whatever_the_name_leads_to_next(names: Names) -> None:
    names.told["gateway.example.com"] = [["93.184.216.34"], ["127.0.0.1"]]
    dialled = Dialled()
    with pytest.raises(httpcore2.ConnectError):
        await CheckedBackend(guarded, dialled).connect_tcp("gateway.example.com", 443, timeout=30)
    assert (names.asked, dialled.hosts) == (["gateway.example.com"], ["93.184.216.34"])
    with pytest.raises(httpcore2.ConnectError, match="public internet"):
        await CheckedBackend(guarded, dialled).connect_tcp("gateway.example.com", 443, timeout=30)
    assert dialled.hosts == ["93.184.216.34"]


@pytest.mark.threat("dns-rebinding")
@pytest.mark.parametrize("led_to", [["93.184.216.34", "127.0.0.1"], ["127.0.0.1", "93.184.216.34"], []])
async def test_of_several_addresses_none_may_be_private(names: Names, led_to: list[str]) -> None:
    names.told["gateway.example.com"] = [led_to]
    dialled = Dialled()
    with pytest.raises(httpcore2.ConnectError):
        await CheckedBackend(guarded, dialled).connect_tcp("gateway.example.com", 443, timeout=30)
    assert dialled.hosts == []


async def test_one_address_after_the_other_is_tried(names: Names) -> None:
    names.told["gateway.example.com"] = [["8.8.8.8", "93.184.216.34"]]

    async def answer(_heard: ReceivedRequest) -> Reply:
        return Reply()

    async with serve_replies(answer) as address:
        dialled = Dialled(urlsplit(address).port, deaf=["8.8.8.8"])
        stream = await CheckedBackend(guarded, dialled).connect_tcp("gateway.example.com", 443, timeout=30)
        await stream.aclose()
    assert dialled.hosts == ["8.8.8.8", "93.184.216.34"]


async def test_a_name_that_nobody_knows(names: Names) -> None:
    with pytest.raises(httpcore2.ConnectError, match="cannot be resolved"):
        await CheckedBackend(guarded, Dialled()).connect_tcp("nowhere.example.com", 443)


@pytest.mark.threat("false-gateway", "dns-rebinding")
async def test_the_name_stays_in_the_request_and_in_the_proof_of_the_certificate(names: Names, tmp_path: Path) -> None:
    names.told = {"gateway.example.com": [["93.184.216.34"]], "other.example.com": [["93.184.216.34"]]}
    heard: list[bytes] = []
    async with https_server("gateway.example.com", tmp_path, heard) as (port, trusting):
        pool = httpcore2.AsyncConnectionPool(
            ssl_context=trusting, network_backend=CheckedBackend(guarded, Dialled(port))
        )
        async with pool:
            answer = await pool.request("GET", "https://gateway.example.com/x")
            assert answer.status == 204
            # At the same address: it has to prove itself all the same.
            with pytest.raises(httpcore2.ConnectError, match=r"(?i)certificate"):
                await pool.request("GET", "https://other.example.com/x")
    assert len(heard) == 1
    assert b"Host: gateway.example.com\r\n" in heard[0]


async def test_a_peer_that_hangs_up_at_once_is_a_connection_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = httpcore2.AnyIOBackend.connect_tcp

    async def hung_up(*args: Any, **kwargs: Any) -> Any:
        stream: Any = await connect(*args, **kwargs)
        stream._stream._transport.abort()
        await asyncio.sleep(0)
        return stream

    async def answer(_heard: ReceivedRequest) -> Reply:
        return Reply()

    monkeypatch.setattr(httpcore2.AnyIOBackend, "connect_tcp", hung_up)
    transport = CheckedTransport(ssl.create_default_context(), httpx2.Limits(max_connections=4), no_guard)
    async with serve_replies(answer) as address, httpx2.AsyncClient(transport=transport) as client:
        for _ in range(3):  # its share of the connections is given back each time
            with pytest.raises(httpx2.ReadError):
                await client.get(address)
