"""The app connects to no private network at the word of who names a gateway or a Saleor to it."""

from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest

from app.bootstrap import MANIFEST, build_gateway_guard, build_saleor_guard, create_http_client
from app.settings import Settings
from gateway_client.client import GatewayClient
from gateway_client.credentials import Credentials
from gateway_client.errors import GatewayError, NotSentError
from gateway_client_tests.conftest import POS_ID
from gateway_client_tests.counterpart import ScriptedServer, open_scripted_server
from integration_base.outbound import is_private, no_guard
from integration_base_tests.loopback import json_reply
from integration_base_tests.outbound import Names, guarded
from saleor_app_sdk.documents import Documents
from saleor_app_sdk.errors import KeysUnusableError, SaleorUnreachableError
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.jwks import fetch_key_set


@pytest.fixture
async def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    return Names(monkeypatch)


@pytest.fixture
async def neighbour() -> AsyncIterator[ScriptedServer]:
    """Something of this machine that must not hear anything."""
    async with open_scripted_server() as other:
        yield other


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


async def test_every_request_says_which_program_sends_it(neighbour: ScriptedServer) -> None:
    """Firewalls for web applications turn away what names itself as a library for programs does."""
    neighbour.will_answer(json_reply({}), json_reply({"keys": []}), json_reply([]))
    url = f"{neighbour.url}/graphql/"
    async with create_http_client(no_guard) as http:
        with pytest.raises(SaleorUnreachableError):
            await SaleorClient(http, Documents(MANIFEST / "operations")).who_am_i(url, "token")
        with pytest.raises(KeysUnusableError):
            await fetch_key_set(http, url, timeout=timedelta(seconds=30))
        keys = Credentials(POS_ID, "key", "secret", "endpoints", neighbour.url)
        with suppress(GatewayError):  # whatever it makes of the answer
            await GatewayClient(http, keys).get_order("order1", timeout=30)
    assert [request.header("User-Agent") for request in neighbour.requests] == ["saleor-gateway"] * 3


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
