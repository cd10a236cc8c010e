"""Writes the tests that bear a mark into the pages that claim something: ``python -m tests.marked.page``.

A page has a place for the tests of each claim, ``<!-- tests: open-redirect -->...<!-- /tests -->``. One that stands on
lines of its own gets a list; one in the middle of a line, as in a table, gets links.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from tests.conftest import REPOSITORY
from tests.marked.marks import Mark, MarkedTest, Name, marked_with

_PLACE = re.compile(r"<!-- tests: ([a-z0-9-]+) -->(\n?).*?<!-- /tests -->", re.DOTALL)


@dataclass(frozen=True)
class MarkedPage:
    """A page below ``docs`` and the mark of the tests that show what it claims."""

    name: str
    mark: Mark

    @property
    def path(self) -> Path:
        """Where it is."""
        return REPOSITORY / "docs" / self.name

    def with_tests(self, text: str) -> str:
        """Return the page's text with the tests in each of its places."""
        tests = self.mark.tests()
        return _PLACE.sub(lambda place: _written(place, marked_with(_name(place[1]), tests)), text)


def claims_of(text: str) -> list[Name]:
    """Return what a page has places for, in its order."""
    return [_name(place[1]) for place in _PLACE.finditer(text)]


def _page(name: str, mark: str) -> MarkedPage:
    return MarkedPage(name, Mark(mark, claims_of((REPOSITORY / "docs" / name).read_text())))


def _name(text: str) -> Name:
    return int(text) if text.isdecimal() else text


def _written(place: re.Match[str], tests: Sequence[MarkedTest]) -> str:
    written = f"\n{_listed(tests)}" if place[2] else _in_a_line(tests)
    return f"<!-- tests: {place[1]} -->{written}<!-- /tests -->"


def _in_a_line(tests: Sequence[MarkedTest]) -> str:
    return "<br>".join(f"[{test.name}](../{test.file})" for test in tests)


def _listed(tests: Sequence[MarkedTest]) -> str:
    how_many = "1 test shows it" if len(tests) == 1 else f"{len(tests)} tests show it"
    lines = [f"<details><summary>{how_many}</summary>", ""]
    for file, those in groupby(tests, lambda test: test.file):
        lines += [f"- [{file}](../{file})", *(f"  - `{test.name}`" for test in those)]
    return "\n".join([*lines, "", "</details>", ""])


ALL_TOGETHER = 0
LAWS = range(1, 15)
LAWS_OF_MONEY = MarkedPage("laws-of-money.md", Mark("law", LAWS, bare=ALL_TOGETHER))
SECURITY = _page("security.md", "threat")
RELIABILITY = _page("reliability.md", "fault")
PAGES = (LAWS_OF_MONEY, SECURITY, RELIABILITY)


if __name__ == "__main__":
    for page in PAGES:
        page.path.write_text(page.with_tests(page.path.read_text()))
