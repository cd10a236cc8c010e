"""A harness with an event loop of its own, on which stories are played one after the other."""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

import structlog

from app.store.migrate import migrate
from app.worker.heartbeat import Heartbeat
from tests.chaos.harness import Harness, open_harness
from tests.chaos.inline_sqlite import inline_sqlite
from tests.chaos.play import play
from tests.chaos.story import Story
from tests.memory import folder_in_memory
from tests.reuse import reuse_engines


class Environment:
    """Plays stories."""

    def __init__(self, runner: asyncio.Runner, harness: Harness) -> None:
        self._runner = runner
        self._harness = harness

    def play(self, story: Story) -> None:
        """Play a story. Raises AssertionError when a law is broken."""
        self._runner.run(play(self._harness, story))

    @property
    def log(self) -> list[str]:
        """The log of the last story, line by line."""
        return list(self._harness.log)


@contextmanager
def open_environment(postgresql: str | None = None, account: Mapping[str, Any] | None = None) -> Iterator[Environment]:
    """Open an environment over a new SQLite file, or over the empty PostgreSQL database at that URL.

    ``account`` are options of the merchant account (``app.store.accounts.NewAccount``).
    """
    with folder_in_memory() as folder, inline_sqlite(), reuse_engines(), _isolated(), asyncio.Runner() as runner:
        database_url = postgresql or f"sqlite:///{folder / 'payments.sqlite'}"
        runner.run(migrate(database_url))
        opening = open_harness(database_url, folder, account)
        harness = runner.run(opening.__aenter__())
        try:
            yield Environment(runner, harness)
        finally:
            runner.run(opening.__aexit__(None, None, None))


@contextmanager
def _isolated() -> Iterator[None]:
    """Turn logging off, as thousands of stories full of faults are played. Turn background work off, as the heartbeat
    runs by real time and would make the only thread wait for a lock that it holds itself.
    """
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        with patch.object(Heartbeat, "beating", lambda *_: nullcontext()):
            yield
    finally:
        structlog.configure(**before)
