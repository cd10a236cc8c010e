"""The command `saleor-gateway demo`."""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from app.sandbox.demo.as_json import JsonTeller
from app.sandbox.demo.on_terminal import TerminalTeller, standard_console
from app.sandbox.demo.performance import perform
from app.sandbox.demo.telling import Teller


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
