"""SQLite without its thread: a statement is over when it is asked for, so a story goes the same way every time."""

import asyncio
import sqlite3
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import aiosqlite

from app.ledger import sqlite


class _AtOnce:
    """Takes the place of the queue to the thread, and does each job in the moment in which it is queued."""

    def put_nowait(self, job: tuple[asyncio.Future[Any] | None, Callable[[], Any]]) -> None:
        future, function = job
        try:
            result = function()
        except BaseException as error:
            if future is None:
                raise
            future.set_exception(error)
        else:
            if future is not None:
                future.set_result(result)


class _Connection(sqlite.Connection):
    def __init__(self, connector: Callable[[], sqlite3.Connection]) -> None:
        super().__init__(connector)
        self._tx = _AtOnce()  # type: ignore[assignment] # of a queue only this is used

    def __await__(self) -> Generator[Any, None, aiosqlite.Connection]:
        return self._connect().__await__()


@contextmanager
def sqlite_at_once() -> Iterator[None]:
    """Let every connection to SQLite that is made in this block work without a thread."""
    with patch.object(sqlite, "Connection", _Connection):
        yield
