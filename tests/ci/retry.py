"""``python -m tests.ci.retry ARGUMENTS OF PYTEST``: runs the tests, and what fails once more, alone and in one process.

Prints a line ``flaky: ...`` for each test that fails and then passes; the exit status is then 0. In all other cases it
is pytest's own: a test fails twice, many fail at once (that is no chance), the run breaks off, or a test fails that has
stood in ``tests/ci/flaky.txt`` for longer than ``MENDED_WITHIN``.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

LIST = Path(__file__).parent / "flaky.txt"
MENDED_WITHIN = timedelta(days=14)
MOST_BY_CHANCE = 10  # failures


@dataclass(frozen=True)
class Run:
    """A finished run of pytest: its exit status and the tests that failed, by their node ids."""

    status: int
    failed: Sequence[str]


def run_pytest(arguments: Sequence[str], folder: Path) -> Run:
    """Run pytest in a process of its own, in ``folder``; its output goes where ours does."""
    with tempfile.TemporaryDirectory(prefix="pytest-cache-") as cache:
        command = [sys.executable, "-m", "pytest", "-o", f"cache_dir={cache}", *arguments]
        status = subprocess.run(command, cwd=folder, check=False).returncode
        failed = Path(cache) / "v" / "cache" / "lastfailed"
        return Run(status, list(json.loads(failed.read_text())) if failed.exists() else [])


def read_list(text: str) -> dict[str, date]:
    """Return the day on which each listed test was seen to be flaky. Raises ValueError for an incomplete line."""
    listed = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        day, _, rest = line.partition(" ")
        name, _, suspicion = rest.partition("  ")
        if "::" not in name or not suspicion.strip():
            raise ValueError(f"not a day, a test and, after two spaces, a suspicion: {line!r}")
        listed[name] = date.fromisoformat(day)
    return listed


def may_be_chance(run: Run, listed: Mapping[str, date], today: date) -> bool:
    """Whether what failed is worth another try."""
    overdue = [test for test in run.failed if test in listed and today - listed[test] > MENDED_WITHIN]
    for test in overdue:
        print(f"{test} is listed as flaky since {listed[test]} and still not mended: it is not run again.")
    return run.status == pytest.ExitCode.TESTS_FAILED and 0 < len(run.failed) <= MOST_BY_CHANCE and not overdue


def main(arguments: Sequence[str], *, folder: Path, listed: Mapping[str, date], today: date) -> int:
    """Run the tests that ``arguments`` choose; return the exit status."""
    first = run_pytest(arguments, folder)
    if not may_be_chance(first, listed, today):
        return first.status
    print(f"\nOnce more, alone and in one process: {len(first.failed)} of the tests", flush=True)
    again = run_pytest(["-n", "0", *first.failed], folder)
    for test in first.failed:
        if test not in again.failed and again.status in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}:
            print(f"flaky: {test} ({f'listed since {listed[test]}' if test in listed else 'not listed yet'})")
    return again.status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], folder=Path.cwd(), listed=read_list(LIST.read_text()), today=datetime.now(UTC).date()))
