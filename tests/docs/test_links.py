"""Links of the documentation lead somewhere."""

from pathlib import Path

import pytest

from integration_base_tests.pages import anchors, links, pages
from integration_base_tests.places import REPOSITORY


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_each_link_leads_to_a_file_of_ours_and_to_a_heading_in_it(page: Path) -> None:
    wrong = {link: fault for link in links(page) if "://" not in link and (fault := fault_of(page, link))}
    assert not wrong


def fault_of(page: Path, link: str) -> str | None:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.is_relative_to(REPOSITORY):
        return "outside of the repository"
    if not target.exists():
        return "no such file"
    return "no such heading" if anchor and anchor not in anchors(target) else None


def test_links_that_lead_nowhere_are_found() -> None:
    page = REPOSITORY / "docs" / "architecture.md"
    assert fault_of(page, "../../elsewhere.md") == "outside of the repository"
    assert fault_of(page, "nowhere.md") == "no such file"
    assert fault_of(page, "operators/alerts.md#what-nobody-has-written") == "no such heading"
