"""One performance of the demo, from the first process to the last: what ends it, and with which status."""

import asyncio
import signal
from pathlib import Path

from app.sandbox.demo.play import leave_open, play_story
from app.sandbox.demo.stage import Keys, open_stage
from app.sandbox.demo.telling import Teller

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


async def perform(
    folder: Path, teller: Teller, *, once: bool, free_ports: bool = False, keys: Keys | None = None
) -> int:
    """Play in an empty folder; return the exit status. An interruption ends everything, and is no error once the
    story is told.
    """
    interrupted: list[int] = []
    performer = asyncio.current_task()
    assert performer is not None  # noqa: S101 - a coroutine runs in a task

    def interrupt(number: int) -> None:
        if not interrupted:  # a second Ctrl-C does not hinder the processes from being ended
            interrupted.append(number)
            performer.cancel()

    # Whoever started it with nohup wants it to outlive the terminal.
    ours = [each for each in _SIGNALS if each != signal.SIGHUP or signal.getsignal(each) != signal.SIG_IGN]
    for number in ours:
        asyncio.get_running_loop().add_signal_handler(number, interrupt, number)
    story = None
    try:
        async with open_stage(folder, teller, keys=keys, free_ports=free_ports) as stage:
            teller.begin()
            story = await play_story(stage)
            if story is None:
                return 1
            return 0 if once else await leave_open(story)
    except asyncio.CancelledError:
        if not interrupted:
            raise
    teller.farewell()
    return 0 if story is not None else 128 + interrupted[0]
