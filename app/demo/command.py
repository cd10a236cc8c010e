"""The command that plays the demo: `saleor-gateway demo`."""

import asyncio
import tempfile
from pathlib import Path
from typing import Annotated, Literal

import typer

from app.demo.story import run
from app.demo.timeline import Output, standard_console


def demo(
    *,
    once: Annotated[bool, typer.Option("--once", help="End after the last step; status 0 if all was right.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON lines, for programs.")] = False,
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the app's data and all logs in this new or empty folder.")
    ] = None,
    free_ports: Annotated[
        bool, typer.Option("--free-ports", help="Take free ports, even where the usual ones are free.")
    ] = False,
    dialect: Annotated[
        Literal["interface", "public"],
        typer.Option(help="The gateway knows only its interface, or also what is publicly known of such gateways."),
    ] = "public",
) -> None:
    """Play a whole payment on this machine: a Saleor, a gateway and the app; no account, no money."""
    output = Output(None if as_json else standard_console())
    with tempfile.TemporaryDirectory(prefix="saleor-gateway-demo-") as temporary:
        folder = Path(temporary) if keep is None else keep.resolve()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            empty = not any(folder.iterdir())
        except OSError as exc:
            raise typer.BadParameter(f"{keep} cannot be used: {exc.strerror}", param_hint="--keep") from exc
        if not empty:
            raise typer.BadParameter(f"{keep} is not empty", param_hint="--keep")
        raise typer.Exit(asyncio.run(run(folder, output, once=once, free_ports=free_ports, dialect=dialect)))
