"""Lazily imported commands: only name and summary are known until a command is used, and then its module is imported.

``--help`` of all commands, ``--version`` and the completion of names do not need the app, which takes seconds to
import. The dependencies of a command are imported at the top of its own module, as usual.
"""

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand


@dataclass(frozen=True, slots=True)
class Command:
    """A command that is not imported yet: ``target`` is ``module:function``, ``summary`` the start of its docstring."""

    target: str
    summary: str

    @property
    def module(self) -> str:
        """The module that defines the command."""
        return self.target.partition(":")[0]

    def load(self) -> Callable[..., None]:
        """Import and return the command's function."""
        with _garbage_collection_paused():
            module = import_module(self.module)
        loaded: Callable[..., None] = getattr(module, self.target.partition(":")[2])
        return loaded


@dataclass(frozen=True, slots=True)
class Group:
    """Commands that share their first word."""

    summary: str
    commands: Mapping[str, Command]


@contextmanager
def _garbage_collection_paused() -> Iterator[None]:
    """Pause garbage collection during imports: imported objects stay, and collecting takes a fifth of the start."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def add_commands(app: typer.Typer, commands: Mapping[str, Command | Group]) -> None:
    """Add these commands to ``app`` under their names."""
    for name, command in commands.items():
        if isinstance(command, Group):
            group = typer.Typer(help=command.summary, no_args_is_help=True)
            add_commands(group, command.commands)
            app.add_typer(group, name=name)
        else:
            app.command(name, help=command.summary, cls=type(name, (Deferred,), {"command": command}))(_placeholder)


class Deferred(TyperCommand):
    """Represents ``command`` in lists, and delegates to it when arguments are parsed or completed."""

    command: ClassVar[Command]

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Import the command, and return its context. ``parent.obj`` is called before the command."""
        if parent is not None and parent.obj is not None:
            parent.obj()
        return self.load().make_context(info_name, args, parent, **extra)

    def load(self) -> Any:
        """Return the command itself, with its options."""
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(self.name)(self.command.load())
        return typer.main.get_command(alone)


def _placeholder() -> None:
    """The callback with which a deferred command is registered. It never runs."""
