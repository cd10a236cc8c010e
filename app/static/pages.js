// The pages in the Dashboard. Each is an empty frame at first: what it shows comes from /parts below its own path, with
// the Dashboard's token in a header. A page's address is /payments/7, its part is /parts/payments/7.

import {
  NoToken, dashboardOrigin, dashboardSays, framed, languageSaid, saleorApiUrl, say, tokenOtherThan,
} from "./bridge.js";
import { withSealedCard } from "./card.js";
import { copyBy } from "./copying.js";
import { save, saveTold } from "./file.js";
import { fold, keepFolding, unfolded } from "./folding.js";
import { blame, said } from "./forms.js";
import { localise } from "./times.js";

const root = document.documentElement;
const base = root.dataset.base; // the path below which the app lives, "" for none
const content = document.getElementById("content");
const alarm = document.getElementById("alert");
const again = document.getElementById("again");

const A_RELOAD = 15_000; // milliseconds that it takes at most
const PLACE = `gateway-page:${base}:${saleorApiUrl}`; // in the session storage of the tab
const PAUSE_IN_TYPING = 300; // milliseconds after which somebody has written what they mean
const OPEN = "details[open], dialog[open]"; // what somebody is busy with
const advised = new WeakMap(); // the newest question for each place of advice
const opened = inside(location.href);
let askedIn = null; // the language of the newest question
let latest = 0; // whoever was asked last is shown, in whatever order they answer

/** Say what has gone wrong: in the dialog that is open, which covers the page, else at the top of the page. */
function warn(text) {
  const inDialog = content.querySelector("dialog[open] [role=alert]");
  for (const place of [alarm, inDialog]) {
    if (!place) continue;
    place.textContent = place === (inDialog ?? alarm) ? text : "";
    place.hidden = !place.textContent;
  }
  if (!text) return;
  document.getElementById("loading")?.remove();
  if (framed) say("notification", { status: "error", text });
}

/** The part of an address that is the app's own, without `base`; null for an address that is none of ours. */
function inside(address) {
  const { origin, pathname, search } = new URL(address, location.href);
  const path = pathname === base ? "/" : pathname.slice(base.length); // "/pay" is the same as "/pay/"
  return origin === location.origin && pathname.startsWith(base) && path.startsWith("/") ? path + search : null;
}

async function ask(path, options, refused = null) {
  const token = await tokenOtherThan(refused);
  await languageSaid();
  askedIn = root.dataset.locale ?? root.lang;
  const headers = { Authorization: `Bearer ${token}`, "Saleor-Api-Url": saleorApiUrl };
  headers["Dashboard-Origin"] = dashboardOrigin();
  if (root.dataset.locale) headers["Accept-Language"] = root.dataset.locale;
  const answer = await fetch(`${base}/parts${path}`, { ...options, headers, credentials: "omit", redirect: "error" });
  // A token lasts minutes, and nothing is done with one that is over: ask once more with another.
  return answer.status === 401 && refused === null ? ask(path, options, token) : answer;
}

/** Why something was refused, and what is not right with which fields of a form. */
async function refusal(answer) {
  const { message = root.dataset.failed, fields = {} } = (await answer.json()).detail;
  return { message, fields };
}

/** What is said of no token, no connection, or an answer of somebody between us and the app. */
function excuse(error) {
  return error instanceof NoToken ? root.dataset.silent : root.dataset.failed;
}

async function show(path, { options = {}, focus = true } = {}) {
  const mine = ++latest;
  content.setAttribute("aria-busy", "true");
  let part = null;
  let trouble = "";
  let refused = false;
  let language = null;
  let fields = {};
  let at = null;
  try {
    const answer = await ask(path, options);
    language = answer.headers.get("Content-Language");
    at = answer.headers.get("Content-Location");
    if (answer.ok) part = await answer.text();
    else {
      refused = answer.status < 500;
      ({ message: trouble, fields } = await refusal(answer));
    }
  } catch (error) {
    trouble = excuse(error);
  }
  if (mine !== latest) return;
  content.removeAttribute("aria-busy");
  warn(trouble);
  // A page that did not come is asked for again by a button; what was to be done is in its form, which has one.
  again.hidden = part !== null || refused || options.method === "POST";
  again.onclick = () => show(path, { options });
  if (part === null) return blame(content, fields);
  // What was done can have led to another page: back, reload and a change of language are to find that one.
  if (at !== null && at !== inside(location.pathname)) address(at);
  fill(part, language, focus);
}

