"""The app as a process that can die: the web app and a worker beside it, over one database."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from contextvars import Context, ContextVar, copy_context
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar
from weakref import WeakSet

import httpx2
from fastapi import FastAPI

from app.bootstrap import open_worker
from app.core.payment import Operation
from app.flows.staff.actions import StaffRequest, request_action
from app.main import create_app
from app.rules.schedule import Schedule
from app.services import Services
from app.settings import Settings
from app.worker.loop import Worker
from integration_base_tests.clock import Clock
from tests.chaos.story import NextWebhook, Step
from tests.chaos.transport import serve

T = TypeVar("T")
_LIVE_TASKS: ContextVar["WeakSet[asyncio.Task[Any]] | None"] = ContextVar("life", default=None)


def _begin(loop: asyncio.AbstractEventLoop, work: Any, *, context: Context | None = None, **more: Any) -> Any:
    """Create a task, as a loop does; the tasks of a process are recorded until it dies."""
    task: asyncio.Task[Any] = asyncio.Task(work, loop=loop, context=context, **more)
    life = (copy_context() if context is None else context).get(_LIVE_TASKS)
    if life is not None:
        life.add(task)
    return task


class AppSettings(Settings):
    """No pauses in a story: what may be resent is resent at once."""

    @property
    def schedule(self) -> Schedule:
        """The usual schedule, without pauses."""
        return replace(super().schedule, pauses_before_resending=(timedelta(0),), between_shopper_look_ups=timedelta(0))


class AppUnderTest:
    """``fates`` scripts what happens to Saleor's next webhooks. ``connect`` creates clients for outgoing requests."""

    def __init__(self, settings: Settings, clock: Clock, connect: Callable[[], httpx2.AsyncClient]) -> None:
        self.fates: deque[NextWebhook] = deque()
        self.perform: Callable[[Step], Awaitable[None]] | None = None
        self._settings = settings
        self._clock = clock
        self._connect = connect
        self._app: FastAPI | None = None
        self._worker: Worker | None = None
        self._running = AsyncExitStack()
        self._life = WeakSet[asyncio.Task[Any]]()
        self._dying: list[asyncio.Task[Any]] = []

    @property
    def dead(self) -> bool:
        """Whether it has died and was not restarted since."""
        return self._app is None

    async def start(self) -> Services:
        """Start or restart the app; return the worker's services."""
        await self.stop()
        asyncio.get_running_loop().set_task_factory(_begin)
        self._life = WeakSet()
        app = create_app(self._settings, self._clock, lambda _guard: self._connect())
        await self._running.enter_async_context(app.router.lifespan_context(app))
        # A worker of its own, with services of its own: so it would be in a second process.
        opening = open_worker(self._settings, self._clock, lambda _guard: self._connect())
        self._worker, self.services = await self._running.enter_async_context(opening)
        self._app = app
        return self.services

    async def stop(self) -> None:
        """Stop the app."""
        self.die()
        await asyncio.gather(*self._dying, return_exceptions=True)
        if self._worker is not None:
            for consumer in self._worker._consumers:
                await consumer.finish()
        await self._running.aclose()

    def die(self) -> None:
        """Abort everything in progress at once, as a power cut would."""
        self._app = None
        # Also background tasks: a handler whose webhook has been answered, a commit for several tasks.
        self._dying = [task for task in self._life if not task.done()]
        for task in self._dying:
            task.cancel()
        if self._worker is not None:
            for consumer in self._worker._consumers:
                consumer.abandon()

    async def work(self, rounds: int) -> int:
        """Run so many rounds of the worker, or fewer if nothing is left to do; return the number of jobs done."""
        done = 0
        for _ in range(rounds):
            assert self._worker is not None
            jobs = await self._run_killable(self._worker.work_once(self.services))
            done += jobs or 0
            if not jobs:
                break
        return done

    async def answer(self, request: httpx2.Request) -> httpx2.Response:
        """Answer an HTTP request. Raises as a broken connection would."""
        webhook = "saleor-event" in request.headers
        fate = self.fates.popleft() if webhook and self.fates else None
        if fate is None:
            return await self._answer_once(request)
        if fate.fate == "lost":
            raise httpx2.ConnectTimeout("lost on the way")
        response = await self._answer_once(request)
        if fate.fate == "twice":
            response = await self._answer_once(request)
        if fate.fate == "read late" and fate.meanwhile is not None and self.perform is not None:
            await self.perform(fate.meanwhile)
        if fate.fate == "unheard":
            raise httpx2.ReadTimeout("Saleor waits no longer")
        if fate.fate == "swallowed":
            return httpx2.Response(502, content=b"<html>502 Bad Gateway</html>", request=request)
        return response

    async def request_action_of_staff(self, order_id: str, staff_request: StaffRequest) -> Operation | None:
        """Request an action as staff on the app's own pages.

        Raises RefusalError. None: the app is not running, or it died meanwhile.
        """
        done = None if self.dead else await self._run_killable(request_action(self.services, order_id, staff_request))
        return None if done is None else done[1]

    async def _answer_once(self, request: httpx2.Request) -> httpx2.Response:
        if self._app is None:
            raise httpx2.ConnectError("nobody is there")
        response = await self._run_killable(serve(self._app, request))
        if response is None:
            raise httpx2.ReadError("the process died")
        return response

    async def _run_killable(self, job: Coroutine[Any, Any, T]) -> T | None:
        """Run a job in the app's process. None: the process died meanwhile."""
        context = copy_context()
        context.run(_LIVE_TASKS.set, self._life)
        task = asyncio.create_task(job, context=context)
        await asyncio.wait([task])
        return None if task.cancelled() else task.result()
