// What screen readers are told of changes that nobody has asked for: the element with the id "said" is their one live
// region. A page that changes by itself is not read out again; only what it marks with data-says, where that is new.

export function say(text) {
  document.getElementById("said").textContent = text;
}

/** Return what a part of the page says when it changes. */
export function linesOf(part) {
  return [...part.querySelectorAll("[data-says]")].map(({ textContent }) => textContent.replace(/\s+/g, " ").trim());
}

/** Say what the page has not said `before`. */
export function sayNew(part, before) {
  const news = linesOf(part).filter((line) => !before.includes(line));
  if (news.length) say(news.join(". "));
}
