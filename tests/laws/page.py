"""Writes the lists of tests in docs/laws-of-money.md anew, from their marks: ``python -m tests.laws.page``."""

import re
from itertools import groupby

from tests.conftest import REPOSITORY
from tests.laws.marks import ALL_TOGETHER, MarkedTest, marked_tests, marked_with

PAGE = REPOSITORY / "docs" / "laws-of-money.md"
_PLACE = re.compile(r"<!-- tests -->\n.*?<!-- /tests -->\n", re.DOTALL)


def chapters(text: str) -> dict[int, str]:
    """Return the page's introduction (``ALL_TOGETHER``) and the chapters of the laws, by their numbers."""
    introduction, *laws = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    return {ALL_TOGETHER: introduction} | {int(law.split(".")[0].removeprefix("## ")): law for law in laws}


def with_tests(text: str) -> str:
    """Return the page with the list of tests in each chapter. Raises ValueError when a chapter has no place for it."""
    tests = marked_tests()
    written = []
    for number, chapter in chapters(text).items():
        around = _PLACE.split(chapter)
        if len(around) != 2:
            raise ValueError(f"chapter {number} has {len(around) - 1} places for its tests")
        written.append(f"<!-- tests -->\n{_listed(marked_with(number, tests))}<!-- /tests -->\n".join(around))
    return "".join(written)


def _listed(tests: list[MarkedTest]) -> str:
    lines = [f"<details><summary>{len(tests)} tests show it</summary>", ""]
    for file, those in groupby(tests, lambda test: test.file):
        lines += [f"- [{file}](../{file})", *(f"  - `{test.name}`" for test in those)]
    return "\n".join([*lines, "", "</details>", ""])


if __name__ == "__main__":
    PAGE.write_text(with_tests(PAGE.read_text()))
