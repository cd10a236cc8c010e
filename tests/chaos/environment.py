"""A harness with an event loop of its own, on which one story after the other is told."""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

import structlog

from app.db.migrate import migrate
from app.worker.heartbeat import Heartbeat
from tests.chaos.at_once import sqlite_at_once
from tests.chaos.harness import Harness, open_harness
from tests.chaos.play import play
from tests.chaos.story import Story
from tests.lasting import lasting_engines
from tests.memory import folder_in_memory


class Environment:
    """Tells stories."""

    def __init__(self, runner: asyncio.Runner, harness: Harness) -> None:
        self._runner = runner
        self._stage = harness

    def tell(self, story: Story) -> None:
        """Tell a story; AssertionError when a law was broken."""
        self._runner.run(play(self._stage, story))

    @property
    def told(self) -> list[str]:
        """What happened in the last story, line by line."""
        return list(self._stage.told)


@contextmanager
def open_environment(postgresql: str | None = None, account: Mapping[str, Any] | None = None) -> Iterator[Environment]:
    """Open a theatre over a new SQLite file, or over an empty database of PostgreSQL at that address.

    ``account`` are options of the merchant account (``app.db.accounts.NewAccount``).
    """
    with folder_in_memory() as folder, sqlite_at_once(), lasting_engines(), _alone(), asyncio.Runner() as runner:
        database_url = postgresql or f"sqlite:///{folder / 'payments.sqlite'}"
        runner.run(migrate(database_url))
        opening = open_harness(database_url, folder, account)
        harness = runner.run(opening.__aenter__())
        try:
            yield Environment(runner, harness)
        finally:
            runner.run(opening.__aexit__(None, None, None))


@contextmanager
def _alone() -> Iterator[None]:
    """Nothing is logged: a story is full of trouble, and thousands are told. And nothing goes on beside it by itself:
    no process signs that it is alive, by real time, and has the one thread wait for the lock that it holds itself.
    """
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        with patch.object(Heartbeat, "beating", lambda *_: nullcontext()):
            yield
    finally:
        structlog.configure(**before)
