"""What holds shoppers' data is for its owner alone, whatever the umask says: files 0600, the app's folder 0700."""

import os
from contextlib import suppress
from pathlib import Path

_OTHERS = 0o077
_SQLITE_HEADER = b"SQLite format 3\0"
_OF_SQLITE = ("", "-wal", "-shm", "-journal")


def make_private_folder(folder: Path) -> None:
    """Make the app's own folder if it is missing, and let nobody else in.

    A folder that is somebody's place (the working directory, a home, the root) is left as it is. Raises OSError.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.resolve() not in {Path.cwd(), Path.home(), Path("/")}:
        _close_to_others(folder)


def make_private_database(file: str) -> None:
    """Make an SQLite file if it is missing, and let nobody else read it, nor what SQLite writes beside it.

    What is no database is left as it is: the address may be wrong, and the file another program's.
    """
    if not file or file.startswith((":", "file:")):
        return
    try:
        with os.fdopen(os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "rb") as opened:
            if opened.read(len(_SQLITE_HEADER)) not in {b"", _SQLITE_HEADER}:
                return
    except OSError:  # SQLite says it in its own words when it opens the file
        return
    for suffix in _OF_SQLITE:  # new ones get the mode of the file itself
        _close_to_others(Path(f"{file}{suffix}"))


def _close_to_others(path: Path) -> None:
    with suppress(FileNotFoundError, PermissionError):  # not ours: whoever gave it to us has said who may read it
        mode = path.stat().st_mode & 0o777
        if mode & _OTHERS:
            path.chmod(mode & ~_OTHERS)
