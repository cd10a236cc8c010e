"""Batches concurrent requests; each caller gets a result of its own."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeAlias, TypeVar

K = TypeVar("K", bound=Hashable)
Q = TypeVar("Q")
A = TypeVar("A")

SendBatch: TypeAlias = Callable[[K, Sequence[Q]], Awaitable[Sequence[A | Exception]]]


class RequestBatcher(Generic[K, Q, A]):
    """Gathers requests of the same ``key`` for one turn of the event loop, and sends at most ``max_size`` at once.

    ``send`` returns the result of each request, or its error. Batches do not wait for each other.
    """

    def __init__(self, send: SendBatch[K, Q, A], max_size: int) -> None:
        self._send = send
        self._max_size = max_size
        self._waiting: dict[K, list[tuple[Q, asyncio.Future[A]]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def submit(self, key: K, request: Q) -> A:
        """Return the result of a request; raises its error."""
        result: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(key, [])
        waiting.append((request, result))
        if len(waiting) == 1:  # in a task of its own: the cancellation of one caller does not affect the others
            task = asyncio.create_task(self._send_waiting(key))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await result

    async def _send_waiting(self, key: K) -> None:
        waiting = [entry for entry in self._waiting.pop(key) if not entry[1].done()]
        batches = [waiting[begin : begin + self._max_size] for begin in range(0, len(waiting), self._max_size)]
        await asyncio.gather(*(self._send_batch(key, batch) for batch in batches))

    async def _send_batch(self, key: K, batch: Sequence[tuple[Q, "asyncio.Future[A]"]]) -> None:
        try:
            results = await self._send(key, [request for request, _ in batch])
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised to the callers
            results = [error] * len(batch)
        for (_, future), result in zip(batch, results, strict=True):
            if future.done():
                continue
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)
