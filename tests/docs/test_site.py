"""The documentation's site: every page is in it, complete, and nothing of it lies elsewhere."""

import json
import os
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
from markdown_it import MarkdownIt

import gateway_client
import saleor_app_sdk
from gateway_client import sandbox
from integration_base_tests.pages import DOCS, OPERATORS
from integration_base_tests.places import REPOSITORY
from integration_base_tests.skipping import missing
from saleor_app_sdk import testing
from tests.docs import reference
from tests.public_names import LISTINGS, client_groups, listing, members_of

MKDOCS = REPOSITORY / "build" / "docs" / "bin" / "mkdocs"
PUBLIC = (saleor_app_sdk, testing, gateway_client, sandbox)
BUILD_TIMEOUT = 200  # seconds; it takes ten alone
_CONSTRUCTORS = {"__init__", "__new__"}
_COMPARED = ("h2", "h3", "img", "li", "ol", "pre", "table", "td")
_FETCHED = re.compile(
    r"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=["'](?:https?:)?//|url\(["']?(?:https?:)?//"""
)


def run(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command that builds the site into ``folder``."""
    if not MKDOCS.exists():
        missing("the environment that builds the documentation (make docs-tools)")
    return subprocess.run(
        command,
        cwd=REPOSITORY,
        env=os.environ
        | {"DOCS_REFERENCE": str(folder / "reference"), "DOCS_SOURCE_URL": "https://forge.example/blob/"},
        capture_output=True,
        text=True,
        check=False,
        timeout=BUILD_TIMEOUT,
    )


def test_the_site_has_every_page_and_every_public_name(tmp_path: Path) -> None:
    """One test, because the site is built once; nothing is installed for it."""
    site = tmp_path / "site"
    installed = (f"--old-file={environment}/.installed" for environment in (".venv", "build/docs"))
    built = run(tmp_path, "make", *installed, "docs", f"ARGS=--site-dir {site}")
    assert built.returncode == 0, built.stderr
    check_pages_are_whole(site)
    for module in PUBLIC:
        check_names_are_told(site, module)
    check_nothing_is_fetched_from_elsewhere(site)
    check_links_to_sources_lead_to_the_forge(site)
    check_words_are_found(site)


def check_pages_are_whole(site: Path) -> None:
    """The same headings, lists, tables and blocks of code as where a forge shows the page."""
    pages = [*DOCS.rglob("*.md"), *REPOSITORY.glob("*.md"), *REPOSITORY.glob("packages/*/*.md")]
    assert len(pages) > 80
    markdown = MarkdownIt("gfm-like", {"linkify": False})
    for page in pages:
        html = address(site, page).read_text()
        content = html[html.index('itemprop="articleBody"') : html.index("<footer>")]
        assert elements(content) == elements(markdown.render(page.read_text())), page.relative_to(REPOSITORY)


def address(site: Path, page: Path) -> Path:
    """Return where a page of the checkout lies in the site."""
    path = page.relative_to(DOCS if page.is_relative_to(DOCS) else REPOSITORY)
    named = "index" if path.stem == "README" else path.stem
    return site / path.with_name(f"{named}.html")


def elements(html: str) -> dict[str, int]:
    return {name: len(re.findall(rf"<{name}[ >]", html)) for name in _COMPARED}


def check_names_are_told(site: Path, module: ModuleType) -> None:
    anchors = set(re.findall(r'id="([^"]+)"', (site / "reference" / f"{module.__name__}.html").read_text()))
    names = names_of(module)
    assert len(names) > 10
    assert sorted(names - anchors) == []


def names_of(module: ModuleType) -> set[str]:
    """Return the anchors of a module's public names and of their members."""
    found = set()
    for name in module.__all__:
        path, value = f"{module.__name__}.{name}", getattr(module, name)
        found |= {path, *(f"{path}.{member}" for member in member_names(value))}
    if module is gateway_client:
        for _, group in client_groups():
            found |= {f"{group.__module__}.{group.__qualname__}.{member}" for member in member_names(group)}
    return found


def member_names(value: object) -> set[str]:
    lines = members_of(value) if isinstance(value, type) else []
    return {re.split(r"\W", line.removeprefix("self."))[0] for line in lines} - _CONSTRUCTORS


def check_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    files = [path for path in site.rglob("*") if path.suffix in {".html", ".css"}]
    assert {path.suffix for path in files} == {".html", ".css"}
    assert {path.relative_to(site): hit[0] for path in files if (hit := _FETCHED.search(path.read_text()))} == {}


def check_links_to_sources_lead_to_the_forge(site: Path) -> None:
    html = (site / "architecture.html").read_text()
    led_to = re.findall(r'href="https://forge\.example/blob/([^"#]+)', html)
    assert len(led_to) > 10
    assert [path for path in led_to if not (REPOSITORY / path).exists()] == []


def check_words_are_found(site: Path) -> None:
    entries = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    found = {entry["location"].partition("#")[0] for entry in entries}
    assert {f"operators/{page.stem}.html" for page in OPERATORS.glob("*.md")} <= found
    assert any("APP_WEBHOOK_MAX_AGE_SECONDS" in entry["text"] for entry in entries)


def test_names_that_are_looked_for_are_those_of_the_listings() -> None:
    listed = "".join(file.read_text() for file in LISTINGS)
    for module in (saleor_app_sdk, gateway_client, sandbox):
        assert listing(module) in listed
        assert {f"{module.__name__}.{name}" for name in module.__all__} < names_of(module)
    assert "gateway_client.Refund.order_id" in names_of(gateway_client)
    assert "gateway_client.reports.Reports.start" in names_of(gateway_client)


@pytest.mark.long
def test_a_link_to_nothing_ends_the_build(tmp_path: Path) -> None:
    wrong = "[a page](../docs/nowhere.md), [a heading](../docs/operators.md#nowhere), [a source](../app/nowhere.py)"
    reference.write_pages(tmp_path / "reference")
    (tmp_path / "reference" / "error-codes.md").write_text(wrong, encoding="utf-8")
    built = run(tmp_path, MKDOCS, "build", "--strict", "--site-dir", tmp_path / "site")
    assert built.returncode != 0
    for target in ("docs/nowhere.md", "#nowhere", "app/nowhere.py"):
        assert target in built.stderr, target
