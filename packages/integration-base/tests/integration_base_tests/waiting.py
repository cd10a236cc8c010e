"""Waiting until something holds. How long that takes says more about the machine than about the code."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

LONGEST_WAIT = 120.0
"""Seconds after which something hangs for certain: far more than it takes on a machine that does ten other things."""


def unless_it_hangs() -> asyncio.Timeout:
    """Return a context that ends what hangs in it with TimeoutError."""
    return asyncio.timeout(LONGEST_WAIT)


async def eventually(true: Callable[[], Awaitable[T | None]]) -> T:
    """Wait until the callable returns something true, and return that. Raises AssertionError when that hangs."""
    loop = asyncio.get_running_loop()
    end = loop.time() + LONGEST_WAIT
    while True:
        found = await true()
        if found:
            return found
        assert loop.time() < end, f"did not come true within {LONGEST_WAIT:.0f} s: {true}"
        await asyncio.sleep(0.05)
