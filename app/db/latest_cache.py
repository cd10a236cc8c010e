"""What somebody slow has said last, and when: good for a while, and told with its age when they do not answer.

For answers of the gateway that nobody is to wait for long. Unlike ``TtlCache``, what is old is not thrown away.
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

GOOD_FOR = timedelta(minutes=1)
MOST = 1000


@dataclass(frozen=True, slots=True)
class Latest(Generic[V, E]):
    """What is known. ``value`` was said at ``said_at``; both None: nothing was ever said.

    ``error`` is why asking has failed since then; ``late``: an answer is still being waited for.
    """

    value: V | None = None
    said_at: datetime | None = None
    error: E | None = None
    late: bool = False


@dataclass(slots=True)
class _Kept(Generic[V, E]):
    tried_at: datetime | None = None
    latest: Latest[V, E] | None = None
    asking: asyncio.Task[Latest[V, E]] | None = None


class LatestCache(Generic[K, V, E]):
    """The newest answer for each name. A minute long nobody asks again, whether it was an answer or a failure.

    Of those who ask at once, one asks for all. Beyond ``most`` names, those that nobody wanted for longest go.
    """

    def __init__(self, *, most: int = MOST) -> None:
        self._most = most
        self._kept: OrderedDict[K, _Kept[V, E]] = OrderedDict()

    def __len__(self) -> int:
        """How many names something is known of."""
        return len(self._kept)

    def known(self, name: K) -> Latest[V, E]:
        """Return what is known, however old, and ask nobody."""
        kept = self._kept.get(name)
        return Latest() if kept is None or kept.latest is None else kept.latest

    async def get(
        self,
        name: K,
        ask: Callable[[], Coroutine[Any, Any, V]],
        *,
        now: Callable[[], datetime],
        within: float,
        failing_with: type[E],
        anew: bool = False,
    ) -> Latest[V, E]:
        """Return what is known, having asked unless that was done within the last minute; ``anew``: ask in any case.

        It waits ``within`` seconds at most. Whoever comes after that finds what was answered meanwhile. ``ask`` may
        raise ``failing_with``, and is to end by itself.
        """
        kept = self._kept.setdefault(name, _Kept())
        self._kept.move_to_end(name)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        if kept.asking is None:
            fresh = kept.tried_at is not None and timedelta() <= now() - kept.tried_at < GOOD_FOR
            if fresh and not anew and kept.latest is not None:
                return kept.latest
            kept.asking = asyncio.create_task(_ask(kept, ask, now, failing_with))
        asking = kept.asking
        done, _ = await asyncio.wait({asking}, timeout=within)  # whoever stops waiting does not stop the others
        if done:
            return asking.result()
        before = self.known(name)
        return Latest(before.value, before.said_at, before.error, late=True)


async def _ask(
    kept: _Kept[V, E], ask: Callable[[], Coroutine[Any, Any, V]], now: Callable[[], datetime], failing_with: type[E]
) -> Latest[V, E]:
    before = kept.latest or Latest()
    try:
        try:
            latest: Latest[V, E] = Latest(await ask(), now())
        except failing_with as error:
            # Without its traceback, which would keep all that the call has held.
            latest = Latest(before.value, before.said_at, error.with_traceback(None))
        kept.latest, kept.tried_at = latest, now()
        return latest
    finally:
        kept.asking = None
