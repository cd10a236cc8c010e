"""What hardly ever changes and is asked for all the time, remembered for a moment."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable, Mapping
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

FOR = timedelta(seconds=1)


class TtlCache(Generic[K, V]):
    """Rows by their names, each good for ``FOR`` after it was read.

    A change made by another process is seen that much later. Whoever makes one in this process calls ``forget``, after
    its commit. Of those who ask for the same at once, one reads it for all.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._kept: dict[K, tuple[datetime, V]] = {}
        self._reading: dict[K, asyncio.Task[V | None]] = {}

    async def get(self, name: K, read: Callable[[], Coroutine[Any, Any, Mapping[K, V]]]) -> V | None:
        """Return what has that name, or None. ``read`` gives it, under all of its names, if it was not read lately."""
        read_at, value = self._kept.get(name, (None, None))
        # What was read in the future was read before the clock was put back.
        if read_at is not None and timedelta() <= self._now() - read_at < FOR:
            return value
        reading = self._reading.get(name)
        if reading is None:
            reading = self._reading[name] = asyncio.create_task(self._read(name, read))
        return await asyncio.shield(reading)  # whoever stops waiting does not stop the others

    def forget(self) -> None:
        """Read everything anew from now on."""
        self._kept.clear()
        self._reading.clear()

    async def _read(self, name: K, read: Callable[[], Coroutine[Any, Any, Mapping[K, V]]]) -> V | None:
        reading = asyncio.current_task()
        try:
            found = await read()
            if self._reading.get(name) is reading:  # nothing was forgotten meanwhile
                read_at = self._now()
                self._kept |= {each: (read_at, value) for each, value in found.items()}
            return found.get(name)
        finally:
            if self._reading.get(name) is reading:
                del self._reading[name]
