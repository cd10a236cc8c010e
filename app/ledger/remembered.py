"""What hardly ever changes and is asked for all the time, remembered for a moment."""

from collections.abc import Callable, Hashable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

FOR = timedelta(seconds=1)


class Remembered(Generic[K, V]):
    """Rows by their names, each good for ``FOR`` after it was read.

    A change made by another process is seen that much later. Whoever makes one in this process calls ``forget``, after
    its commit.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._kept: dict[K, tuple[datetime, V]] = {}

    def get(self, name: K) -> V | None:
        """Return what was read under that name not long ago, or None."""
        read_at, value = self._kept.get(name, (None, None))
        return value if read_at is not None and self._now() - read_at < FOR else None

    def keep(self, name: K, value: V) -> None:
        """Remember what has just been read."""
        self._kept[name] = (self._now(), value)

    def forget(self) -> None:
        """Read everything anew from now on."""
        self._kept.clear()
