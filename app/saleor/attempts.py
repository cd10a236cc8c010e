"""How often strangers may make us do something: so many times in a while for one name, and for all of them together."""

from collections import Counter, deque
from collections.abc import Callable
from datetime import datetime, timedelta


class Attempts:
    """Counts attempts in this process's memory; those from before ``within`` are forgotten.

    ``of_all`` also bounds how much is remembered.
    """

    def __init__(
        self, *, of_one: int, of_all: int, now: Callable[[], datetime], within: timedelta = timedelta(minutes=1)
    ) -> None:
        self._of_one = of_one
        self._of_all = of_all
        self._now = now
        self._within = within
        self._made: deque[tuple[datetime, str]] = deque()
        self._counted: Counter[str] = Counter()

    def allowed(self, name: str) -> bool:
        """Count an attempt of ``name``, and return True, unless there were too many."""
        now = self._now()
        # What was counted in the future was counted before the clock was put back.
        while self._made and not timedelta() <= now - self._made[0][0] < self._within:
            _, gone = self._made.popleft()
            self._counted[gone] -= 1
            if not self._counted[gone]:
                del self._counted[gone]
        if len(self._made) >= self._of_all or self._counted[name] >= self._of_one:
            return False
        self._made.append((now, name))
        self._counted[name] += 1
        return True
