"""The pages that claim something list the tests that show it, each of which is there."""

import re
from pathlib import Path

import pytest

from tests.marked.marks import Mark
from tests.marked.page import ALL_TOGETHER, PAGES, RELIABILITY, SECURITY, MarkedPage, claims_of

LAW = Mark("law", range(1, 15), bare=ALL_TOGETHER)
THREAT = Mark("threat", ["open-redirect", "forged-webhook"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_page_lists_the_tests_that_are_marked(page: MarkedPage) -> None:
    assert page.path.read_text() == page.with_tests(page.path.read_text()), "make marked-pages writes it anew"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_claim_has_one_place_and_a_test(page: MarkedPage) -> None:
    claims = claims_of(page.path.read_text())
    assert len(claims) == len(set(claims))
    shown = {claim for test in page.mark.tests() for claim in test.claims}
    assert [claim for claim in claims if claim not in shown] == []


@pytest.mark.parametrize(
    ("page", "parts"),
    [(SECURITY, ["How it is met"]), (RELIABILITY, ["What happens", "Result"])],
    ids=lambda each: getattr(each, "name", None),
)
def test_each_threat_and_fault_says_what_one_wants_to_know(page: MarkedPage, parts: list[str]) -> None:
    without = [
        chapter.splitlines()[0]
        for chapter in re.split(r"^### ", page.path.read_text(), flags=re.MULTILINE)[1:]
        if len(claims_of(chapter)) != 1 or any(chapter.count(f"\n**{part}.** ") != 1 for part in parts)
    ]
    assert without == []


SOURCE = """
import pytest

pytestmark = [pytest.mark.timeout(9), pytest.mark.law(5)]

@pytest.mark.law(2, 3)
@pytest.mark.threat("open-redirect")
class TestSomething:
    @pytest.mark.law(14)
    async def test_one(self): ...
    def helper(self): ...

@pytest.mark.law
def test_two(): ...
"""


def test_marks_of_modules_classes_and_tests_are_added_up(tmp_path: Path) -> None:
    assert found(LAW, tmp_path, SOURCE) == {"TestSomething::test_one": {2, 3, 5, 14}, "test_two": {ALL_TOGETHER, 5}}
    assert {test.name: test.claims for test in THREAT.tests(tmp_path)} == {"TestSomething::test_one": {"open-redirect"}}


@pytest.mark.parametrize(
    ("mark", "written", "on"),
    [
        (LAW, "law(15)", "test_it"),
        (LAW, "law(0)", "test_it"),
        (LAW, "law(2, x)", "test_it"),
        (LAW, "law(2)", "helper"),
        (THREAT, 'threat("open-door")', "test_it"),
        (THREAT, 'threat("open-redirect")', "helper"),
        (THREAT, "threat()", "test_it"),
        (THREAT, "threat", "test_it"),
    ],
)
def test_a_mark_of_no_claim_or_on_no_test_is_an_error(tmp_path: Path, mark: Mark, written: str, on: str) -> None:
    with pytest.raises(ValueError, match=mark.name):
        found(mark, tmp_path, f"import pytest\n@pytest.mark.{written}\ndef {on}(): ...\n")


def found(mark: Mark, root: Path, source: str) -> dict[str, frozenset[int | str]]:
    (root / "tests").mkdir()
    (root / "tests" / "test_them.py").write_text(source)
    return {test.name: test.claims for test in mark.tests(root)}
