"""What fails in CI is run once more: a test that then passes is named, one that fails twice keeps the run red."""

import ast
import os
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path

import pytest

from integration_base_tests.places import REPOSITORY
from tests.ci.retry import LIST, MENDED_WITHIN, MOST_BY_CHANCE, main, read_list

TODAY = date(2026, 11, 25)
FLAKY = """
from pathlib import Path

def test_good(): pass

def test_flaky():
    seen = Path("seen")
    first, _ = not seen.exists(), seen.touch()
    assert not first
"""
BROKEN = "def test_broken(): assert False\n"


class TestWhatFailed:
    @pytest.fixture(autouse=True)
    def _as_from_a_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in [name for name in os.environ if name.startswith("PYTEST_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # the others take a second to import
        monkeypatch.setenv("PYTEST_PLUGINS", "xdist.plugin")

    def test_once_is_green_and_named(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        assert retry(tmp_path, FLAKY) == 0
        assert flaky_lines(capfd) == ["flaky: test_it.py::test_flaky (not listed yet)"]

    def test_twice_is_red(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        assert retry(tmp_path, FLAKY + BROKEN) == 1
        assert flaky_lines(capfd) == ["flaky: test_it.py::test_flaky (not listed yet)"]

    def test_in_one_of_several_processes_is_run_alone(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        alone = "import os\ndef test_alone(): assert 'PYTEST_XDIST_WORKER' not in os.environ\n"
        assert retry(tmp_path, alone, "-n", "2") == 0
        assert flaky_lines(capfd) == ["flaky: test_it.py::test_alone (not listed yet)"]

    def test_many_times_at_once_is_no_chance(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        many = f"import pytest\n@pytest.mark.parametrize('n', range({MOST_BY_CHANCE + 1}))\n"
        assert retry(tmp_path, many + "def test_it(n): assert False\n") == 1
        assert "Once more" not in capfd.readouterr().out

    def test_that_is_listed_says_since_when(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        assert retry(tmp_path, FLAKY, listed={"test_it.py::test_flaky": TODAY - MENDED_WITHIN}) == 0
        assert flaky_lines(capfd) == ["flaky: test_it.py::test_flaky (listed since 2026-11-11)"]

    def test_that_is_listed_for_too_long_is_red(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        since = TODAY - MENDED_WITHIN - timedelta(days=1)
        assert retry(tmp_path, FLAKY, listed={"test_it.py::test_flaky": since}) == 1
        assert "test_it.py::test_flaky is listed as flaky since 2026-11-10" in capfd.readouterr().out

    @pytest.mark.parametrize(
        ("text", "status"),
        [("this is no Python", 2), ("def test_good(): pass", 0), ("", 5)],
        ids=["syntax", "", "none"],
    )
    def test_nothing_that_can_be_run_again(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str, status: int
    ) -> None:
        assert retry(tmp_path, text) == status
        assert "Once more" not in capfd.readouterr().out


def retry(folder: Path, text: str, *arguments: str, listed: Mapping[str, date] | None = None) -> int:
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(text)
    return main(["-q", *arguments], folder=folder, listed=listed or {}, today=TODAY)


def flaky_lines(capfd: pytest.CaptureFixture[str]) -> list[str]:
    return [line for line in capfd.readouterr().out.splitlines() if line.startswith("flaky: ")]


class TestTheList:
    def test_names_tests_that_exist(self) -> None:
        for name in read_list(LIST.read_text()):
            file, _, test = name.partition("[")[0].partition("::")
            named = {
                node.name for node in ast.walk(ast.parse((REPOSITORY / file).read_text())) if hasattr(node, "name")
            }
            assert test.rpartition("::")[2] in named, f"{name} is not there any more: remove its line"

    def test_has_a_day_a_test_and_a_suspicion(self) -> None:
        text = "# seen\n\n2026-11-24 tests/a.py::test_a[one-/pos/* two]  waits for less than the page takes\n"
        assert read_list(text) == {"tests/a.py::test_a[one-/pos/* two]": date(2026, 11, 24)}

    @pytest.mark.parametrize(
        "line", ["2026-11-24 tests/a.py::test_a", "tests/a.py::test_a  why", "2026-11-24 test_a  why"]
    )
    def test_without_one_of_these_is_an_error(self, line: str) -> None:
        with pytest.raises(ValueError, match=r"not a day|Invalid isoformat"):
            read_list(line)
