"""What is looked for on a page: accessibility (axe-core), complaints of the browser, what jumps about, and spacing."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from playwright.async_api import Frame, Page

from integration_base_tests.skipping import missing
from tests.dashboard.framing import BrowserErrors

BAD = {"serious", "critical"}
ALSO_BAD = {"heading-order", "landmark-unique", "page-has-heading-one"}  # "moderate"
# Of the Dashboard's own frames; nobody else makes any.
_OF_THE_DASHBOARD = "An iframe which has both allow-scripts and allow-same-origin"
_UNFOLD = "() => document.querySelectorAll('details').forEach((each) => { each.open = true; })"
_AXE = "() => axe.run(document, { resultTypes: ['violations'], iframes: false })"
# The web vitals' sum (layout-shift), of what moved without anybody's doing.
_SHIFT = """() => new Promise((resolve) => {
  const seen = [];
  new PerformanceObserver((list) => seen.push(...list.getEntries())).observe({ type: "layout-shift", buffered: true });
  const painted = (then) => requestAnimationFrame(() => requestAnimationFrame(then));
  painted(() => setTimeout(() => {
    const moved = seen.filter(({ hadRecentInput }) => !hadRecentInput);
    const what = moved.flatMap(({ sources }) => sources.map(({ node }) => node?.parentNode?.id || node?.nodeName));
    resolve([moved.reduce((sum, { value }) => sum + value, 0), what.join(" ")]);
  }, 50));
})"""
MOST_SHIFT = 0.01
# Paragraphs are told apart by the space between them, and a heading belongs to what it stands close to.
_SPACING = """() => {
  const shown = (node) =>
    node.checkVisibility({ visibilityProperty: true }) && getComputedStyle(node).position !== "absolute";
  const found = [];
  for (const node of document.querySelectorAll("p, .copied, h2")) {
    let next = node.nextElementSibling;
    while (next && !shown(next)) next = next.nextElementSibling;
    if (!next || !shown(node)) continue;
    const space = next.getBoundingClientRect().top - node.getBoundingClientRect().bottom;
    const text = node.textContent.trim().slice(0, 60);
    const alike = node.matches("p, .copied") && next.matches("p, ul, ol, span");
    if (alike && Math.abs(space) < 2) found.push(`touches the next: ${text}`);
    if (node.matches("h2") && space > 20) found.push(`${space} pixels below: ${text}`);
  }
  return found;
}"""
# Of fields that a browser checks itself, and of files: its words for them are in its language, not in the page's.
_BROWSERS_WORDS = """() => [...document.querySelectorAll("input, select, textarea")]
  .filter((field) => field.type === "file" || (field.form && !field.form.noValidate && field.willValidate &&
    (field.matches("[required], [pattern], [min], [max]") || /^(email|url|number|date)$/.test(field.type))))
  .map((field) => field.outerHTML)"""


@cache
def _axe() -> str:
    """The script of axe-core, from the package that brings it along (``test`` in pyproject.toml)."""
    found = find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        missing("axe-core (make install)")
        raise LookupError
    return (Path(found.origin).parent / "axe.min.js").read_text(encoding="utf-8")


async def faults(page: Page | Frame) -> list[str]:
    """Return what is wrong with a page as it stands, everything unfolded."""
    moved, what = await page.evaluate(_SHIFT)
    found = [f"things jump about: {moved:.3f} ({what})"] if moved > MOST_SHIFT else []
    found += [f"the browser's own words: {field}" for field in await page.evaluate(_BROWSERS_WORDS)]
    await page.evaluate(_UNFOLD)
    await page.evaluate(_axe())
    result: dict[str, Any] = await page.evaluate(_AXE)
    for violation in result["violations"]:
        if violation["impact"] in BAD or violation["id"] in ALSO_BAD:
            nodes = [f"{node['html']} ({node['failureSummary']})" for node in violation["nodes"]]
            found.append(f"{violation['id']}: {violation['help']}: {'; '.join(nodes)[:1500]}")
    return found


async def spacing_faults(page: Page | Frame) -> list[str]:
    """Return the paragraphs that touch what comes next, and the headings that stand far above it."""
    found: list[str] = await page.evaluate(_SPACING)
    return found


def choosing(**choices: str) -> str:
    """Return a script for all pages: somebody has chosen that in the Dashboard, whose own pages alone look there.

    The empty page that a window begins with has no storage, and may complain of that when the next one is watched.
    """
    chosen = "; ".join(f"localStorage.{name} = '{value}'" for name, value in choices.items())
    return f"if (location.protocol !== 'about:') {{ {chosen} }}"


@contextmanager
def browser_errors(page: Page) -> Iterator[list[str]]:
    """Give what the browser complains of on a page, from here on; at the end the list is complete."""
    heard, found = BrowserErrors(), list[str]()
    heard.of(page)
    yield found
    found += [complaint for complaint in heard if not complaint.startswith(_OF_THE_DASHBOARD)]
