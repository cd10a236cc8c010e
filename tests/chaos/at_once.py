"""SQLite without its thread: a statement is over when it is asked for, so a story goes the same way every time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar
from unittest.mock import patch

from app.db import sqlite

T = TypeVar("T")


class _Connection(sqlite.Connection):
    async def run(self, job: Callable[[], T]) -> T:
        return job()


@contextmanager
def sqlite_at_once() -> Iterator[None]:
    """Let every connection to SQLite that is made in this block work without a thread."""
    with patch.object(sqlite, "Connection", _Connection):
        yield
