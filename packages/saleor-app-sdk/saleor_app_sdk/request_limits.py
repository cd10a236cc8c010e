"""Limits of requests: how often unauthenticated callers may make them, and how large their bodies may be."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import Request  # the worker and commands, which limit too, need nothing of the web


class AttemptLimiter:
    """Limits how many attempts a name may make in a period, and all names together.

    Counts attempts in this process's memory, and drops those older than ``within``. ``in_total`` also bounds the
    memory.
    """

    def __init__(
        self, *, per_name: int, in_total: int, now: Callable[[], datetime], within: timedelta = timedelta(minutes=1)
    ) -> None:
        self._per_name = per_name
        self._in_total = in_total
        self._now = now
        self._within = within
        self._made: deque[tuple[datetime, str]] = deque()
        self._counted: Counter[str] = Counter()

    def try_acquire(self, name: str) -> bool:
        """Count an attempt of ``name`` and return True; return False, without counting, when there were too many."""
        now = self._now()
        # An attempt in the future was counted before the clock was set back.
        while self._made and not timedelta() <= now - self._made[0][0] < self._within:
            _, expired = self._made.popleft()
            self._counted[expired] -= 1
            if not self._counted[expired]:
                del self._counted[expired]
        if len(self._made) >= self._in_total or self._counted[name] >= self._per_name:
            return False
        self._made.append((now, name))
        self._counted[name] += 1
        return True


class ConcurrencyLimiter:
    """Limits how many requests about a name are processed at once, and about all names together.

    The others wait, and are processed in the order in which they came. Nobody is refused because of how many came
    before: whoever chooses the name would then decide about the others that have it.
    """

    def __init__(self, *, per_name: int, in_total: int, max_wait: timedelta) -> None:
        self._per_name = per_name
        self._all = asyncio.Semaphore(in_total)
        self._max_wait = max_wait.total_seconds()
        self._named: dict[str, asyncio.Semaphore] = {}
        self._users: Counter[str] = Counter()

    @asynccontextmanager
    async def place(self, name: str) -> AsyncIterator[None]:
        """Hold a place for a request. Raises TimeoutError when there is none in time."""
        mine = self._named.setdefault(name, asyncio.Semaphore(self._per_name))
        self._users[name] += 1
        try:
            async with asyncio.timeout(self._max_wait) as waiting, mine, self._all:
                waiting.reschedule(None)
                yield
        finally:
            self._users[name] -= 1
            if not self._users[name]:
                del self._users[name], self._named[name]


async def read_at_most(limit: int, request: "Request") -> bytes | None:
    """Return the raw body, or None as soon as it is longer than ``limit`` bytes."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            return None
    return bytes(body)
