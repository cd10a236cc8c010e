"""A command that is ended by Ctrl+C, a stop signal or the end of its terminal says so, and closes what it has open."""

import asyncio
import signal
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

from app.commands.failure import CommandFailed

T = TypeVar("T")

_STOP_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
_MAY_BE_DONE = "what the command was doing may be done; check that before you repeat it"


def run_until_interrupted(work: Coroutine[Any, Any, T], then: str = _MAY_BE_DONE) -> T:
    """Run ``work``. Raises CommandFailed if it is interrupted, which says what is to be done ``then``."""
    stopped_by: list[int] = []
    try:
        with _stopped_like_by_keyboard(stopped_by):
            return asyncio.run(work)
    except KeyboardInterrupt as exc:
        number = stopped_by[0] if stopped_by else signal.SIGINT
        raise CommandFailed(f"interrupted: {then}", status=128 + number) from exc  # as shells have it


@contextmanager
def _stopped_like_by_keyboard(stopped_by: list[int]) -> Iterator[None]:
    """Let stop signals do what Ctrl+C does, which asyncio knows; note them. What is ignored (nohup) stays so."""

    def stop(number: int, _frame: FrameType | None) -> None:
        stopped_by.append(number)
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background of a script
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    is_main = threading.current_thread() is threading.main_thread()
    numbers = [number for number in _STOP_SIGNALS if is_main and signal.getsignal(number) is signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)
