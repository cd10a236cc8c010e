"""The scene that most stories of the sandbox play on."""

from collections.abc import AsyncIterator

import pytest

from tests.conftest import Clock
from tests.sandbox.scene import Scene, a_scene


@pytest.fixture
async def scene(clock: Clock) -> AsyncIterator[Scene]:
    async with a_scene(clock) as scene:
        yield scene
