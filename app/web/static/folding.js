// Sections with data-folds can be folded on a phone by their headings; all but those with "open" are folded at first.

const phone = matchMedia("(max-width: 40rem)");

function set(section, open) {
  section.toggleAttribute("data-folded", !open);
  section.querySelector("h2 > button")?.setAttribute("aria-expanded", String(open));
}

/** Return which sections are open, by the ids of their headings: for `fold` when the page is rendered again. */
export function unfolded(page) {
  return new Map(
    [...page.querySelectorAll("[data-folds]")].map((each) => [each.querySelector("h2").id, !("folded" in each.dataset)]),
  );
}

export function fold(page, before = new Map()) {
  for (const section of page.querySelectorAll("[data-folds]")) {
    const heading = section.querySelector("h2");
    const words = heading.textContent;
    const open = before.get(heading.id) ?? section.dataset.folds === "open";
    if (phone.matches) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = words;
      button.addEventListener("click", () => set(section, "folded" in section.dataset));
      heading.replaceChildren(button);
    } else {
      heading.textContent = words;
    }
    set(section, open);
  }
}

/** Fold again when a phone is rotated, or a window is resized. */
export function keepFolding(page) {
  phone.addEventListener("change", () => fold(page, unfolded(page)));
}
