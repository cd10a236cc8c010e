"""The time that a webhook may take (laws of money, 11)."""

import time
from collections.abc import Callable


class Deadline:
    """A budget of seconds, counted from its making, shared by all calls that one webhook makes."""

    def __init__(self, seconds: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._end = monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds left; never negative."""
        return max(0.0, self._end - self._monotonic())
