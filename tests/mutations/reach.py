"""Which tests call which functions of the app: a plugin of pytest that writes it down while they run.

pytest -p tests.mutations.reach ...      with MUTATION_REACH naming the folder
"""

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.mutations.places import REPOSITORY, ROOMS

_PREFIXES = tuple(f"{REPOSITORY / room}{os.sep}" for room in ROOMS)
_reached: dict[str, set[str]] = defaultdict(set)
_seconds: dict[str, float] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note the functions that are called from the test's set-up to its end."""
    seen: set[Any] = set()

    def called(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            seen.add(frame.f_code)

    began, before = time.monotonic(), sys.gettrace()
    sys.settrace(called)
    try:
        return (yield)
    finally:
        sys.settrace(before)
        _seconds[item.nodeid] = time.monotonic() - began
        for code in seen:
            if code.co_filename.startswith(_PREFIXES):
                place = Path(code.co_filename).relative_to(REPOSITORY)
                _reached[f"{place}:{code.co_firstlineno}"].add(item.nodeid)


def pytest_sessionfinish() -> None:
    """Write it into a file of this process."""
    written = {"reached": {name: sorted(tests) for name, tests in _reached.items()}, "seconds": _seconds}
    (Path(os.environ["MUTATION_REACH"]) / f"{os.getpid()}.json").write_text(json.dumps(written))
