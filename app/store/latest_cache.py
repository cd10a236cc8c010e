"""A cache of the latest response of a slow service: fresh for a while, and returned with its age while none arrives.

For responses of the gateway that must not be waited for long. Unlike ``TtlCache``, it keeps stale values.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
E = TypeVar("E", bound=Exception)

FRESH_FOR = timedelta(minutes=1)
MAX_NAMES = 1000


@dataclass(frozen=True, slots=True)
class Latest(Generic[V, E]):
    """The latest ``value``, received at ``received_at``; both None: there never was one.

    ``error`` is why fetching has failed since then; ``late``: a response is still outstanding.
    """

    value: V | None = None
    received_at: datetime | None = None
    error: E | None = None
    late: bool = False


@dataclass(slots=True)
class _Entry(Generic[V, E]):
    tried_at: datetime | None = None
    latest: Latest[V, E] | None = None
    request: asyncio.Task[Latest[V, E]] | None = None


class LatestCache(Generic[K, V, E]):
    """The latest value for each name. After a fetch, successful or not, there is no other for ``FRESH_FOR``.

    Concurrent callers share one fetch. Beyond ``most`` names, the least recently used are dropped.
    """

    def __init__(self, *, most: int = MAX_NAMES) -> None:
        self._most = most
        self._entries: OrderedDict[K, _Entry[V, E]] = OrderedDict()

    def __len__(self) -> int:
        """Return the number of names in the cache."""
        return len(self._entries)

    def peek(self, name: K) -> Latest[V, E]:
        """Return the latest value, however old, without fetching."""
        entry = self._entries.get(name)
        return Latest() if entry is None or entry.latest is None else entry.latest

    async def get(
        self,
        name: K,
        fetch: Callable[[], Coroutine[Any, Any, V]],
        *,
        now: Callable[[], datetime],
        timeout: float,
        expected_error: type[E],
        force: bool = False,
    ) -> Latest[V, E]:
        """Return the latest value, fetched unless that was done within ``FRESH_FOR``; ``force``: fetch in any case.

        Waits at most ``timeout`` seconds; a response that arrives later is there for the next caller. ``fetch`` may
        raise ``expected_error``, and must end by itself.
        """
        entry = self._entries.setdefault(name, _Entry())
        self._entries.move_to_end(name)
        while len(self._entries) > self._most:
            self._entries.popitem(last=False)
        if entry.request is None:
            fresh = entry.tried_at is not None and timedelta() <= now() - entry.tried_at < FRESH_FOR
            if fresh and not force and entry.latest is not None:
                return entry.latest
            entry.request = asyncio.create_task(_fetch(entry, fetch, now, expected_error))
        request = entry.request
        done, _ = await asyncio.wait({request}, timeout=timeout)  # a caller that stops waiting does not stop the others
        if done:
            return request.result()
        before = self.peek(name)
        return Latest(before.value, before.received_at, before.error, late=True)


async def _fetch(
    entry: _Entry[V, E],
    fetch: Callable[[], Coroutine[Any, Any, V]],
    now: Callable[[], datetime],
    expected_error: type[E],
) -> Latest[V, E]:
    before = entry.latest or Latest()
    try:
        try:
            latest: Latest[V, E] = Latest(await fetch(), now())
        except expected_error as error:
            # Without its traceback, which would keep alive everything that the call referred to.
            latest = Latest(before.value, before.received_at, error.with_traceback(None))
        entry.latest, entry.tried_at = latest, now()
        return latest
    finally:
        entry.request = None
