"""The harness that most stories of the sandbox play on."""

from collections.abc import AsyncIterator

import pytest

from tests.conftest import Clock
from tests.sandbox.harness import Harness, open_harness


@pytest.fixture
async def harness(clock: Clock) -> AsyncIterator[Harness]:
    async with open_harness(clock) as harness:
        yield harness
