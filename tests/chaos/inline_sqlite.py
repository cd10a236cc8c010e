"""SQLite without its thread: a statement is executed as soon as it is issued, so a story is deterministic."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar
from unittest.mock import patch

from app.store import sqlite

T = TypeVar("T")


class _Connection(sqlite.Connection):
    async def run(self, job: Callable[[], T]) -> T:
        return job()


@contextmanager
def inline_sqlite() -> Iterator[None]:
    """Let every SQLite connection that is opened in this block work without a thread."""
    with patch.object(sqlite, "Connection", _Connection):
        yield
