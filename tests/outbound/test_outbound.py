"""Nobody who names an address to the app reaches the network that it stands in."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpcore2
import pytest

from app.bootstrap import build_gateway_guard, build_saleor_guard, create_http_client
from app.settings import Settings
from gateway_client.client import GatewayClient
from gateway_client.credentials import Credentials
from gateway_client.errors import NotSentError
from gateway_client.hosts import is_on_private_network, is_webhook_reachable
from gateway_client_tests.conftest import POS_ID
from gateway_client_tests.counterpart import ScriptedServer, open_scripted_server
from integration_base.outbound import CheckedBackend, is_private, is_public
from integration_base_tests.loopback import json_reply
from integration_base_tests.tls_server import https_server

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


@pytest.mark.threat("ssrf-gateway", "ssrf-saleor")
@pytest.mark.parametrize("host", PRIVATE)
def test_what_is_private_by_its_words(host: str) -> None:
    assert is_private(host)
    url = f"https://[{host.replace('%', '%25')}]" if ":" in host else f"https://{host}"
    assert is_on_private_network(url)
    assert not is_webhook_reachable(url)


@pytest.mark.parametrize("host", [*PUBLIC, "example.com", "example.com.", "127.example.com", "0x7f.example"])
def test_what_is_public_by_its_words(host: str) -> None:
    assert not is_private(host)
    assert is_public(host) is (host in PUBLIC)


class Names:
    """What names resolve to, each time anew; the last answer stays."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.told: dict[str, list[list[str]]] = {}
        self.asked: list[str] = []
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(loop, "getaddrinfo", self.getaddrinfo)

    async def getaddrinfo(self, host: str, port: int, **_: Any) -> list[tuple[Any, ...]]:
        self.asked.append(host)
        if host not in self.told:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        answers = self.told[host]
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in found]


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


@pytest.fixture
async def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    return Names(monkeypatch)


@pytest.fixture
async def neighbour() -> AsyncIterator[ScriptedServer]:
    """Something of this machine that must not hear anything."""
    async with open_scripted_server() as other:
        yield other


def guarded(_host: str) -> bool:
    return True


class TestTheGatewaysClient:
    @pytest.mark.threat("ssrf-gateway")
    @pytest.mark.parametrize(
        "led_to", [["127.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["::ffff:127.0.0.1"], ["10.0.0.7"]]
    )
    async def test_a_name_that_leads_to_a_private_network_is_not_followed(
        self, names: Names, neighbour: ScriptedServer, led_to: list[str]
    ) -> None:
        names.told["gateway.example.com"] = [led_to]
        keys = Credentials(
            POS_ID, "key", "secret", "endpoints", f"https://gateway.example.com:{urlsplit(neighbour.url).port}"
        )
        async with create_http_client(guarded) as http:
            with pytest.raises(NotSentError):
                await GatewayClient(http, keys).check_credentials(timeout=30)
        assert neighbour.requests == []

    async def test_where_the_operator_has_said_so_it_is(self, neighbour: ScriptedServer) -> None:
        neighbour.will_answer(json_reply([]))
        keys = Credentials(POS_ID, "key", "secret", "endpoints", neighbour.url)
        async with create_http_client(lambda host: not is_private(host)) as http:
            await GatewayClient(http, keys).check_credentials(timeout=30)
        assert len(neighbour.requests) == 1


@pytest.mark.threat("dns-rebinding")
async def test_a_connection_goes_to_what_was_checked_whatever_the_name_leads_to_next(names: Names) -> None:
    names.told["gateway.example.com"] = [["93.184.216.34"], ["127.0.0.1"]]
    dialled = Dialled()
    with pytest.raises(httpcore2.ConnectError):
        await CheckedBackend(guarded, dialled).connect_tcp("gateway.example.com", 443, timeout=1)
    assert (names.asked, dialled.hosts) == (["gateway.example.com"], ["93.184.216.34"])
    with pytest.raises(httpcore2.ConnectError, match="public internet"):
        await CheckedBackend(guarded, dialled).connect_tcp("gateway.example.com", 443, timeout=1)
    assert dialled.hosts == ["93.184.216.34"]


@pytest.mark.threat("dns-rebinding")
@pytest.mark.parametrize("led_to", [["93.184.216.34", "127.0.0.1"], ["127.0.0.1", "93.184.216.34"], []])
async def test_of_several_addresses_none_may_be_private(names: Names, led_to: list[str]) -> None:
    names.told["gateway.example.com"] = [led_to]
    dialled = Dialled()
    with pytest.raises(httpcore2.ConnectError):
        await CheckedBackend(guarded, dialled).connect_tcp("gateway.example.com", 443, timeout=1)
    assert dialled.hosts == []


async def test_one_address_after_the_other_is_tried(names: Names, neighbour: ScriptedServer) -> None:
    names.told["gateway.example.com"] = [["8.8.8.8", "93.184.216.34"]]
    dialled = Dialled(urlsplit(neighbour.url).port, deaf=["8.8.8.8"])
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


def settings(**changes: Any) -> Settings:
    return Settings(base_url="https://pay.example.com", **changes)


@pytest.mark.threat("ssrf-gateway")
def test_which_gateways_are_guarded() -> None:
    guard = build_gateway_guard(settings())
    assert guard("gateway.example.com")
    assert guard("93.184.216.34")
    assert not guard("sandbox")  # only whoever runs the app can have named it
    at_home = build_gateway_guard(Settings(base_url="http://127.0.0.1:8000"))
    assert not at_home("gateway.example.com")


@pytest.mark.threat("ssrf-saleor")
def test_which_saleors_are_guarded() -> None:
    allowed = (
        "https://*.saleor.example.com/graphql/",
        "https://shop.saleor.example.com/graphql/",
        "http://api:8000/graphql/",
    )
    guard = build_saleor_guard(settings(allowed_saleor_urls=allowed))
    assert guard("stranger.saleor.example.com")
    assert not guard("shop.saleor.example.com")
    assert not guard("api")
    assert not build_saleor_guard(Settings(base_url="http://127.0.0.1:8000"))("localhost")
