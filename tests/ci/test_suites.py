"""CI runs a sample of the long campaigns, another one for each commit; the tests of the tooling are a suite."""

import os
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.suites import TOOLING, is_in_sample

TESTS = [f"tests/room/test_file.py::test_that[sqlite-case{number}]" for number in range(2000)]


@pytest.mark.parametrize(("percent", "least", "most"), [(0, 0, 0), (40, 700, 900), (100, 2000, 2000)])
def test_a_sample_is_that_share_of_all(percent: int, least: int, most: int) -> None:
    assert least <= sum(is_in_sample(test, percent, "c0ffee") for test in TESTS) <= most


def test_a_sample_is_the_same_for_the_same_commit_and_in_time_everything_is_in_one() -> None:
    seeds = [f"{number:040x}" for number in range(40)]
    chosen = [frozenset(test for test in TESTS if is_in_sample(test, 40, seed)) for seed in seeds]
    assert chosen[0] == {test for test in TESTS if is_in_sample(test, 40, seeds[0])}
    times = Counter(test for sample in chosen for test in sample)
    assert set(times) == set(TESTS)


@pytest.mark.parametrize("place", TOOLING)
def test_each_place_of_the_tooling_has_tests(place: str) -> None:
    path = REPOSITORY / place
    assert path.is_file() or list(path.rglob("test_*.py"))


class TestMakeTest:
    """What ``make test`` chooses; nothing is run."""

    @pytest.fixture
    def copy(self, tmp_path: Path) -> Path:
        """Return a folder with the Makefile and what it needs."""
        for file in ("Makefile", "pyproject.toml", "requirements-dev.txt"):
            shutil.copy(REPOSITORY / file, tmp_path)
        (tmp_path / "packages").mkdir()
        return tmp_path

    def test_runs_the_tooling_tests_in_a_fresh_clone(self, copy: Path) -> None:
        assert chosen_marks(copy) == "not long"

    def test_leaves_them_out_once_they_have_passed(self, copy: Path) -> None:
        passed(copy)
        assert chosen_marks(copy) == "not long and not tooling"

    def test_runs_them_again_when_a_file_has_changed(self, copy: Path) -> None:
        passed(copy)
        write(copy / "packages" / "new.py", seconds_ahead=120)
        assert chosen_marks(copy) == "not long"

    def test_leaves_out_nothing_of_what_somebody_names(self, copy: Path) -> None:
        passed(copy)
        assert chosen_marks(copy, "ARGS=tests/sandbox") == "not long"


def passed(folder: Path) -> None:
    """Do what ``make test`` does when the tests have passed."""
    write(folder / "build" / ".tooling-tested", seconds_ahead=60)


def write(file: Path, seconds_ahead: float) -> None:
    """Write a file, later than all that are there."""
    file.parent.mkdir(exist_ok=True)
    file.touch()
    os.utime(file, (time.time() + seconds_ahead,) * 2)


def chosen_marks(folder: Path, *variables: str) -> str:
    """Return the marks for which ``make test`` would ask."""
    command = ["make", "-n", "test", *variables]
    environment = {"PATH": os.environ["PATH"]}  # nothing of a make that runs these tests
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    (line,) = [line for line in ran.stdout.splitlines() if " -m '" in line]
    return line.partition(" -m '")[2].partition("'")[0]
