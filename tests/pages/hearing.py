"""What is looked for on a page as a screen reader reads it, where axe-core has no rule; and what it says by itself."""

from playwright.async_api import Frame, Locator, Page

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


# Of what is added to a live region that was there before, its text; each time by itself.
_LISTEN = """(page) => {
  window.announced = [];
  const words = (node) => node.textContent.trim().replace(/\\s+/g, " ");
  new MutationObserver((changes) => {
    const isOf = ({ target, type, addedNodes }) => (type === "childList" ? [...addedNodes] : [target]);
    const added = new Set(changes.flatMap(isOf));
    const heard = new Map();
    for (const node of added) {
      const region = node.parentElement?.closest("[aria-live], [role=status], [role=alert]");
      const isPart = [...added].some((other) => other !== node && other.contains(node));
      if (!node.isConnected || isPart || !region || region.ariaLive === "off" || !words(node)) continue;
      heard.set(region, [...(heard.get(region) ?? []), words(node)]);
    }
    for (const texts of heard.values()) window.announced.push(texts.join(" "));
  }).observe(page, { childList: true, characterData: true, subtree: true });
}"""


async def listen(html: Locator) -> None:
    """Note from now on what a screen reader says of a page by itself; ``announced`` returns it."""
    await html.evaluate(_LISTEN)


async def announced(html: Locator) -> list[str]:
    """Return what a screen reader has said by itself, in order."""
    said: list[str] = await html.evaluate("() => window.announced")
    return said
