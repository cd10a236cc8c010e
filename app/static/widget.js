// The widget on an order's page: what it shows is fetched with the Dashboard's token in a form, and so is all that it does.
// While a payment is open it asks again by itself, and the order's page is told of what has changed.

import { NoToken, dashboardSays, framed, languageSaid, saleorApiUrl, say, tokenOtherThan } from "./bridge.js";
import { copyBy } from "./copying.js";
import { localise } from "./times.js";

const root = document.documentElement;
const main = document.querySelector("main");
const alarm = document.getElementById("alert");
const again = document.getElementById("again");
const here = location.pathname;
const orderId = new URLSearchParams(location.search).get("orderId") ?? "";

let shown = null; // as it came, before it was made this reader's
let asked = false; // nothing is asked for before the Dashboard has said its language
let latest = 0; // whoever was asked last is shown, in whatever order they answer
let timer = null;

async function ask(path, fields, refused = null) {
  const token = await tokenOtherThan(refused);
  await languageSaid();
  asked = true;
  const body = new URLSearchParams({ ...Object.fromEntries(fields), saleorApiUrl, accessToken: token, orderId });
  const headers = root.dataset.locale ? { "Accept-Language": root.dataset.locale } : {};
  const answer = await fetch(path, { method: "POST", headers, body, credentials: "omit", redirect: "error" });
  // A token lasts minutes, and nothing is done with one that is over: ask once more with another.
  return answer.status === 401 && refused === null ? ask(path, fields, token) : answer;
}

/** Show what there is of the order; after `fields` of a form were posted to `path`, with what became of that. */
async function show(path = here, fields = [], { quietly = false } = {}) {
  const mine = ++latest;
  clearTimeout(timer);
  main.setAttribute("aria-busy", "true");
  let html = null;
  let trouble = "";
  try {
    const answer = await ask(path, fields);
    html = await answer.text();
    root.lang = answer.headers.get("Content-Language") ?? root.lang;
    if (answer.status >= 500) html = null;
  } catch (error) {
    trouble = error instanceof NoToken ? root.dataset.silent : root.dataset.failed;
  }
  if (mine !== latest) return;
  main.removeAttribute("aria-busy");
  if (html === null && quietly) return watch(); // it may work the next time
  alarm.textContent = html === null ? trouble || root.dataset.failed : "";
  alarm.hidden = again.hidden = html !== null;
  if (html !== null) fill(html, quietly);
}

function fill(html, quietly) {
  const changed = shown !== null && differs(html, shown);
  if (!quietly || changed) {
    const open = [...main.querySelectorAll("details[open][id]")].map(({ id }) => id);
    const focused = main.contains(document.activeElement) ? document.activeElement.id : "";
    main.innerHTML = html;
    localise(main);
    if (quietly) {
      for (const id of open) document.getElementById(id)?.setAttribute("open", "");
      if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    }
    main.querySelector("[role=alert], [role=status]")?.scrollIntoView({ block: "nearest" });
  }
  shown = html;
  if (changed) say("refreshEntity"); // the order's page shows what it knew when it was opened
  watch();
}

/** Whether two answers tell different things: each has forms with keys and a token of their own. */
function differs(one, other) {
  const [first, second] = [one, other].map((html) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    return page.body.textContent.replace(/\s+/g, " ");
  });
  return first !== second;
}

/** Ask again in a while, as long as something is open; not while somebody is busy here, or looks elsewhere. */
function watch() {
  const every = main.querySelector("[data-every]")?.dataset.every;
  if (!every) return;
  timer = setTimeout(() => {
    const busy = document.hidden || main.querySelector("details[open] form") || main.hasAttribute("aria-busy");
    if (busy || document.activeElement.closest("form")) watch();
    else show(here, [], { quietly: true });
  }, Number(every) * 1000);
}

main.addEventListener("submit", (event) => {
  event.preventDefault();
  if (main.hasAttribute("aria-busy")) return; // pressed twice it is sent once
  show(new URL(event.target.action).pathname, [...new FormData(event.target, event.submitter)]);
});

main.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-copies], [data-copy]");
  if (button) copyBy(button);
});

again.addEventListener("click", () => show());
// Said once at the beginning, when the first answer may be in that language already.
dashboardSays.addEventListener("locale", () => {
  if (asked && new Intl.Locale(root.dataset.locale).language !== root.lang) show();
});

if (framed) {
  // Saleor contract, B.2.6: understood since the Dashboard of 3.23.7; older ones keep the height that they have.
  const tellHeight = () => say("widgetResize", { height: Math.max(1, Math.ceil(root.getBoundingClientRect().height)) });
  tellHeight(); // at once: a frame that is not in sight yet is not observed
  new ResizeObserver(tellHeight).observe(root);
  show();
} else {
  main.textContent = root.dataset.outside;
}
