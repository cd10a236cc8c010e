"""A Saleor is a store's own server, and the app's memory is that of all stores: what it answers is bounded."""

import gzip
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import Response

from integration_base_tests.loopback import ReceivedRequest, Reply, serve_replies
from saleor_app_sdk.errors import KeysUnusableError, SaleorUnreachableError
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.jwks import fetch_key_set
from saleor_app_sdk_tests.graphql_api import saleor_client, serve_graphql

MEBIBYTE = 1024 * 1024
CODINGS = ("gzip", "gzip, gzip")


@pytest.fixture
def peak() -> Iterator[None]:
    """Nothing here may take what a bomb unpacks to."""
    tracemalloc.start()
    yield
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 64 * MEBIBYTE, f"{most / MEBIBYTE:.0f} MiB"


@pytest.fixture(scope="module")
def bombs() -> dict[str, bytes]:
    """Answers that unpack to a quarter of a gigabyte, by how they are packed."""
    bomb = gzip.compress(b" " * 256 * MEBIBYTE)
    return dict(zip(CODINGS, (bomb, gzip.compress(bomb)), strict=True))


@pytest.fixture
async def client() -> AsyncIterator[SaleorClient]:
    async with saleor_client() as client:
        yield client


@pytest.mark.threat("decompression-bomb")
@pytest.mark.parametrize("coding", CODINGS)
async def test_an_answer_that_unpacks_to_a_quarter_of_a_gigabyte(
    client: SaleorClient, bombs: dict[str, bytes], peak: None, coding: str
) -> None:
    async def bomb(_request: Request) -> Response:
        return Response(bombs[coding], headers={"Content-Encoding": coding}, media_type="application/json")

    async with serve_graphql(bomb) as here:
        with pytest.raises(SaleorUnreachableError, match="BodyError"):
            await client.who_am_i(here.saleor_api_url, "the-token")


@pytest.mark.threat("huge-body")
async def test_an_answer_that_goes_on_and_on(client: SaleorClient, peak: None) -> None:
    async def long(_heard: ReceivedRequest) -> Reply:
        return Reply(body=(b" " * MEBIBYTE,) * 200, headers={"Content-Type": "application/json"})

    async with serve_replies(long) as address:
        with pytest.raises(SaleorUnreachableError, match="BodyError"):
            await client.who_am_i(f"{address}/graphql/", "the-token")


async def test_what_somebody_on_the_way_compresses_is_read(client: SaleorClient) -> None:
    asked: list[str] = []

    async def packed(request: Request) -> Response:
        asked.append(request.headers["accept-encoding"])
        body = gzip.compress(b'{"data":{"app":{"id":"QXBwOjE=","identifier":"gateway.payments.app"}}}')
        return Response(body, headers={"Content-Encoding": "gzip"}, media_type="application/json")

    async with serve_graphql(packed) as here:
        assert (await client.who_am_i(here.saleor_api_url, "the-token")).id == "QXBwOjE="
    assert asked == ["identity"], "nobody is asked to"


@pytest.mark.threat("decompression-bomb")
@pytest.mark.parametrize("coding", CODINGS)
async def test_a_key_set_that_unpacks_to_a_quarter_of_a_gigabyte(
    bombs: dict[str, bytes], peak: None, coding: str
) -> None:
    async def bomb(_heard: ReceivedRequest) -> Reply:
        return Reply(body=bombs[coding], headers={"Content-Encoding": coding})

    async with serve_replies(bomb) as address, httpx2.AsyncClient() as http:
        with pytest.raises(KeysUnusableError, match=r"too large|not asked for"):
            await fetch_key_set(http, f"{address}/graphql/", timeout=timedelta(seconds=20))


@pytest.mark.threat("ssrf-redirect")
async def test_a_key_set_is_not_fetched_from_where_its_address_leads() -> None:
    """Only the address itself is on the allow-list: also where the client follows redirects otherwise."""
    asked: list[str] = []

    async def elsewhere(heard: ReceivedRequest) -> Reply:
        asked.append(heard.path)
        return Reply(302, headers={"Location": "/other.json"})

    async with serve_replies(elsewhere) as address, httpx2.AsyncClient(follow_redirects=True) as http:
        with pytest.raises(KeysUnusableError, match="answered 302"):
            await fetch_key_set(http, f"{address}/graphql/", timeout=timedelta(seconds=20))
    assert asked == ["/.well-known/jwks.json"]
