// The widget on an order's page: its content is fetched, and its actions are posted, with the Dashboard's token in a
// form. While a payment is open it refreshes itself, and notifies the order's page of changes.

import {
  LONGEST_WAIT, NoToken, dashboardEvents, framed, getToken, languageKnown, onPageLink, openInDashboard, postToDashboard,
  saleorApiUrl,
} from "./bridge.js";
import { copyBy } from "./copying.js";
import { focusAgain, focusedPart, focusHere } from "./focus.js";
import { findInvalid, showFieldErrors } from "./forms.js";
import { linesOf, sayNew } from "./saying.js";
import { localise } from "./times.js";

const root = document.documentElement;
const main = document.querySelector("main");
const alarm = document.getElementById("alert");
const again = document.getElementById("again");
const here = location.pathname;
const orderId = new URLSearchParams(location.search).get("orderId") ?? "";

let shown = null; // the HTML as received, before it was localised
let requested = false; // nothing is requested before the Dashboard has sent its language
let latest = 0; // only the response to the newest request is shown, in whatever order responses arrive
let timer = null;

async function request(path, fields, refused = null) {
  const token = await getToken(refused);
  await languageKnown();
  requested = true;
  const body = new URLSearchParams({ ...Object.fromEntries(fields), saleorApiUrl, accessToken: token, orderId });
  const headers = root.dataset.locale ? { "Accept-Language": root.dataset.locale } : {};
  const signal = AbortSignal.timeout(LONGEST_WAIT);
  const answer = await fetch(path, { method: "POST", headers, body, signal, credentials: "omit", redirect: "error" });
  // A token is valid for minutes, and an expired one has no effect: retry once with another.
  return answer.status === 401 && refused === null ? request(path, fields, token) : answer;
}

/**
 * Show the order's payments; if `fields` of a form are posted to `path`, with the result of the action. `typed`: fields
 * that were posted in vain, of a form that is missing now. `focus`: the user has asked for it, and goes on from what it says.
 */
async function show(path = here, fields = [], { quietly = false, typed = [], focus = false } = {}) {
  const mine = ++latest;
  clearTimeout(timer);
  if (!quietly) main.setAttribute("aria-busy", "true"); // which fades it: nobody waits for a refresh
  let html = null;
  let failure = path === here ? root.dataset.failed : root.dataset.unanswered;
  try {
    const answer = await request(path, fields);
    html = await answer.text();
    const language = answer.headers.get("Content-Language");
    // A page without one is not the app's, but of a server between us and the app.
    if (answer.status >= 500 || !language) html = null;
    else root.lang = language;
  } catch (error) {
    if (error instanceof NoToken) failure = root.dataset.silent;
  }
  if (mine !== latest) return;
  if (quietly && (html === null || isInUse())) return watch(typed); // it may work the next time
  main.removeAttribute("aria-busy");
  document.getElementById("loading")?.remove();
  alarm.textContent = html === null ? failure : "";
  alarm.hidden = again.hidden = html !== null;
  again.onclick = () => show(here, [], { typed, focus: true });
  if (html !== null) fill(html, { quietly, fields, typed, focus });
}

function fill(html, { quietly, fields, typed, focus }) {
  let missing = typed;
  const changed = shown !== null && differs(html, shown);
  if (!quietly || changed) {
    const open = [...main.querySelectorAll("details[open][id]")].map(({ id }) => id);
    const focused = focusedPart(main);
    const unsent = fields.length ? [] : findUnsent();
    const said = linesOf(main);
    main.innerHTML = html;
    localise(main);
    if (quietly) {
      for (const id of open) document.getElementById(id)?.setAttribute("open", "");
      sayNew(main, said);
    }
    const refused = main.querySelector("[role=alert]") !== null;
    missing = enter([...typed, ...unsent, ...(refused ? fields : [])]);
    const correcting = showRefused();
    const message = main.querySelector("[role=alert], [role=status]");
    message?.scrollIntoView({ block: "nearest" });
    if (focus && !correcting) focusHere(message ?? main, { preventScroll: true });
    else if (!focus && focused) focusAgain(main, focused);
  }
  shown = html;
  if (changed) postToDashboard("refreshEntity"); // the order's page still shows the data of when it was opened
  watch(missing);
}