/** Fetch what is inside of a <details> each time it is unfolded. */
async function unfold(place) {
  place.setAttribute("aria-busy", "true");
  try {
    const answer = await ask(place.dataset.part, {});
    if (answer.ok) place.innerHTML = await answer.text();
    else warn((await refusal(answer)).message);
    localise(place);
  } catch (error) {
    warn(error instanceof NoToken ? root.dataset.silent : root.dataset.failed);
  }
  place.removeAttribute("aria-busy");
}

/** Say beside a form what there is to say of it as it is filled in so far. It works without, so failing is silent. */
async function advise(place) {
  const form = place.closest("form");
  const mine = {};
  advised.set(place, mine);
  await new Promise((resolve) => setTimeout(resolve, PAUSE_IN_TYPING));
  if (advised.get(place) !== mine || !place.isConnected) return; // something else has been filled in since
  try {
    const answer = await ask(place.dataset.advice, { method: "POST", body: new URLSearchParams(said(form)) });
    const words = answer.ok ? await answer.text() : "";
    if (advised.get(place) !== mine) return;
    place.innerHTML = words;
    localise(place);
  } catch {
    // nobody waits for it
  }
}

/** Open a dialog over the page, as the Dashboard does before something that cannot be taken back. */
function openDialog(dialog) {
  dialog.showModal();
  const advice = dialog.querySelector("[data-advice]");
  if (advice) advise(advice);
}

/** Show what becomes of a place in the page, until it says that nothing more will. */
async function follow(place) {
  while (place.isConnected && !place.querySelector("[data-final]")) {
    await new Promise((resolve) => setTimeout(resolve, Number(place.dataset.every) * 1000));
    const fresh = document.createElement("div");
    try {
      const answer = await ask(place.dataset.follow, {});
      if (!answer.ok) continue;
      fresh.innerHTML = await answer.text();
    } catch {
      continue; // it may work the next time
    }
    localise(fresh);
    // Untouched while nothing changed: replacing it would be read out again.
    if (fresh.textContent.trim() !== place.textContent.trim()) place.replaceChildren(...fresh.childNodes);
  }
}

/** Show the page anew as soon as something has changed behind it; not while somebody has something open in it. */
async function watch(place) {
  while (place.isConnected) {
    await new Promise((resolve) => setTimeout(resolve, Number(place.dataset.every) * 1000));
    if (!place.isConnected || document.hidden || content.querySelector(OPEN)) continue;
    try {
      const answer = await ask(place.dataset.watch, {});
      if (!answer.ok || (await answer.text()) === place.dataset.stamp) continue;
    } catch {
      continue; // it may work the next time
    }
    if (!place.isConnected || content.querySelector(OPEN) || content.hasAttribute("aria-busy")) continue;
    await show(inside(location.pathname), { focus: false });
  }
}

function fill(part, language, focus) {
  const kept = [...content.querySelectorAll("[type=checkbox][id]:checked:not([name])")].map(({ id }) => id);
  const folds = unfolded(content);
  content.innerHTML = part;
  fold(content, folds);
  for (const id of kept) content.querySelector(`#${CSS.escape(id)}`)?.click(); // how somebody looks at the page
  if (language) root.lang = language;
  const heading = content.querySelector("h1");
  document.title = heading.textContent;
  localise(content);
  const news = content.querySelector("[role=status]");
  if (news) say("notification", { status: news.dataset.status ?? "success", text: news.textContent.trim() });
  if (focus) (news ?? heading).focus();
  for (const place of content.querySelectorAll("[data-follow]")) follow(place);
  for (const place of content.querySelectorAll("[data-watch]")) watch(place);
}

function there(path) {
  const target = new URL(base + path, location.origin);
  target.searchParams.set("saleorApiUrl", saleorApiUrl);
  return target;
}

/**
 * Name the page in the frame's own history, and there only: one step is one entry, so one Back is one step back. If the
 * Dashboard were told (updateRouting), it would keep an entry of its own, and load the frame anew for it on the way back.
 */
function address(path) {
  history.pushState(null, "", there(path));
  remember(path);
}

/**
 * A reload of the Dashboard loads the frame at the address at which the app was opened: where somebody was is kept, and
 * found again by whoever comes back to the same address at once. A browser may keep nothing for frames: then the app begins
 * where it was opened.
 */
function remember(path, left = 0) {
  try {
    sessionStorage.setItem(PLACE, JSON.stringify({ opened, path, left }));
  } catch {
    // see above
  }
}

function whereSomebodyWas() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(PLACE));
    if (kept?.opened !== opened || Date.now() - kept.left > A_RELOAD) return opened;
    history.replaceState(null, "", there(kept.path));
    return kept.path;
  } catch {
    return opened;
  }
}

