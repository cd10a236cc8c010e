"""Whoever connects says why a connection failed, in words that are ours, with a remedy that works."""

import datetime as dt
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx2
import pytest

from app.bootstrap import MANIFEST
from app.flows.accounts.check import describe_failure
from app.rules.connection_remedies import REMEDIES, remedy_for
from gateway_client.client import GatewayClient
from gateway_client.credentials import Credentials
from gateway_client.errors import NotSentError
from integration_base.connection_failures import REASONS, ConnectionFailure
from integration_base_tests.outbound import connecting
from integration_base_tests.tls_server import https_server
from saleor_app_sdk.documents import Documents
from saleor_app_sdk.errors import KeysUnusableError, SaleorError, SaleorUnreachableError
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.jwks import fetch_key_set

TIMEOUT = dt.timedelta(seconds=30)


async def test_the_remedy_for_an_authority_of_ones_own_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "SSL_CERT_FILE" in REMEDIES[ConnectionFailure.UNTRUSTED]
    async with https_server("localhost", tmp_path, []) as (port, _):
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "server.pem"))
        async with connecting() as http:
            assert (await http.get(f"https://localhost:{port}/")).status_code == 204


def test_each_failure_has_a_remedy() -> None:
    assert REMEDIES.keys() == set(ConnectionFailure)


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"])
async def test_machine_with_a_proxy_is_told_that_the_app_uses_none(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection is as it would be without the proxy, and the operator reads why it fails."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        address = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        async with connecting() as http:
            assert "HTTPS_PROXY" not in await say_gateway(http, address)
            monkeypatch.setenv(name, "http://proxy.example.com:3128")
            assert "the app uses no proxy, not even that of HTTPS_PROXY" in await say_gateway(http, address)


def test_proxy_of_the_environment_explains_no_failure_behind_the_connection() -> None:
    proxy = {"HTTPS_PROXY": "http://proxy.example.com:3128"}
    assert remedy_for(ConnectionFailure.EXPIRED, proxy) == REMEDIES[ConnectionFailure.EXPIRED]
    assert remedy_for(ConnectionFailure.TIMED_OUT, {"HTTPS_PROXY": ""}) == REMEDIES[ConnectionFailure.TIMED_OUT]
    assert remedy_for(ConnectionFailure.TIMED_OUT, proxy) != REMEDIES[ConnectionFailure.TIMED_OUT]


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
    return _reason_in(caught.value)


async def say_signing_keys(http: httpx2.AsyncClient, url: str) -> str:
    with pytest.raises(KeysUnusableError) as caught:
        await fetch_key_set(http, f"{url}/graphql/", timeout=TIMEOUT)
    return _reason_in(caught.value)


def _reason_in(error: SaleorError) -> str:
    """Return what an error says, in which the reason is that of its kind."""
    assert error.connection is not None
    assert REASONS[error.connection] in str(error)
    return str(error)


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
