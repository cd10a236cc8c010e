"""The time that an answer may take (laws of money, 11)."""

import time
from collections.abc import Callable


class Deadline:
    """A budget of seconds, counted from its making, shared by everything that is done for one answer.

    For a webhook it is made when the request arrives, before anything of the request is read.
    """

    def __init__(self, seconds: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._end = monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds left; never negative."""
        return max(0.0, self._end - self._monotonic())
