"""What nobody waits for goes behind what somebody waits for: in one process, over the same connections.

A worker beside the web app has hundreds of jobs at once. Each wants the database, and a shopper's request would stand
in line behind all of them. So the tasks of a worker, and all that these begin, are marked as background, and only few
of their transactions are open at once. They also share no transaction with others (``group_commit``): it would be as
long as all of theirs.
"""

import asyncio
from collections.abc import Coroutine
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

T = TypeVar("T")

_in_background: ContextVar[bool] = ContextVar("in_background", default=False)


def in_background() -> bool:
    """Return True in a task that was begun in the background, and in those that it has begun."""
    return _in_background.get()


def begin_in_background(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Return a task in the background."""
    context = copy_context()
    context.run(_in_background.set, True)
    return asyncio.create_task(work, context=context)
