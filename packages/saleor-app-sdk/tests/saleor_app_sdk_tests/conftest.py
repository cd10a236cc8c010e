from collections.abc import AsyncIterator

import httpx2
import pytest

from integration_base_tests.clock import Clock
from saleor_app_sdk_tests.fake_saleor import API_URL, InMemoryStore, InstalledApp, MinimalSaleor, Row
from saleor_app_sdk_tests.handshake import Handshake
from saleor_app_sdk_tests.served_app import AppClient, ScriptedHandlers, make_app, open_client


@pytest.fixture
def store(clock: Clock) -> InMemoryStore:
    return InMemoryStore(clock)


@pytest.fixture
def saleor() -> MinimalSaleor:
    return MinimalSaleor(apps={"good-token": InstalledApp("QXBwOjE=")})


@pytest.fixture
async def http(saleor: MinimalSaleor) -> AsyncIterator[httpx2.AsyncClient]:
    """Every address in the world leads to the small Saleor, which notes it down."""
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(saleor.asgi)) as client:
        yield client


@pytest.fixture
def installed(store: InMemoryStore, saleor: MinimalSaleor, clock: Clock) -> Row:
    """Make it so that the small Saleor has installed us an hour ago."""
    row = Row(
        API_URL,
        schema_version="3.23",
        app_id="QXBwOjE=",
        token="good-token",
        jwks={"keys": [saleor.key.public]},
        jwks_fetched_at=clock(),
        note="kept",
    )
    store.put(row)
    clock.forward(hours=1)
    return row


@pytest.fixture
def handlers() -> ScriptedHandlers:
    return ScriptedHandlers()


@pytest.fixture
async def app_client(
    store: InMemoryStore, http: httpx2.AsyncClient, clock: Clock, saleor: MinimalSaleor, handlers: ScriptedHandlers
) -> AsyncIterator[AppClient]:
    async with open_client(make_app(store, http, clock, handlers=handlers)) as client:
        yield AppClient(client, saleor, handlers)


@pytest.fixture
async def handshake(store: InMemoryStore, http: httpx2.AsyncClient, clock: Clock) -> AsyncIterator[Handshake]:
    async with open_client(make_app(store, http, clock)) as client:
        yield Handshake(client)
