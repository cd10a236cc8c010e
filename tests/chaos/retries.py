"""Saleor's pauses between retries, on the clock of the story: no real waiting, and other steps can happen between."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from integration_base_tests.clock import Clock


@dataclass(frozen=True)
class _Pause:
    due: datetime
    over: asyncio.Future[None]
    task: asyncio.Task[Any] | None


class Retries:
    """Takes the place of Saleor's sleep."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pauses: list[_Pause] = []
        self._changed = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        """Return when the clock of the story has moved that far and ``wake`` was called."""
        over = asyncio.get_running_loop().create_future()
        pause = _Pause(self._clock.now + timedelta(seconds=seconds), over, asyncio.current_task())
        self._pauses.append(pause)
        self._changed.set()
        try:
            await over
        finally:
            if pause in self._pauses:  # the story is over, and the pause was cancelled
                self._pauses.remove(pause)

    @property
    def next_due(self) -> datetime | None:
        """When the next pause is over."""
        return min((pause.due for pause in self._pauses), default=None)

    async def wake(self) -> int:
        """End the pauses that are due, and wait for the work that follows; return how many ended."""
        due = [pause for pause in self._pauses if pause.due <= self._clock.now]
        for pause in due:
            self._pauses.remove(pause)
            pause.over.set_result(None)
        await self.settle([pause.task for pause in due if pause.task is not None])
        return len(due)

    async def settle(self, tasks: Collection[asyncio.Task[Any]]) -> None:
        """Wait until each task is done or pauses; raise the exceptions of those that failed."""
        while waiting := [task for task in tasks if not task.done() and task not in self._resting()]:
            self._changed.clear()
            change = asyncio.ensure_future(self._changed.wait())
            await asyncio.wait([*waiting, change], return_when=asyncio.FIRST_COMPLETED)
            change.cancel()
        for task in tasks:
            if task.done():
                task.result()

    def _resting(self) -> set[asyncio.Task[Any] | None]:
        return {pause.task for pause in self._pauses}
