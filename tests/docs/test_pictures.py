"""The documentation's pictures: each is shown, says in words what it shows, and is soon loaded."""

import re

from integration_base_tests.pages import DOCS, README, pages

_PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
LARGEST = 150_000
# It is made of several.
LARGEST_OF_THE_README = 220_000


def test_each_picture_is_shown_and_told_in_words() -> None:
    shown = {}
    for page in pages():
        for words, link in _PICTURE.findall(page.read_text()):
            if "://" not in link:
                shown[(page.parent / link).resolve()] = words
    taken = {path for path in (DOCS / "images").rglob("*") if path.is_file()}
    assert taken == shown.keys()
    assert [path.name for path, words in shown.items() if len(words) < 20] == []


def test_no_picture_is_large() -> None:
    large = {path.name for path in (DOCS / "images").rglob("*.*") if path.stat().st_size > LARGEST}
    assert large <= {"demo.png"}
    assert (DOCS / "images" / "demo.png").stat().st_size < LARGEST_OF_THE_README
    assert "demo.png" in README.read_text()
