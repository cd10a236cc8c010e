"""CI runs a sample of the long campaigns, another one for each commit; the tests of the tooling are a suite."""

import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from integration_base_tests.places import REPOSITORY
from tests.suites import MAPPING, SECONDS, TOOLING, changed_houses, choose_sample, house_of, kind_of, put_first

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


def test_every_process_chooses_the_same_sample() -> None:
    """pytest-xdist refuses to run what two of its processes have not collected alike; each has its own hashes."""
    kinds = [f"{room}test_{number}.py::test_it" for room in SECONDS if room.endswith("/") for number in range(5)]
    program = "\n".join([
        "from tests.suites import MAPPING, SECONDS, choose_sample, seconds_of",
        f"kinds = {kinds!r}",
        "tests = [*kinds, *(f'{kinds[0]}[{number}]' for number in range(99))]",
        "enough = sum(map(seconds_of, kinds))",
        "print([len(choose_sample(tests, enough + number * 0.15, 'c0ffee')) for number in range(1, 41)])",
    ])  # fmt: skip
    chosen = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=REPOSITORY,
            env=os.environ | {"PYTHONHASHSEED": str(number)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for number in range(4)
    }
    assert len(chosen) == 1


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


def test_every_part_of_the_mapping_is_in_every_sample() -> None:
    """It is documentation: a change that makes a line of it untrue does not land."""
    parts = {f"{MAPPING}test_what_the_table_says_is_what_follows[{name}-sqlite]" for name in ("page", "card", "refund")}
    assert choose_sample([*TESTS, *parts], 0, "c0ffee") > parts


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


@pytest.mark.parametrize(
    ("path", "house"),
    [
        ("packages/gateway-client/tests/gateway_client_tests/test_wire.py::test_it[a/b]", "gateway-client"),
        ("packages/saleor-app-sdk/README.md", "saleor-app-sdk"),
        ("app/main.py", "app"),
        ("tests/ci/test_suites.py::test_it", "app"),
        ("manifest/manifest.toml", "app"),
        ("docs/gateway.md", None),
        ("Makefile", None),
    ],
)
def test_file_belongs_to_a_house_or_to_none(path: str, house: str | None) -> None:
    assert house_of(path) == house


@pytest.mark.parametrize(
    ("changed", "houses"),
    [
        (["packages/gateway-client/a.py", "docs/a.md"], {"gateway-client"}),
        (["packages/saleor-app-sdk/a.py", "app/a.py"], {"saleor-app-sdk", "app"}),
        (["docs/a.md"], set()),
        (["packages/integration-base/a.py", "app/a.py"], set()),  # all stand on it
    ],
)
def test_changed_houses_are_those_with_files_that_differ(tmp_path: Path, changed: list[str], houses: set[str]) -> None:
    git(tmp_path, "init")
    commit(tmp_path, "packages/gateway-client/a.py", "before")
    for name in changed:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("after")
    commit(tmp_path, "README.md", "after")
    assert changed_houses(tmp_path, "HEAD^") == houses


def test_nothing_has_changed_where_there_is_no_history(tmp_path: Path) -> None:
    assert changed_houses(tmp_path, "HEAD^") == set()
    git(tmp_path, "init")
    commit(tmp_path, "app/a.py", "first")
    assert changed_houses(tmp_path, "HEAD^") == set()


@pytest.mark.parametrize("workers", [1, 2, 4, 7])
@pytest.mark.parametrize("number", [0, 3, 20, 41])
def test_each_process_runs_its_share_of_the_first_tests_first(number: int, workers: int) -> None:
    """pytest-xdist gives each process an even piece to begin with."""
    tests = list(range(number))
    ordered = put_first(tests, lambda test: test % 3 == 0, workers)
    assert sorted(ordered) == tests
    for piece in initial_pieces(ordered, workers):
        assert [test % 3 == 0 for test in piece] == sorted((test % 3 == 0 for test in piece), reverse=True)
    shares = [sum(test % 3 == 0 for test in piece) for piece in initial_pieces(ordered, workers)]
    assert max(shares) - min(shares) <= 1


def test_order_stays_where_nothing_is_first_or_everything() -> None:
    tests = list(range(41))
    assert put_first(tests, lambda _: False, 4) == tests
    assert put_first(tests, lambda _: True, 4) == tests


def initial_pieces(tests: list[int], workers: int) -> list[list[int]]:
    """Return what each process is given to begin with by ``--dist worksteal``."""
    pending, pieces = list(tests), []
    for left in range(workers, 0, -1):
        pieces.append(pending[: len(pending) // left])
        del pending[: len(pending) // left]
    return pieces


def git(folder: Path, *words: str) -> None:
    names = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", *names, *words], cwd=folder, capture_output=True, check=True)


def commit(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--message", name)


class TestMakeTest:
    """What ``make test`` chooses; nothing is run."""

    @pytest.fixture
    def copy(self, tmp_path: Path) -> Path:
        """Return a folder with the Makefile and what it needs."""
        for file in ("Makefile", "pyproject.toml", "requirements-dev.txt"):
            shutil.copy(REPOSITORY / file, tmp_path)
        for folder in ("packages", "docs"):
            (tmp_path / folder).mkdir()
        return tmp_path

    def test_runs_everything_in_a_fresh_clone(self, copy: Path) -> None:
        assert chosen(copy) == ("not long", "")

    def test_leaves_out_packages_and_tooling_once_their_tests_have_passed(self, copy: Path) -> None:
        passed(copy)
        assert chosen(copy) == ("not long and not tooling", "tests")

    def test_runs_all_again_when_a_package_has_changed(self, copy: Path) -> None:
        passed(copy)
        write(copy / "packages" / "new.py", seconds_ahead=120)
        assert chosen(copy) == ("not long", "")

    def test_runs_those_of_the_tooling_again_when_a_document_has_changed(self, copy: Path) -> None:
        passed(copy)
        write(copy / "docs" / "operators.md", seconds_ahead=120)
        assert chosen(copy) == ("not long", "tests")

    def test_leaves_out_nothing_of_what_somebody_names(self, copy: Path) -> None:
        passed(copy)
        assert chosen(copy, "ARGS=packages tests/demo") == ("not long", "packages tests/demo")


def passed(folder: Path) -> None:
    """Do what ``make test`` does when the tests have passed."""
    for stamp in (".packages-tested", ".tooling-tested"):
        write(folder / "build" / stamp, seconds_ahead=60)


def write(file: Path, seconds_ahead: float) -> None:
    """Write a file, later than all that are there."""
    file.parent.mkdir(exist_ok=True)
    file.touch()
    os.utime(file, (time.time() + seconds_ahead,) * 2)


def chosen(folder: Path, *variables: str) -> tuple[str, str]:
    """Return the marks and the paths for which ``make test`` would ask."""
    command = ["make", "-n", "test", *variables]
    environment = {"PATH": os.environ["PATH"]}  # nothing of a make that runs these tests
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    asked = ran.stdout.replace("\\\n", " ").partition(" -m '")[2].splitlines()[0]
    marks, _, paths = asked.partition("'")
    return marks, paths.strip()
