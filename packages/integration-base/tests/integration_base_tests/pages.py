"""The documentation as files: pages, blocks of code in them, links, tables."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from integration_base_tests.places import REPOSITORY

DOCS = REPOSITORY / "docs"
OPERATORS = DOCS / "operators"
STOREFRONT = DOCS / "storefront.md"
STORE_OWNERS = DOCS / "store-owners.md"
ARCHITECTURE = DOCS / "architecture.md"
DATABASE = DOCS / "database.md"
EXTENDING = DOCS / "extending.md"
README = REPOSITORY / "README.md"

_BLOCK = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<code>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of code: ``json variables`` has language ``json`` and role ``variables``."""

    page: Path
    line: int
    language: str
    role: str
    code: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(REPOSITORY)}:{self.line}"


def pages() -> list[Path]:
    """Every page of the documentation."""
    return sorted([*REPOSITORY.glob("*.md"), *DOCS.rglob("*.md")])


def blocks(*languages: str, among: list[Path] | None = None) -> list[Block]:
    """The blocks in these languages, in the order in which they stand."""
    return [block for page in among or pages() for block in _blocks_of(page) if block.language in languages]


def _blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for found in _BLOCK.finditer(text):
        language, _, role = found["info"].strip().partition(" ")
        yield Block(page, text.count("\n", 0, found.start()) + 1, language, role, found["code"])


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return _BLOCK.sub("", page.read_text())


def links(page: Path) -> list[str]:
    """Where a page links to, images included."""
    return _LINK.findall(prose(page))


def anchors(page: Path) -> set[str]:
    """The names by which a page's headings can be linked to, as GitHub makes them."""
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in _HEADING.findall(prose(page)))
    return {name.replace(" ", "-") for name in plain}


def section(page: Path, heading: str) -> str:
    """The text under a heading, up to the next one of its level or above."""
    level = re.match(r"#+", heading)
    assert level, "a heading begins with #"
    _, _, rest = page.read_text().partition(f"\n{heading}\n")
    assert rest, f"{page.name} has no heading {heading!r}"
    return re.split(rf"^#{{1,{len(level[0])}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def rows(text: str) -> list[list[str]]:
    """The cells of every table row in ``text``, headings and rules left out."""
    lines = [line.strip().strip("|").split(" | ") for line in text.splitlines() if line.strip().startswith("|")]
    cells = [[cell.strip() for cell in line] for line in lines]
    rules = {number for number, line in enumerate(cells) if set("".join(line)) <= set("-| ")}
    return [line for number, line in enumerate(cells) if number not in rules and number + 1 not in rules]


def backticked(cell: str) -> list[str]:
    """What stands in backticks."""
    return re.findall(r"`([^`]+)`", cell)
