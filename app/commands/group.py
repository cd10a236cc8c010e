"""Error handling of commands: an error that an operator can fix is one line on standard error, never a stack trace."""

import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from app.commands.failure import CommandFailed
from app.commands.output import discard_output
from app.commands.terminal import print_error
from app.errors import SettingsError


class OperatorGroup(TyperGroup):
    """The root of the commands."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command and exit the process with its exit status."""
        try:
            status = super().main(
                args, prog_name, complete_var, standalone_mode=False, windows_expand_args=windows_expand_args, **extra
            )
        except typer.Abort:
            print_error("nothing was done")
            status = 1
        except SettingsError as exc:
            print_error(str(exc))
            status = 2
        except typer.TyperException as exc:
            # Without arguments a group prints its help, and its message is empty.
            if message := exc.format_message():
                print_error(message)
            status = exc.exit_code
        if standalone_mode:
            sys.exit(_flush_output() or status)
        return status


def _flush_output() -> int:
    """Write what is left of the output; return the exit status if that fails, else 0."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
        return 1
    except CommandFailed as exc:
        print_error(exc.format_message())
        return exc.exit_code
    return 0
