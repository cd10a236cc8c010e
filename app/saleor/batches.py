"""What is asked in the same moment is asked together; each asker gets an answer of its own."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeAlias, TypeVar

K = TypeVar("K", bound=Hashable)
Q = TypeVar("Q")
A = TypeVar("A")

Ask: TypeAlias = Callable[[K, Sequence[Q]], Awaitable[Sequence[A | Exception]]]


class Batches(Generic[K, Q, A]):
    """Gathers questions of the same ``key`` for one turn of the event loop, and asks at most ``most`` of them at once.

    ``ask`` returns the answer to each question, or what went wrong with it. Batches do not wait for each other.
    """

    def __init__(self, ask: Ask[K, Q, A], most: int) -> None:
        self._ask = ask
        self._most = most
        self._waiting: dict[K, list[tuple[Q, asyncio.Future[A]]]] = {}
        self._asking: set[asyncio.Task[None]] = set()

    async def ask(self, key: K, question: Q) -> A:
        """Return the answer to a question; raise what went wrong with it."""
        answer: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(key, [])
        waiting.append((question, answer))
        if len(waiting) == 1:  # a task of its own: whoever stops waiting takes nothing from the others
            task = asyncio.create_task(self._ask_waiting(key))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)
        return await answer

    async def _ask_waiting(self, key: K) -> None:
        waiting = [each for each in self._waiting.pop(key) if not each[1].done()]
        batches = [waiting[begin : begin + self._most] for begin in range(0, len(waiting), self._most)]
        await asyncio.gather(*(self._ask_batch(key, each) for each in batches))

    async def _ask_batch(self, key: K, batch: Sequence[tuple[Q, "asyncio.Future[A]"]]) -> None:
        try:
            answers = await self._ask(key, [question for question, _ in batch])
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised where it was asked for
            answers = [error] * len(batch)
        for (_, ticket), answer in zip(batch, answers, strict=True):
            if ticket.done():
                continue
            if isinstance(answer, Exception):
                ticket.set_exception(answer)
            else:
                ticket.set_result(answer)
