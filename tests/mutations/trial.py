"""Tries one mutant: a child process changes a function and runs the tests that run the changed line."""

import gc
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from enum import StrEnum
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import NoReturn

import pytest

from tests.mutations.mutants import Mutant, compile_mutant, mutants_of
from tests.mutations.places import REPOSITORY, module_name

_BROKEN = 99  # the exit status of a trial that came to nothing


_OPTIONS = (
    *("-p", "no:cacheprovider", "-p", "no:xdist"),
    *("-p", "no:unraisableexception"),  # what the parent left open is found by its children
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
)


class Outcome(StrEnum):
    """What became of a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    UNREACHED = "unreached"  # no test of those that are asked calls its function
    TIMED_OUT = "timed out"
    BROKEN = "not tried"  # the run of the tests has come to nothing


class _ChangedModuleLoader(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
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


class _TestCollector:
    """A plugin of pytest that keeps the names of the tests."""

    names: frozenset[str]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.names = frozenset(item.nodeid for item in session.items)


def import_all(tests: Sequence[str]) -> frozenset[str]:
    """Import the program and its tests, once for all trials, by collecting them; return the names of all tests."""
    collected = _TestCollector()
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        status = pytest.main(["--collect-only", "-q", *_OPTIONS, *tests], plugins=[collected])
    if status:
        raise RuntimeError(f"the tests cannot be collected: {status!r}")
    gc.unfreeze()  # what is frozen (tests/conftest.py) nobody can find
    return collected.names


def run_tests(mutant: Mutant, tests: Sequence[str], log: Path) -> NoReturn:
    """End this process, which was forked for it, with the status of a run of ``tests``.

    The changed function gets its new code where it is, which is quick, and leaves alone what was made of it when its
    module was imported.
    """
    with _redirect_output(log):
        path = REPOSITORY / mutant.path
        code = compile_mutant(mutant, path)
        if not _changed_in_place(mutant, path, code):
            import_and_run_tests(mutant, tests, log)
        _run(tests)


def import_and_run_tests(mutant: Mutant, tests: Sequence[str], log: Path) -> NoReturn:
    """Become another process, which imports the program with the changed module, and do as ``run_tests`` does."""
    (told := log.with_suffix(".json")).write_text(json.dumps([str(mutant.path), mutant.number, tests, str(log)]))
    os.chdir(REPOSITORY)
    os.execv(sys.executable, [sys.executable, "-m", "tests.mutations.trial", str(told)])  # noqa: S606 - no shell is meant


def _main(told: str) -> NoReturn:
    name, number, tests, log = json.loads(Path(told).read_text())
    with _redirect_output(Path(log)):
        [mutant] = [mutant for mutant in mutants_of(Path(name)) if mutant.number == number]
        path = REPOSITORY / mutant.path
        sys.meta_path.insert(0, _ChangedModuleLoader(module_name(mutant.path), path, compile_mutant(mutant, path)))
        _run(tests)


@contextmanager
def _redirect_output(log: Path) -> Iterator[None]:
    """Write into ``log`` from now on; nothing of the parent must go on in this process when it fails."""
    try:
        with log.open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        yield
    except BaseException:  # noqa: BLE001 - as above
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(_BROKEN)


def _run(tests: Sequence[str]) -> NoReturn:
    status = pytest.main(["-x", "-q", "--timeout=60", "--tb=line", *_OPTIONS, *tests])
    sys.stdout.flush()
    os._exit(status)


def _changed_in_place(mutant: Mutant, path: Path, module: CodeType) -> bool:
    """Give the function of a mutant its new code; return False when that cannot be done."""
    name = mutant.function.partition(".<locals>.")[0]
    [changed] = [code for code in _codes(module) if code.co_qualname == name]
    functions = [
        found
        for found in gc.get_objects()
        if isinstance(found, FunctionType)
        and (found.__code__.co_qualname, found.__code__.co_filename) == (name, str(path))
    ]
    if any(function.__code__.co_freevars != changed.co_freevars for function in functions):
        return False
    for function in functions:
        function.__code__ = changed
    return bool(functions)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for co_const in code.co_consts:
        if isinstance(co_const, CodeType):
            yield co_const
            yield from _codes(co_const)


def outcome_of(status: int) -> Outcome:
    """Return what the exit status of a run of tests means.

    A changed module that cannot even be imported is noticed, too.
    """
    match status:
        case pytest.ExitCode.OK:
            return Outcome.SURVIVED
        case pytest.ExitCode.TESTS_FAILED | pytest.ExitCode.INTERRUPTED | pytest.ExitCode.USAGE_ERROR:
            return Outcome.KILLED
        case _:
            return Outcome.BROKEN


def failed_tests(log: Path) -> list[str]:
    """Return the tests that have failed in a run, by what it has written."""
    lines = (line.partition(" - ")[0].partition(" ") for line in log.read_text().splitlines())
    return [test for word, _, test in lines if word in {"FAILED", "ERROR"} and "::" in test]


if __name__ == "__main__":
    _main(sys.argv[1])