function go(path) {
  address(path);
  window.scrollTo(0, 0);
  show(path);
}

/** Post what a form says; a card that was typed is encrypted before. */
async function send(form, path, fields) {
  content.setAttribute("aria-busy", "true"); // pressed twice it is sent once
  try {
    const body = new URLSearchParams(await withSealedCard(form, fields));
    await show(path, { options: { method: "POST", body } });
  } catch (error) {
    content.removeAttribute("aria-busy");
    warn(error.message);
  }
}

/** Save what a form asks for as the file that it names. */
async function fetchFile(form, path) {
  if (form.hasAttribute("aria-busy")) return;
  form.setAttribute("aria-busy", "true");
  const { file, progress } = form.dataset;
  const told = form.querySelector("output");
  const tell = (bytes) => {
    told.value = progress.replace("{size}", Math.ceil(bytes / 1000).toLocaleString(root.lang));
  };
  let trouble = "";
  try {
    const answer = await ask(path, { method: "POST", body: new URLSearchParams(said(form)) });
    if (answer.ok) await save(answer, file, tell);
    else trouble = (await refusal(answer)).message;
  } catch (error) {
    trouble = excuse(error);
  }
  form.removeAttribute("aria-busy");
  told.value = "";
  warn(trouble);
}

/** Save what a form asks for as a file that comes with words of how far it is. */
async function fetchTold(form, path) {
  if (form.hasAttribute("aria-busy")) return;
  form.setAttribute("aria-busy", "true");
  const place = form.querySelector("output");
  place.value = "";
  let trouble = "";
  let fields = {};
  try {
    const answer = await ask(path, { method: "POST", body: new URLSearchParams(said(form)) });
    if (answer.ok) trouble = await saveTold(answer, (words) => (place.value = words));
    else ({ message: trouble, fields } = await refusal(answer));
  } catch (error) {
    trouble = excuse(error);
  }
  form.removeAttribute("aria-busy");
  if (trouble) place.value = "";
  warn(trouble);
  blame(content, fields);
}

content.addEventListener("click", (event) => {
  const copying = event.target.closest("[data-copies], [data-copy]");
  if (copying) copyBy(copying);
  const opening = event.target.closest("[data-opens]");
  if (opening) openDialog(document.getElementById(opening.dataset.opens));
  if (event.target.closest("[data-closes]")) event.target.closest("dialog").close();
  const page = event.target.closest("[data-dashboard]");
  if (page) say("redirect", { to: page.dataset.dashboard, newContext: false });
  const link = event.target.closest("a[href]:not([target])");
  const path = link && inside(link.href);
  if (!path || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  go(path);
});

content.addEventListener("submit", (event) => {
  event.preventDefault();
  const path = inside(event.target.action);
  if (event.target.dataset.file) {
    fetchFile(event.target, path);
    return;
  }
  if (event.target.dataset.told !== undefined) {
    fetchTold(event.target, path);
    return;
  }
  const fields = said(event.target, event.submitter);
  // An e-mail address must not stand in a page's address, which histories and logs keep: it is posted.
  if (event.target.method === "get" && !fields.some(([, value]) => value.includes("@"))) {
    const query = new URLSearchParams(fields.filter(([, value]) => value));
    go(query.size ? `${path}?${query}` : path);
  } else if (!content.hasAttribute("aria-busy")) {
    send(event.target, path, fields);
  }
});

content.addEventListener(
  "toggle",
  ({ target }) => {
    const place = target.open && target.querySelector("[data-part]");
    if (place) unfold(place);
    const advice = target.open && target.querySelector("[data-advice]");
    if (advice) advise(advice);
  },
  true, // it does not bubble
);

content.addEventListener("input", ({ target }) => {
  const advice = target.form?.querySelector("[data-advice]");
  if (advice) advise(advice);
});

keepFolding(content);

window.addEventListener("popstate", () => {
  remember(inside(location.href));
  show(inside(location.href));
});
dashboardSays.addEventListener("locale", () => {
  // Said once at the beginning. A page that is not asked for yet, or is on its way in that language, is not fetched twice.
  if (askedIn === null) return;
  const spoken = new Intl.Locale(root.dataset.locale).language === new Intl.Locale(askedIn).language;
  if (!spoken || content.querySelector("h1")) show(inside(location.href), { focus: false });
});

window.addEventListener("pagehide", () => remember(inside(location.href), Date.now()));

if (framed) show(whereSomebodyWas(), { focus: false });
else warn(root.dataset.outside);
