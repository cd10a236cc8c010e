"""What commands write: standard output accepts every letter, is always there, and fails in words; files are their own.

What a command has done is done when it prints: it must not end with a stack trace then.
"""

import os
import sys
from io import BufferedWriter, FileIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

from app.commands.failure import CommandFailed

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


_OTHERS = 0o077  # what a umask takes from a file's group and from everybody else


class _Output(FileIO):
    """The file of standard output. Raises CommandFailed when it cannot be written, as on a full disk."""

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write bytes. Raises CommandFailed, or BrokenPipeError when nobody reads them any more."""
        if not memoryview(data).nbytes:  # how a library finds out what it writes to
            return 0
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as exc:
            discard_output()
            raise CommandFailed(
                f"the output cannot be written ({exc.strerror}), so it is not whole; what the command does may be "
                "done: check that before you repeat it"
            ) from exc


def prepare_output() -> None:
    """Make standard output accept every letter, escaped where its encoding has none, and each stream be there if it was
    closed, as some schedulers do. Ignore a terminal of no columns, in which nothing would be printed, not even errors.
    """
    if not os.environ.get("COLUMNS", "1").strip("0"):
        del os.environ["COLUMNS"]
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 - open until the process ends
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - open until the process ends
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - open until the process ends
    elif isinstance(sys.stdout, TextIOWrapper):
        file = _Output(sys.stdout.fileno(), "wb", closefd=False)
        sys.stdout = TextIOWrapper(
            BufferedWriter(file) if isinstance(sys.stdout.buffer, BufferedWriter) else file,
            encoding=sys.stdout.encoding,
            errors="backslashreplace",
            line_buffering=sys.stdout.line_buffering,
            write_through=sys.stdout.write_through,
        )


def discard_output() -> None:
    """Throw away what is still to be written, which Python would try again, and complain about, at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def keep_own_rights() -> None:
    """Let a file that this process creates be its own to read and write, whatever the umask takes from its owner."""
    os.umask(os.umask(_OTHERS) & _OTHERS)
