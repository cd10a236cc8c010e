"""Tries one mutant: a child process imports the changed module and runs the tests that call the changed function."""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import traceback
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from types import CodeType, ModuleType
from typing import NoReturn

import pytest

from tests.mutations.mutants import Mutant, compiled
from tests.mutations.places import REPOSITORY

BROKEN = 99
"""The exit status of a trial that came to nothing."""


class Outcome(StrEnum):
    """What became of a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    UNREACHED = "unreached"  # no test of those that are asked calls its function
    TIMED_OUT = "timed out"


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports the changed module in place of the one on disk."""

    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        self._name, self._path, self._code = name, path, code

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the signature is Python's
        target: ModuleType | None = None,  # noqa: ARG002 - as above
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(fullname, self._path, loader=self)

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - as above
        return self._code

    def get_source(self, fullname: str) -> str:  # noqa: ARG002 - as above
        return self._path.read_text()


def run_tests(mutant: Mutant, tests: Sequence[str], log: Path) -> NoReturn:
    """End this process, which was forked for it, with the status of a run of ``tests`` (``BROKEN``: there was none)."""
    status = BROKEN
    try:
        with log.open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        assert "app" not in sys.modules, "the program is imported already, so nothing of it would be changed"
        path = REPOSITORY / mutant.path
        name = ".".join(mutant.path.with_suffix("").parts)
        sys.meta_path.insert(0, _Changed(name, path, compiled(mutant, path)))
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--timeout=60", "--tb=line"]
        status = int(pytest.main([*options, *tests]))
    except BaseException:  # noqa: BLE001 - nothing of the parent must go on in the child
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def failed_in(log: Path) -> list[str]:
    """Return the tests that have failed in a run, by what it has written."""
    lines = (line for line in log.read_text().splitlines() if line.startswith("FAILED "))
    return [line.removeprefix("FAILED ").partition(" - ")[0] for line in lines]
