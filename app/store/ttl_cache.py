"""A short-lived cache of rows that hardly ever change and are read all the time."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable, Mapping
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

TTL = timedelta(seconds=1)


class TtlCache(Generic[K, V]):
    """Rows by their names, each valid for ``TTL`` after it was read.

    A change made by another process is seen that much later. Code that makes one in this process calls ``invalidate``
    after its commit. Concurrent callers that need the same row share one read.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._cached: dict[K, tuple[datetime, V]] = {}
        self._reading: dict[K, asyncio.Task[V | None]] = {}

    async def get(self, name: K, read: Callable[[], Coroutine[Any, Any, Mapping[K, V]]]) -> V | None:
        """Return the value with that name, or None. ``read`` loads it, under all of its names, if it is not cached."""
        read_at, value = self._cached.get(name, (None, None))
        # A value that was read in the future was read before the clock was set back.
        if read_at is not None and timedelta() <= self._now() - read_at < TTL:
            return value
        reading = self._reading.get(name)
        if reading is None:
            reading = self._reading[name] = asyncio.create_task(self._read(name, read))
        return await asyncio.shield(reading)  # a caller that stops waiting does not stop the others

    def invalidate(self) -> None:
        """Drop all cached rows."""
        self._cached.clear()
        self._reading.clear()

    async def _read(self, name: K, read: Callable[[], Coroutine[Any, Any, Mapping[K, V]]]) -> V | None:
        reading = asyncio.current_task()
        try:
            found = await read()
            if self._reading.get(name) is reading:  # not invalidated since it started
                read_at = self._now()
                self._cached |= {key: (read_at, value) for key, value in found.items()}
            return found.get(name)
        finally:
            if self._reading.get(name) is reading:
                del self._reading[name]
