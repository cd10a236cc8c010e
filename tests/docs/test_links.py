"""Links of the documentation lead somewhere."""

from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.docs.pages import anchors, links, pages


def relative_links() -> list[tuple[Path, str]]:
    return [(page, link) for page in pages() for link in links(page) if "://" not in link]


@pytest.mark.parametrize(
    ("page", "link"), relative_links(), ids=lambda part: part.name if isinstance(part, Path) else part
)
def test_a_link_leads_to_a_file_of_ours_and_to_a_heading_in_it(page: Path, link: str) -> None:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    assert target.is_relative_to(REPOSITORY), "outside of the repository"
    assert target.exists(), target
    if anchor:
        assert anchor in anchors(target)