function findField(name) {
  return name && main.querySelector(`[name="${CSS.escape(name)}"]:not([type=hidden])`);
}

/** Return what the user has typed or chosen and not sent. */
function findUnsent() {
  const isChanged = ({ options, value, defaultValue }) =>
    options ? [...options].some(({ selected, defaultSelected }) => selected !== defaultSelected) : value !== defaultValue;
  return [...main.querySelectorAll("form :is(input:not([type=hidden]), select)")]
    .filter(isChanged)
    .map((field) => [field.name, field.value]);
}

/**
 * Enter `fields` again: else whoever sends the form once more asks for everything, instead of the part they wanted.
 * Return those for which there is no field: the form is missing as long as Saleor does not answer.
 */
function enter(fields) {
  return fields.filter(([name, value]) => {
    const field = findField(name);
    if (!field) return true;
    field.value = value;
    field.closest("details")?.setAttribute("open", "");
    return false;
  });
}

/** Show why a form was refused. Return whether it is at the field that the response names, which is focused then. */
function showRefused() {
  const refusal = main.querySelector("[role=alert]");
  if (!refusal) return false;
  const { field: name } = refusal.dataset;
  const field = findField(name);
  if (!field) return false;
  showFieldErrors(main, field.form, { [name]: refusal.textContent.trim() }, { title: field.form.dataset.wrong });
  refusal.remove();
  return true;
}

/** Return whether two responses differ in their text: their forms always have different keys and tokens. */
function differs(one, other) {
  const [first, second] = [one, other].map((html) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    return page.body.textContent.replace(/\s+/g, " ");
  });
  return first !== second;
}

/** Whether the user is filling in a form here. */
function isInUse() {
  return main.querySelector("details[open] form") !== null || document.activeElement.closest("form") !== null;
}

/**
 * Refresh after a while, as long as something is open; not while the widget is in use, or the page is hidden. `typed`:
 * fields of a form that is missing now.
 */
function watch(typed) {
  const every = main.querySelector("[data-every]")?.dataset.every;
  if (!every) return;
  timer = setTimeout(() => {
    if (document.hidden || isInUse()) watch(typed);
    else show(here, [], { quietly: true, typed });
  }, Number(every) * 1000);
}

main.addEventListener("submit", (event) => {
  event.preventDefault();
  if (main.hasAttribute("aria-busy")) return; // a second click does not send it again
  const words = event.target.dataset;
  const invalid = findInvalid(event.target, words);
  showFieldErrors(main, event.target, invalid, { title: words.wrong });
  if (Object.keys(invalid).length) return;
  const fields = [...new FormData(event.target, event.submitter)];
  show(new URL(event.target.action).pathname, fields, { focus: true });
});

main.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-copies], [data-copy]");
  if (button) copyBy(button);
});

onPageLink(main, ({ dataset }, newTab) => openInDashboard(dataset.page, { newTab }));

// Sent once at the start, when the first response may be in that language already.
dashboardEvents.addEventListener("locale", () => {
  if (requested && new Intl.Locale(root.dataset.locale).language !== root.lang) show();
});

if (framed) {
  // Saleor contract, B.2.6: supported since the Dashboard of 3.23.7; older ones keep their height.
  const reportHeight = () =>
    postToDashboard("widgetResize", { height: Math.max(1, Math.ceil(root.getBoundingClientRect().height)) });
  reportHeight(); // at once: a frame that is not visible yet is not observed
  new ResizeObserver(reportHeight).observe(root);
  show();
} else {
  main.textContent = root.dataset.outside;
}
