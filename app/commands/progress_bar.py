"""A bar that shows how far a long command has come: on standard error, and only where a person looks at it."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

_BETWEEN_LOOKS = 0.2  # seconds


@dataclass(frozen=True, slots=True)
class Stage:
    """What is being done, how far it is, and of how much; None: nobody knows of how much."""

    words: str
    done: int
    of: int | None


@asynccontextmanager
async def shown(stage: Callable[[], Stage]) -> AsyncIterator[None]:
    """Show the ``stage`` that is asked for again and again while the block runs; the bar is gone afterwards."""
    if not sys.stderr.isatty():
        yield
        return
    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.fields[so_far]}"))
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task("", total=None, so_far="")

        async def watch() -> None:
            while True:
                now = stage()
                so_far = f"{now.done}" if now.of is None else f"{now.done} of {now.of}"
                bar.update(task, description=now.words, completed=now.done, total=now.of, so_far=so_far)
                await asyncio.sleep(_BETWEEN_LOOKS)

        watching = asyncio.create_task(watch())
        try:
            yield
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
