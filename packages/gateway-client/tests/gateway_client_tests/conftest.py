import ssl
from collections.abc import AsyncIterator

import httpx2
import pytest

from gateway_client.client import GatewayClient
from gateway_client.credentials import Credentials
from gateway_client_tests.counterpart import PAYMENT, ScriptedServer, open_scripted_server

POS_ID = str(PAYMENT["pos_id"])


@pytest.fixture(scope="session")
def ssl_context() -> ssl.SSLContext:
    return ssl.create_default_context()


@pytest.fixture
async def http(ssl_context: ssl.SSLContext) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(verify=ssl_context, trust_env=False) as client:
        yield client


@pytest.fixture
async def gateway() -> AsyncIterator[ScriptedServer]:
    async with open_scripted_server() as other:
        yield other


@pytest.fixture
def credentials(gateway: ScriptedServer) -> Credentials:
    return Credentials(
        pos_id=POS_ID,
        api_key="key-of-the-api",
        api_secret="secret-of-the-api",
        endpoints_key="key-of-endpoints",
        base_url=gateway.url,
    )


class RecordedSleeps:
    """Remembers how long somebody wanted to sleep, and lets nobody sleep."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


@pytest.fixture
def naps() -> RecordedSleeps:
    return RecordedSleeps()


@pytest.fixture
def client(http: httpx2.AsyncClient, credentials: Credentials, naps: RecordedSleeps) -> GatewayClient:
    return GatewayClient(http, credentials, sleep=naps)
