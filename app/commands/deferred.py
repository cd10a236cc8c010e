"""Commands of which only name and summary are known until one is typed: its module is imported then, and not before.

``--help`` of all commands, ``--version`` and the completion of names need nothing of the app, which takes seconds to
import. Whatever a command needs is imported at the top of its own module, as anywhere.
"""

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand

from app import DISTRIBUTION
from app.commands.failure import CommandFailed


@dataclass(frozen=True, slots=True)
class Command:
    """A command that is not imported yet: ``place`` is ``module:function``, ``summary`` the function's first words.

    ``extra`` is what must be installed for it beside the app, if anything must.
    """

    place: str
    summary: str
    extra: str | None = None

    @property
    def module(self) -> str:
        """The module that is imported for it."""
        return self.place.partition(":")[0]

    def load(self) -> Callable[..., None]:
        """Import the function that does it. Raises CommandFailed where its extra is not installed."""
        try:
            with _no_looking_for_garbage():
                module = import_module(self.module)
        except ModuleNotFoundError as exc:
            if self.extra is None or exc.name is None or not f"{self.module}.".startswith(f"{exc.name}."):
                raise
            raise CommandFailed(
                f"this command is not installed here. Install it with: pip install '{DISTRIBUTION}[{self.extra}]'"
            ) from exc
        loaded: Callable[..., None] = getattr(module, self.place.partition(":")[2])
        return loaded


@dataclass(frozen=True, slots=True)
class Group:
    """Commands that begin with the same word."""

    summary: str
    commands: Mapping[str, Command]


@contextmanager
def _no_looking_for_garbage() -> Iterator[None]:
    """What is imported stays: to look again and again whether it is still needed takes a fifth of the start."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def add_commands(app: typer.Typer, commands: Mapping[str, Command | Group]) -> None:
    """Let ``app`` know these commands by their names."""
    for name, each in commands.items():
        if isinstance(each, Group):
            group = typer.Typer(help=each.summary, no_args_is_help=True)
            add_commands(group, each.commands)
            app.add_typer(group, name=name)
        else:
            app.command(name, help=each.summary, cls=type(name, (Deferred,), {"command": each}))(_nothing)


class Deferred(TyperCommand):
    """Stands in lists for ``command``, and hands over to it where arguments are parsed or completed."""

    command: ClassVar[Command]

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Import the command, and return its context. ``parent.obj`` is what a process does before its command."""
        if parent is not None and parent.obj is not None:
            parent.obj()
        return self.load().make_context(info_name, args, parent, **extra)

    def load(self) -> Any:
        """Return the command itself, with its options."""
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(self.name)(self.command.load())
        return typer.main.get_command(alone)


def _nothing() -> None:
    """What a deferred command is registered with. It never runs."""
