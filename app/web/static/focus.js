// Keeps the keyboard where it is when a page is rendered again, and in the Dashboard when somebody has gone on there.

/** Focus what a response has brought, unless the keyboard is not in this frame any more: it would be taken away. */
export function focusHere(element, options) {
  if (document.hasFocus()) element.focus(options);
}

/** Return what of the page has the focus, by its id and as HTML: rendered again it is the same. */
export function focusedPart(page) {
  const { activeElement } = document;
  return page.contains(activeElement) ? { id: activeElement.id, html: activeElement.outerHTML } : null;
}

/** Focus that part, or the heading when it is there no more, or the page. */
export function focusAgain(page, { id, html }) {
  const all = [...page.querySelectorAll("a, button, input, select, summary, [tabindex]")];
  const same = all.find((element) => id && element.id === id) ?? all.find((element) => element.outerHTML === html);
  focusHere(same ?? page.querySelector("h1") ?? page, { preventScroll: true });
}
