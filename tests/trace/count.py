"""Counts what runs of the app, and what is asked of the database, while something is done.

What is counted:

- **files**: Python files of the app and of the packages beside it of which a function was entered. The test kit and the
  sandbox are not counted: they play the others' parts.
- **functions**: the functions in those files that were entered, each once, however often it is called. Lambdas,
  comprehensions and properties are functions; the bodies of modules and classes are not, nor what Python calls to find
  a module: a library that looks for one that is not installed is no step of a payment.
- **changes**: of file, for a reader who follows with a tracer and reads each function once: in the order in which the
  functions are entered for the first time, how often the next one is in another file than the one before.
- **crossings**: of the program between files: how often a function of ours enters one of another file of ours, also by
  way of a library, and as often again for the way back. What runs in a task of its own is entered from where the
  program was last. Going on after a wait is no crossing. Loops make this number as large as there are rows.
- **transactions** and **statements** of the database. A transaction without a statement is none.
- **loads**: how often payments are read with their operations (a SELECT of operations by their payments).
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from sqlalchemy import Connection, event
from sqlalchemy.ext.asyncio import AsyncEngine

from integration_base_tests.places import GATEWAY_CLIENT, SALEOR_APP_SDK
from tests.sources import HOUSES, name_of

_HOUSES = tuple(f"{house}/" for house in HOUSES)
_PLAYED = (f"{SALEOR_APP_SDK}/testing/", f"{GATEWAY_CLIENT}/sandbox/")
_LOAD = re.compile(r"\bFROM operation\b.*\bWHERE operation\.payment_id\b", re.DOTALL)
_IMPORT_SYSTEM = "<frozen importlib."
_OPTIMIZED_AND_NEW_LOCALS = 0x1 | 0x2  # what bodies of modules and classes are not


@dataclass
class Counts:
    """What was counted; see the module."""

    entered: dict[CodeType, None] = field(default_factory=dict)
    crossings: int = 0
    transactions: int = 0
    statements: int = 0
    loads: int = 0

    @property
    def files(self) -> list[str]:
        """The files, in the order in which they were entered first."""
        return list(dict.fromkeys(name_of(Path(code.co_filename)) for code in self.entered))

    @property
    def functions(self) -> int:
        """How many functions were entered."""
        return len(self.entered)

    @property
    def changes(self) -> int:
        """How often a reader changes file."""
        path = [code.co_filename for code in self.entered]
        return sum(one != next_one for one, next_one in pairwise(path))


class _Profiler:
    """Follows each frame once: a coroutine that goes on after it has waited is not entered again."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._last = ""
        self._entered: set[FrameType] = set()  # the frames themselves, so that none takes another's place

    def __call__(self, frame: FrameType, what: str, _of: Any) -> None:
        code = frame.f_code
        if what != "call" or not _is_ours(code) or _is_called_by_an_import(frame):
            return
        if frame not in self._entered:
            self._entered.add(frame)
            self._counts.entered.setdefault(code)
            caller = _caller(frame) or self._last
            if caller and caller != code.co_filename:
                self._counts.crossings += 2
        self._last = code.co_filename


def _is_ours(code: CodeType) -> bool:
    return (
        code.co_filename.startswith(_HOUSES)
        and code.co_filename.endswith(".py")  # templates have code, too
        and not code.co_filename.startswith(_PLAYED)
        and code.co_flags & _OPTIMIZED_AND_NEW_LOCALS == _OPTIMIZED_AND_NEW_LOCALS
    )


def _is_called_by_an_import(frame: FrameType) -> bool:
    return frame.f_back is not None and frame.f_back.f_code.co_filename.startswith(_IMPORT_SYSTEM)


def _caller(frame: FrameType) -> str | None:
    """Return the file of ours from which a frame was entered, perhaps by way of a library."""
    before = frame.f_back
    while before is not None:
        if _is_ours(before.f_code):
            return before.f_code.co_filename
        before = before.f_back
    return None


class Counter:
    """Counts between ``start`` and ``stop``."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine.sync_engine
        self._with_statements: set[Connection] = set()
        self.counts = Counts()

    @contextmanager
    def counting(self) -> Iterator[Counts]:
        """Count what is done in the block."""
        self.start()
        try:
            yield self.counts
        finally:
            self.stop()

    def start(self) -> None:
        """Count from now on. What is done must not have begun before."""
        event.listen(self._engine, "before_cursor_execute", self._statement)
        event.listen(self._engine, "commit", self._end)
        event.listen(self._engine, "rollback", self._end)
        sys.setprofile(_Profiler(self.counts))

    def stop(self) -> None:
        """Count no more."""
        sys.setprofile(None)
        event.remove(self._engine, "before_cursor_execute", self._statement)
        event.remove(self._engine, "commit", self._end)
        event.remove(self._engine, "rollback", self._end)

    def _statement(self, connection: Connection, _cursor: Any, statement: str, *_more: Any) -> None:
        self._with_statements.add(connection)
        self.counts.statements += 1
        self.counts.loads += _LOAD.search(statement) is not None

    def _end(self, connection: Connection) -> None:
        self.counts.transactions += connection in self._with_statements
        self._with_statements.discard(connection)
