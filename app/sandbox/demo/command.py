"""The command `saleor-gateway demo`."""

import asyncio
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from app.sandbox.demo.as_json import JsonTeller
from app.sandbox.demo.on_terminal import TerminalTeller, standard_console
from app.sandbox.demo.play import leave_open, play_story
from app.sandbox.demo.stage import Keys, open_stage
from app.sandbox.demo.telling import Teller

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def demo(
    *,
    once: Annotated[
        bool, typer.Option("--once", help="End after the story; the status is 0 if all was right.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON lines, for programs.")] = False,
    keep: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep the app's data and all logs in this new or empty folder."),
    ] = None,
    free_ports: Annotated[
        bool, typer.Option("--free-ports", help="Take free ports, even where the usual ones are free.")
    ] = False,
) -> None:
    """Play a whole payment on this machine: a Saleor, a gateway and the app; no account, no money."""
    with _folder(keep) as folder:
        teller: Teller = JsonTeller() if as_json else TerminalTeller(standard_console())
        status = asyncio.run(perform(folder, teller, once=once, free_ports=free_ports))
    raise typer.Exit(status)


async def perform(
    folder: Path, teller: Teller, *, once: bool, free_ports: bool = False, keys: Keys | None = None
) -> int:
    """Play in an empty folder; return the exit status. An interruption ends everything, and is no error once the
    story is told."""
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


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="saleor-gateway-demo-") as folder:
            yield Path(folder)
        return
    try:
        keep.mkdir(parents=True, exist_ok=True)
        empty = not any(keep.iterdir())
    except OSError as exc:
        raise typer.BadParameter(f"{keep} cannot be used: {exc.strerror}", param_hint="--keep") from exc
    if not empty:
        raise typer.BadParameter(f"{keep} is not empty", param_hint="--keep")
    yield keep.resolve()
