"""Files with shoppers' data are private to their owner, whatever the umask: files 0600, the app's folder 0700."""

import errno
import os
from contextlib import suppress
from pathlib import Path

_OTHERS_MODE = 0o077
_NOT_OURS = {errno.ENOENT, errno.EACCES, errno.EPERM, errno.EROFS}
_SQLITE_HEADER = b"SQLite format 3\0"
_SQLITE_SUFFIXES = ("", "-wal", "-shm", "-journal")


def is_missing(file: Path) -> bool:
    """Return True if nothing has that name.

    False as well where this user may not look, or where it is a folder (which Docker makes of a file that it is to
    mount and does not find): whoever opens it is told.
    """
    try:
        return not file.exists()
    except PermissionError:
        return False


def create_private_folder(folder: Path) -> None:
    """Create the app's own folder if it is missing, and restrict it to its owner.

    A folder with other uses (the working directory, a home, the root) is left as it is. Raises OSError.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.resolve() not in _shared_folders():
        _restrict_to_owner(folder)


def _shared_folders() -> set[Path]:
    folders = {Path("/")}
    for find in (Path.cwd, Path.home):
        with suppress(OSError, RuntimeError):  # it was removed; a container's user need not have a home
            folders.add(find())
    return folders


def create_private_database(file: str) -> None:
    """Create an SQLite file if it is missing, and restrict it, and the files SQLite writes beside it, to its owner.

    A file that is no database is left as it is: the address may be wrong, and the file another program's.
    """
    if not file or file.startswith((":", "file:")):
        return
    try:
        with os.fdopen(os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "rb") as opened:
            if opened.read(len(_SQLITE_HEADER)) not in {b"", _SQLITE_HEADER}:
                return
    except OSError:  # SQLite reports it when it opens the file
        return
    for suffix in _SQLITE_SUFFIXES:  # new ones get the mode of the file itself
        _restrict_to_owner(Path(f"{file}{suffix}"))


def _restrict_to_owner(path: Path) -> None:
    try:
        mode = path.stat().st_mode & 0o777
        if mode & _OTHERS_MODE:
            path.chmod(mode & ~_OTHERS_MODE)
    except OSError as error:
        if error.errno not in _NOT_OURS:  # whose owner, or whoever mounts it, has decided who may read it
            raise
