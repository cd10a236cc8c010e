"""CI runs a sample of the long campaigns, another one for each commit; the tests of the tooling are a suite."""

import os
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from integration_base_tests.places import REPOSITORY
from tests.suites import SECONDS, TOOLING, choose_sample, kind_of

TESTS = [f"tests/room/test_file.py::test_that[sqlite-case{number}]" for number in range(2000)]
DEAR = [f"tests/model/test_model.py::test_it[{number}]" for number in range(20)]


@pytest.mark.parametrize(("seconds", "number"), [(0, 1), (120, 800), (300, 2000), (1000, 2000)])
def test_sample_takes_so_many_seconds(seconds: float, number: int) -> None:
    """Rooms without a name in the table take 0.15 s for each test. One of each kind is always there."""
    assert len(choose_sample(TESTS, seconds, "c0ffee")) == pytest.approx(number, abs=1)


def test_sample_is_the_same_for_the_same_commit_and_in_time_everything_is_in_one() -> None:
    seeds = [f"{number:040x}" for number in range(40)]
    chosen = [frozenset(choose_sample(TESTS, 120, seed)) for seed in seeds]
    assert chosen[0] == choose_sample(TESTS[::-1], 120, seeds[0])
    times = Counter(test for sample in chosen for test in sample)
    assert set(times) == set(TESTS)


def test_sample_has_one_of_each_kind_however_little_time_there_is() -> None:
    """In the campaigns each test is a kind of its own, elsewhere each file."""
    stories = [f"tests/chaos/test_stories.py::test_{name}[{number}]" for name in ("one", "two") for number in range(9)]
    for number in range(40):
        chosen = choose_sample([*TESTS, *DEAR, *stories], 0, str(number))
        assert Counter(map(kind_of, chosen)) == dict.fromkeys(
            [
                "tests/room/test_file.py", "tests/model/test_model.py::test_it",
                "tests/chaos/test_stories.py::test_one", "tests/chaos/test_stories.py::test_two",
            ],
            1,
        )  # fmt: skip


def test_dear_test_is_as_likely_in_a_sample_as_a_cheap_one() -> None:
    samples = [choose_sample([*TESTS, *DEAR], 290, str(number)) for number in range(100)]  # half of 300 s and 280 s
    for tests in (TESTS, DEAR):
        assert sum(len(sample & set(tests)) for sample in samples) == pytest.approx(len(tests) * 50, rel=0.1)


@pytest.mark.parametrize("beginning", SECONDS)
def test_known_times_are_of_tests_that_exist(beginning: str) -> None:
    path, _, test = beginning.partition("::")
    files = [REPOSITORY / path] if path.endswith(".py") else list((REPOSITORY / path).rglob("test_*.py"))
    assert any(f"def {test}" in file.read_text() for file in files)


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
        assert chosen_marks(copy, "ARGS=tests/demo") == "not long"


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
