"""Writes which tests show what the documentation claims: ``make marked-pages`` writes ``tests-by-claim.md`` anew.

A page of the documentation claims something where it links to the tests that show it, with a link that ends with
``tests-by-claim.md#threat-open-redirect``, say.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from integration_base_tests.places import REPOSITORY
from tests.marked.marks import Mark, Name, marked_with

TESTS_BY_CLAIM = Path(__file__).with_name("tests-by-claim.md")
_LINK = re.compile(r"\(\.\./tests/marked/tests-by-claim\.md#[a-z]+-([a-z0-9-]+)\)")
_INTRODUCTION = """\
<!-- `make marked-pages` writes this page. -->

# Tests by claim

The tests that show what the documentation claims: that a law of money holds, that a threat is met, what happens in a
fault. They are listed here because they bear its mark, `@pytest.mark.law(2)`, `threat("open-redirect")` or
`fault("disk-full")`.
"""


@dataclass(frozen=True)
class MarkedPage:
    """A page below ``docs`` that claims something, and the mark of the tests that show it."""

    name: str
    mark: Mark

    @property
    def path(self) -> Path:
        """Where it is."""
        return REPOSITORY / "docs" / self.name

    def lines(self) -> Iterator[str]:
        """Give the lines that list the tests of each of its claims, in its order."""
        text, tests = self.path.read_text(), self.mark.tests()
        title = text.partition("\n")[0].removeprefix("# ")
        yield from ("", f"## [{title}](../../docs/{self.name})")
        for claim in claims_of(text):
            yield from ("", f"### {self.mark.name.capitalize()} {claim}", "")
            if claim == self.mark.bare:
                yield from ("All of them together.", "")
            for file, those in groupby(marked_with(claim, tests), lambda test: test.file):
                yield f"- [{file}]({os.path.relpath(file, 'tests/marked')})"
                yield from (f"  - `{test.name}`" for test in those)


def claims_of(text: str) -> list[Name]:
    """Return the claims whose tests a page links to, in its order."""
    return [_name(link[1]) for link in _LINK.finditer(text)]


def listed_by_claim() -> str:
    """Return the text of the page that lists the tests of all claims."""
    return "\n".join([_INTRODUCTION.rstrip("\n"), *(line for page in PAGES for line in page.lines()), ""])


def _page(name: str, mark: str) -> MarkedPage:
    return MarkedPage(name, Mark(mark, claims_of((REPOSITORY / "docs" / name).read_text())))


def _name(text: str) -> Name:
    return int(text) if text.isdecimal() else text


ALL_TOGETHER = 0
LAWS = range(1, 18)
LAWS_OF_MONEY = MarkedPage("laws-of-money.md", Mark("law", LAWS, bare=ALL_TOGETHER))
SECURITY = _page("security.md", "threat")
RELIABILITY = _page("reliability.md", "fault")
PAGES = (LAWS_OF_MONEY, SECURITY, RELIABILITY)


if __name__ == "__main__":
    TESTS_BY_CLAIM.write_text(listed_by_claim())
