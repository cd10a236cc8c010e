"""A Saleor and an app, both on real ports; time-outs and retries are quick."""

from collections.abc import AsyncIterator

import pytest

from saleor_app_sdk.testing import FakeSaleor, SaleorSettings, Serving, serving
from saleor_app_sdk_tests.testing.stub import Stub, open_stub

QUICK = SaleorSettings(delay_factor=0)
SHORT = {"read_timeout": 0.4}
"""A fault for tests of apps that do not answer: all others answer in time on the busiest machine."""


@pytest.fixture
async def serving_saleor() -> AsyncIterator[Serving]:
    """A Saleor that serves in this loop."""
    async with serving(QUICK) as running:
        yield running


@pytest.fixture
def saleor(serving_saleor: Serving) -> FakeSaleor:
    """The person in front of it."""
    return serving_saleor.saleor


@pytest.fixture
async def stub() -> AsyncIterator[Stub]:
    """An app that is not installed yet."""
    async with open_stub() as app:
        yield app


@pytest.fixture
async def installed(saleor: FakeSaleor, stub: Stub) -> Stub:
    """An app that is installed."""
    done = await saleor.install(stub.manifest_url)
    assert done.status == "INSTALLED", done.message
    return stub
