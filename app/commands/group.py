"""How a command ends: what an operator can mend is one line on standard error, never a stack trace."""

import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from app.commands.terminal import complain
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
        """Run a command and leave the process with its exit status."""
        try:
            status = super().main(
                args, prog_name, complete_var, standalone_mode=False, windows_expand_args=windows_expand_args, **extra
            )
        except typer.Abort:
            complain("nothing was done")
            status = 1
        except SettingsError as exc:
            complain(str(exc))
            status = 2
        except typer.TyperException as exc:
            # Without arguments a group prints its help, and has nothing to add.
            if words := exc.format_message():
                complain(words)
            status = exc.exit_code
        if standalone_mode:
            sys.exit(status)
        return status
