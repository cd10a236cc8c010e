"""A disk in memory, where there is one: what is kept there outlives a process that is killed, and no power cut."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MEMORY = Path("/dev/shm")  # noqa: S108 - nothing of it is left behind


@contextmanager
def folder_in_memory() -> Iterator[Path]:
    """Give an empty folder. On a real disk every commit of a test would wait for it, for nothing."""
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        yield Path(folder)
