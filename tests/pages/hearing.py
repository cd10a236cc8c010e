"""What is looked for on a page as a screen reader reads it, where axe-core has no rule."""

from playwright.async_api import Frame, Page

# Axe's own reading of names. What is pressed and named alike does the same; in a ``nav``, its name is heard too.
_HEARD = """() => {
  axe.setup(document);
  const words = (text) => text.trim().replace(/\\s+/g, " ");
  const nameOf = (part) => words(axe.commons.text.accessibleText(part));
  const described = (part) => part.getAttribute("aria-describedby").split(" ").map((id) => document.getElementById(id));
  const found = [];
  const pressed = new Map();
  const effectOf = (part) => {
    const { copy, copies, opens, adds, dashboard } = part.dataset;
    const row = part.closest(part.dataset.removes);
    if (row) return [...row.querySelectorAll("input:not([type=radio])")].map(({ value }) => value).join();
    if (part.matches("summary")) return part.parentNode.id || words(part.parentNode.textContent);
    const fields = part.form?.querySelectorAll("[type=hidden]:not([name=key])") ?? [];
    const sent = [part.formAction, part.value, ...[...fields].map(({ value }) => value)];
    return part.href ?? copy ?? copies ?? opens ?? adds ?? dashboard ?? sent.join();
  };
  for (const part of document.querySelectorAll("a[href], button, summary")) {
    if (!part.checkVisibility({ visibilityProperty: true }) || "closes" in part.dataset) continue;
    const name = [part.closest("nav")?.ariaLabel, nameOf(part)].join(": ");
    const effect = effectOf(part);
    if ((pressed.get(name) ?? effect) !== effect) found.push(`does something else too: ${name}`);
    pressed.set(name, effect);
  }
  for (const part of document.querySelectorAll("[aria-describedby]")) {
    const missing = described(part).includes(null);
    if (missing) found.push(`described by nothing: ${part.outerHTML}`);
    else if (described(part).some((place) => nameOf(part).includes(words(place.textContent) || " "))) {
      found.push(`said twice: ${nameOf(part)}`);
    }
  }
  for (const table of document.querySelectorAll("table:not([aria-label], [aria-labelledby])")) {
    if (!table.caption) found.push(`a table without a name: ${words(table.textContent).slice(0, 60)}`);
  }
  for (const { id } of document.querySelectorAll("dialog:not([aria-describedby])")) found.push(`not described: ${id}`);
  for (const nav of document.querySelectorAll("nav")) if (!nav.querySelector("a, button")) found.push("an empty nav");
  axe.teardown();
  return found;
}"""


async def heard_faults(page: Page | Frame) -> list[str]:
    """Return what a screen reader reads out wrong. The script of axe-core is in the page already: see ``faults``."""
    found: list[str] = await page.evaluate(_HEARD)
    return found
