"""The harness that most stories of the sandbox play on."""

from collections.abc import AsyncIterator

import pytest

from gateway_client_tests.sandbox.harness import Harness, open_harness
from integration_base_tests.clock import Clock


@pytest.fixture
async def harness(clock: Clock) -> AsyncIterator[Harness]:
    async with open_harness(clock) as harness:
        yield harness
