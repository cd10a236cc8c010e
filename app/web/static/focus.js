// Keeps the keyboard where it is when a page is rendered again by itself.

/** Return what of the page has the focus, as HTML: rendered again it is the same. */
export function focusedHtml(page) {
  return page.contains(document.activeElement) ? document.activeElement.outerHTML : null;
}

/** Focus the element with that HTML, or the heading when it is there no more. */
export function focusAgain(page, html) {
  const same = [...page.querySelectorAll("a, button, input, select, summary, [tabindex]")];
  const found = same.find((element) => element.outerHTML === html) ?? page.querySelector("h1");
  found.focus({ preventScroll: true });
}
