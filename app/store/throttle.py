"""Work that many may request at once, and that is started once in an interval at most.

Nobody is answered with what was found out before the request: whoever comes while the work runs waits for the next
start, and all who wait share it. ``LatestCache`` is for answers that may be a little old.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from datetime import timedelta
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)

MAX_NAMES = 1000


class Throttle(Generic[K]):
    """Starts the work of each name once in an interval at most.

    Beyond ``most`` names, the oldest starts are forgotten.
    """

    def __init__(self, *, most: int = MAX_NAMES) -> None:
        self._most = most
        self._started_at: OrderedDict[K, float] = OrderedDict()
        self._waiting: dict[K, asyncio.Task[object]] = {}

    async def do(
        self, name: K, work: Callable[[], Coroutine[Any, Any, object]], *, interval: timedelta, timeout: float
    ) -> None:
        """Wait until the work of ``name`` was started after this call, and has ended; for ``timeout`` seconds at most.

        Raises what the work raises. The work must end by itself: a caller that stops waiting does not stop it, and
        does not hear how it ends.
        """
        task = self._waiting.get(name)
        if task is None:
            task = self._waiting[name] = asyncio.create_task(self._start(name, work, interval.total_seconds()))
            task.add_done_callback(_retrieve_error)
        done, _ = await asyncio.wait({task}, timeout=timeout)
        if done:
            task.result()

    async def _start(self, name: K, work: Callable[[], Coroutine[Any, Any, object]], interval: float) -> object:
        clock = asyncio.get_running_loop().time
        try:
            if name in self._started_at:
                await asyncio.sleep(self._started_at[name] + interval - clock())
        finally:
            del self._waiting[name]
        self._started_at[name] = clock()
        self._started_at.move_to_end(name)
        while len(self._started_at) > self._most:
            self._started_at.popitem(last=False)
        return await work()


def _retrieve_error(task: asyncio.Task[object]) -> None:
    """Keep asyncio from printing an error, with its traceback, for which nobody has waited to the end."""
    if not task.cancelled():
        task.exception()
