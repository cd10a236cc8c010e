"""The progress bar of long commands: on standard error, and only in a terminal."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

_REFRESH_SECONDS = 0.2  # seconds


@dataclass(frozen=True, slots=True)
class Stage:
    """The progress of a command: a label, the number of items done, and the total; None: it is not known."""

    label: str
    done: int
    total: int | None


@asynccontextmanager
async def show_progress(stage: Callable[[], Stage]) -> AsyncIterator[None]:
    """Show a progress bar while the block runs, and remove it afterwards; ``stage`` is called repeatedly."""
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
                so_far = f"{now.done}" if now.total is None else f"{now.done} of {now.total}"
                bar.update(task, description=now.label, completed=now.done, total=now.total, so_far=so_far)
                await asyncio.sleep(_REFRESH_SECONDS)

        watching = asyncio.create_task(watch())
        try:
            yield
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
