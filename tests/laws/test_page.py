"""docs/laws-of-money.md tells every law, and the tests that bear its mark."""

from pathlib import Path

import pytest

from tests.laws.marks import ALL_TOGETHER, LAWS, marked_tests, marked_with
from tests.laws.page import PAGE, chapters, with_tests


def test_the_page_lists_the_tests_that_are_marked() -> None:
    assert PAGE.read_text() == with_tests(PAGE.read_text()), "make laws-page writes it anew"


def test_each_law_has_a_chapter_and_tests() -> None:
    assert list(chapters(PAGE.read_text())) == [ALL_TOGETHER, *LAWS]
    tests = marked_tests()
    assert [law for law in (ALL_TOGETHER, *LAWS) if not marked_with(law, tests)] == []


def test_each_law_says_how_it_is_kept() -> None:
    laws = {number: text for number, text in chapters(PAGE.read_text()).items() if number != ALL_TOGETHER}
    assert [number for number, text in laws.items() if text.count("\n**How it is kept.** ") != 1] == []


SOURCE = """
import pytest

pytestmark = [pytest.mark.timeout(9), pytest.mark.law(5)]

@pytest.mark.law(2, 3)
class TestSomething:
    @pytest.mark.law(14)
    async def test_one(self): ...
    def helper(self): ...

@pytest.mark.law
def test_two(): ...
"""


def test_marks_of_modules_classes_and_tests_are_added_up(tmp_path: Path) -> None:
    assert found(tmp_path, SOURCE) == {"TestSomething::test_one": {2, 3, 5, 14}, "test_two": {ALL_TOGETHER, 5}}


@pytest.mark.parametrize(
    ("mark", "on"),
    [("law(15)", "test_it"), ("law(0)", "test_it"), ("law(2, x)", "test_it"), ("law(2)", "helper")],
)
def test_a_mark_of_no_law_or_on_no_test_is_an_error(tmp_path: Path, mark: str, on: str) -> None:
    with pytest.raises(ValueError, match="laws"):
        found(tmp_path, f"import pytest\n@pytest.mark.{mark}\ndef {on}(): ...\n")


def found(root: Path, source: str) -> dict[str, frozenset[int]]:
    (root / "tests").mkdir()
    (root / "tests" / "test_them.py").write_text(source)
    return {test.name: test.laws for test in marked_tests(root)}
