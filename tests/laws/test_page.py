"""docs/laws-of-money.md tells every law and how it is kept."""

import re

from tests.marked.page import ALL_TOGETHER, LAWS, LAWS_OF_MONEY, claims_of


def chapters() -> dict[int, str]:
    """The page's introduction (``ALL_TOGETHER``) and the chapters of the laws, by their numbers."""
    introduction, *laws = re.split(r"^(?=## )", LAWS_OF_MONEY.path.read_text(), flags=re.MULTILINE)
    return {ALL_TOGETHER: introduction} | {int(law.split(".")[0].removeprefix("## ")): law for law in laws}


def test_each_law_has_a_chapter_that_links_to_its_tests() -> None:
    assert list(chapters()) == [ALL_TOGETHER, *LAWS]
    assert {number: claims_of(chapter) for number, chapter in chapters().items()} == {
        number: [number] for number in (ALL_TOGETHER, *LAWS)
    }


def test_each_law_says_how_it_is_kept() -> None:
    laws = {number: text for number, text in chapters().items() if number != ALL_TOGETHER}
    assert [number for number, text in laws.items() if text.count("\n**How it is kept.** ") != 1] == []
