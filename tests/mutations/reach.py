"""Which test runs which lines of the app: a plugin of pytest that writes it down while they run.

pytest -p tests.mutations.reach ...      with MUTATION_REACH naming the folder

Functions are known by their names and lines by their text, so that what was written down serves on when the program
changes. What further runs write into the same folder is added.
"""

import json
import linecache
import os
import re
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeAlias

import pytest

from tests.mutations.mutants import Mutant
from tests.mutations.places import REPOSITORY, ROOMS

_PREFIXES = tuple(f"{REPOSITORY / room}" + ("" if room.endswith(".py") else os.sep) for room in ROOMS)
_ENTERED = ""  # in place of a line: the function was called
_IN_AN_EXPRESSION = re.compile(r"(\.<locals>\.<\w+>)+$")  # a comprehension or lambda is part of its function
_reached: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
_seconds: dict[str, float] = {}
_seen: set[tuple[CodeType, int | None]] = set()  # by the running test; a thread may have been started by an earlier one


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note the lines that are run from the test's set-up to its end."""
    _seen.clear()
    began, before = time.monotonic(), sys.gettrace()
    threading.settrace(_called)
    sys.settrace(_called)
    try:
        return (yield)
    finally:
        sys.settrace(before)
        threading.settrace(before)
        number = len(_seconds)
        _seconds[item.nodeid] = time.monotonic() - began
        for code, lineno in _seen.copy():
            text = _ENTERED if lineno is None else linecache.getline(code.co_filename, lineno).strip()
            path = Path(code.co_filename).relative_to(REPOSITORY)
            _reached[f"{path}:{_IN_AN_EXPRESSION.sub('', code.co_qualname)}"][text].add(number)


def _called(frame: FrameType, event: str, _: object) -> Any:
    if event != "call" or not frame.f_code.co_filename.startswith(_PREFIXES):
        return None
    _seen.add((frame.f_code, None))
    return _line


def _line(frame: FrameType, event: str, _: object) -> Any:
    if event == "line":
        _seen.add((frame.f_code, frame.f_lineno))
    return _line


def pytest_sessionfinish() -> None:
    """Write it into a file of this process."""
    if _seconds:
        lines = {place: {text: sorted(tests) for text, tests in of.items()} for place, of in _reached.items()}
        written = json.dumps({"tests": list(_seconds.items()), "reached": lines})
        run = os.environ.get("PYTEST_XDIST_TESTRUNUID", f"{time.time_ns()}")
        (Path(os.environ["MUTATION_REACH"]) / f"{run}-{os.getpid()}.json").write_text(written)


_Reached: TypeAlias = dict[str, dict[str, set[str]]]


@dataclass(frozen=True, slots=True)
class Reach:
    """What was written down: in each run the tests that run each line of each place; how many seconds each test takes.

    A line that a run does not know was written after it: whatever test calls the function may run it now.
    """

    runs: Sequence[_Reached]
    seconds: Mapping[str, float]

    @classmethod
    def read(cls, folder: Path) -> "Reach":
        """Read what all runs have written into ``folder``."""
        runs: dict[str, _Reached] = {}
        seconds: dict[str, float] = {}
        for file in sorted(folder.glob("*.json")):
            written = json.loads(file.read_text())
            names = [name for name, _ in written["tests"]]
            seconds |= dict(written["tests"])
            reached = runs.setdefault(file.stem.partition("-")[0], defaultdict(lambda: defaultdict(set)))
            for place, lines in written["reached"].items():
                for text, tests in lines.items():
                    reached[place][text].update(names[test] for test in tests)
        return cls(list(runs.values()), seconds)

    def tests_of(self, mutant: Mutant) -> Sequence[str]:
        """Return the tests that may run the line of a mutant: those of its own room, and that speak of it, first.

        They were seen on SQLite. What is about the database is asked of the other one, too, and what is about locks of
        that one only.
        """
        found: set[str] = set()
        for reached in self.runs:
            lines = reached.get(mutant.place, {})
            found |= lines.get(mutant.text) or lines.get(_ENTERED, set())
        own = f"tests/{'/'.join(mutant.path.parts[1:-1])}/"
        words = _words(f"{mutant.path.stem} {mutant.function} {mutant.text}")
        in_order = sorted(
            found, key=lambda test: (-len(words & _words(test)) - 2 * test.startswith(own), self.seconds[test])
        )
        if not (mutant.needs_row_locks or mutant.path.is_relative_to("app/store")):
            return in_order
        both = [(test, test.replace("[sqlite", "[postgresql")) for test in in_order]
        return list(dict.fromkeys(one for pair in both for one in pair[mutant.needs_row_locks :]))


@cache
def _words(text: str) -> frozenset[str]:
    """Return the beginnings of the longer words of a text: "cancels" and "cancellation" speak of the same."""
    return frozenset(word[:5].lower() for word in re.findall(r"[A-Za-z]{4,}", text)) - {"tests", "test", "payme"}
