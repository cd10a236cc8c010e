"""Why a command fails.

::

    typer.TyperException        the arguments cannot be understood: status 2
    `- CommandFailed            status 1, or 2 where the arguments or settings are at fault
    SettingsError               status 2
"""

import typer


class CommandFailed(typer.TyperException):
    """The command failed. The message states why and what to do, in one line, without a secret."""

    def __init__(self, message: str, *, status: int = 1) -> None:
        super().__init__(message)
        self.exit_code = status
