"""What pages claim is shown by tests, which are listed."""

import re
from pathlib import Path

import pytest

from integration_base_tests.pages import links
from tests.docs.test_links import fault_of
from tests.marked.marks import Mark
from tests.marked.page import (
    ALL_TOGETHER,
    PAGES,
    RELIABILITY,
    SECURITY,
    TESTS_BY_CLAIM,
    MarkedPage,
    claims_of,
    listed_by_claim,
)

LAW = Mark("law", range(1, 18), bare=ALL_TOGETHER)
THREAT = Mark("threat", ["open-redirect", "forged-webhook"])


def test_the_list_is_that_of_the_tests_that_are_marked() -> None:
    written = TESTS_BY_CLAIM.read_text() if TESTS_BY_CLAIM.exists() else ""
    assert written == listed_by_claim(), "tests-by-claim.md is not current: make marked-pages writes it anew"


def test_each_link_of_the_list_leads_somewhere() -> None:
    assert [link for link in links(TESTS_BY_CLAIM) if fault_of(TESTS_BY_CLAIM, link)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_claim_has_one_link_and_a_test(page: MarkedPage) -> None:
    claims = claims_of(page.path.read_text())
    assert len(claims) == len(set(claims)), f"docs/{page.name} links to the tests of a claim more than once"
    shown = {claim for test in page.mark.tests() for claim in test.claims}
    without = [claim for claim in claims if claim not in shown]
    assert without == [], f"no test has a mark {page.mark.name} for these claims of docs/{page.name}"


@pytest.mark.parametrize(
    ("page", "parts"),
    [(SECURITY, ["How it is met"]), (RELIABILITY, ["What happens", "Result"])],
    ids=lambda page: getattr(page, "name", None),
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
        (LAW, "law(18)", "test_it"),
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
