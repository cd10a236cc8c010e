// The pages in the Dashboard. Each is an empty frame at first: its content is fetched from /parts below its own path,
// with the Dashboard's token in a header. A page's address is /payments/7, its part is /parts/payments/7.

import { dashboardEvents, framed, onPageLink, openInDashboard, postToDashboard } from "./bridge.js";
import { withSealedCard } from "./card.js";
import { copyBy } from "./copying.js";
import { fileRequest, save, saveWithProgress } from "./file.js";
import { focusAgain, focusedPart, focusHere } from "./focus.js";
import { fold, keepFolding, unfolded } from "./folding.js";
import { findInvalid, limitOptions, mentionsEmail, readForm, reveal, showFieldErrors } from "./forms.js";
import { currentPlace, frameAddress, noticeStep, pathOf, pushPath, rememberPlace, restorePlace, stay } from "./place.js";
import { errorMessage, mayWorkLater, readRefusal, request, requestedLanguage } from "./request.js";
import { addRow, removeRow } from "./rows.js";
import { linesOf, sayNew } from "./saying.js";
import { localise, writeDay } from "./times.js";
import { askToLeave, changedFields, discard, guard, hasUnsaved, showUnsaved } from "./unsaved.js";

const root = document.documentElement;
const content = document.getElementById("content");
const alarm = document.getElementById("alert");
const again = document.getElementById("again");

const PAUSE_IN_TYPING = 300; // milliseconds without input after which typing is considered finished
const OPEN = "details[open], dialog[open]"; // elements with which the user is busy
const advised = new WeakMap(); // the newest request for each place of advice
let latest = 0; // only the response to the newest request is shown, in whatever order responses arrive

/** Show an error: in the open dialog, which covers the page, otherwise at the top of the page. */
function warn(text) {
  const inDialog = content.querySelector("dialog[open] [role=alert]:not(.summary)");
  for (const place of [alarm, inDialog]) {
    if (!place) continue;
    place.textContent = place === (inDialog ?? alarm) ? text : "";
    place.hidden = !place.textContent;
  }
  if (!text) return;
  document.getElementById("loading")?.remove();
  notifyOfError(text);
}

/** Notify of an error at the top of the page, which may be out of sight; in a dialog it would cover the buttons. */
function notifyOfError(text) {
  if (framed && !content.querySelector("dialog[open]")) postToDashboard("notification", { status: "error", text });
}

/** Make HTML that has arrived ready: times in the user's zone, links that also lead somewhere in a tab of their own. */
function prepare(part) {
  localise(part);
  for (const link of part.querySelectorAll("a[href]:not([target], [data-page], [href^='#'])")) {
    const path = pathOf(link.href);
    if (path === null) continue;
    link.dataset.page = path;
    link.href = frameAddress(path);
  }
}

/**
 * Show a page, or the result of an action. `fields`: those of a search that must not be part of the address. `pushes`:
 * it becomes the frame's address when it arrives, so that none leads to what was refused. Errors are shown in the
 * submitted `form`, and otherwise at the top.
 */
async function show(path, how = {}) {
  const { fields: posted = null, action = null, focus = true, quietly = false, form = null, pushes = false } = how;
  const mine = ++latest;
  if (!quietly) content.setAttribute("aria-busy", "true"); // which fades it: nobody waits for a refresh
  let [part, language, at] = [null, null, null];
  let [failure, fields, refused] = ["", {}, false];
  try {
    const answer = await request(path, action ?? (posted ? { method: "POST", body: new URLSearchParams(posted) } : {}));
    language = answer.headers.get("Content-Language");
    at = answer.headers.get("Content-Location");
    if (answer.ok) part = await answer.text();
    else {
      ({ message: failure, fields } = await readRefusal(answer)); // fails unless the app itself has refused
      refused = !mayWorkLater(answer);
    }
  } catch (error) {
    failure = errorMessage(error, action);
  }
  if (mine !== latest || (quietly && (part === null || isInUse()))) return;
  content.removeAttribute("aria-busy");
  if (part === null) refuse(form, failure, fields);
  else warn("");
  // A page that did not arrive can be requested again by a button; an action is still in its form, which has one.
  again.hidden = part !== null || refused || action !== null;
  const elsewhere = content.querySelector("#elsewhere"); // until a page is shown
  elsewhere?.toggleAttribute("hidden", !refused || pathOf(location.pathname) === "/");
  again.onclick = () => show(path, { fields: posted, pushes });
  if (part === null) return;
  if (pushes) enter(path, posted);
  // An action can have led to another page: back, reload and a change of language must find that one.
  if (at !== null && at !== pathOf(location.pathname)) pushPath(at);
  const before = linesOf(content);
  fill(part, language, focus);
  if (quietly) sayNew(content, before);
}

/**
 * Show why something failed: in the form where there are several invalid fields, otherwise at the top of the page. In a
 * dialog a single field is in sight: what is said beside it is not said above it too. The title of a list of fields is
 * said nowhere without the list.
 */
function refuse(form, message, fields) {
  const title = root.dataset.wrong;
  const summed = form && showFieldErrors(content, form, fields, { title, message });
  const beside = form?.querySelector(".wrong");
  const isSaid = message === title || (form?.closest("dialog") && beside?.textContent === message);
  if (summed) {
    warn("");
    notifyOfError(title.replace(/:$/, ".")); // no list follows there
  } else if (beside && isSaid) {
    warn("");
    beside.setAttribute("role", "alert");
  } else warn(message);
}

/** Fetch the content of a <details> each time it is unfolded. */
async function loadDetails(place) {
  place.setAttribute("aria-busy", "true");
  try {
    const answer = await request(place.dataset.part, {});
    if (answer.ok) place.innerHTML = await answer.text();
    else warn((await readRefusal(answer)).message);
    prepare(place);
  } catch (error) {
    warn(errorMessage(error));
  }
  place.removeAttribute("aria-busy");
}

/** Show advice about a form as it is filled in so far. The form works without it, so failures are silent. */
async function showAdvice(place) {
  const form = place.closest("form");
  const mine = {};
  advised.set(place, mine);
  await new Promise((resolve) => setTimeout(resolve, PAUSE_IN_TYPING));
  if (advised.get(place) !== mine || !place.isConnected) return; // something else has been filled in since
  try {
    const answer = await request(place.dataset.advice, { method: "POST", body: new URLSearchParams(readForm(form)) });
    const words = answer.ok ? await answer.text() : "";
    if (advised.get(place) !== mine) return;
    place.innerHTML = words;
    prepare(place);
  } catch {
    // the advice is optional
  }
}

/** Open a dialog over the page, as the Dashboard does before an action that cannot be undone. */
function openDialog(dialog) {
  dialog.showModal();
  const advice = dialog.querySelector("[data-advice]");
  if (advice) showAdvice(advice);
}

/** Refresh an element of the page repeatedly, until its content is final. */
async function follow(place) {
  while (place.isConnected && !place.querySelector("[data-final]")) {
    await new Promise((resolve) => setTimeout(resolve, Number(place.dataset.every) * 1000));
    const fresh = document.createElement("div");
    try {
      const answer = await request(place.dataset.follow, {});
      if (!answer.ok) continue;
      fresh.innerHTML = await answer.text();
    } catch {
      continue; // it may work the next time
    }
    prepare(fresh);
    if (fresh.textContent.trim() === place.textContent.trim()) continue; // somebody may be reading it
    const before = linesOf(place);
    place.replaceChildren(...fresh.childNodes);
    sayNew(place, before);
  }
}

/** Whether the user has something open in the page, or waits for it. */
function isInUse() {
  return content.querySelector(OPEN) !== null || content.hasAttribute("aria-busy");
}

/** Render the page again as soon as its data has changed; not while the user has something open in it. */
async function watch(place) {
  while (place.isConnected) {
    await new Promise((resolve) => setTimeout(resolve, Number(place.dataset.every) * 1000));
    if (!place.isConnected || document.hidden || isInUse()) continue;
    try {
      const answer = await request(place.dataset.watch, {});
      if (!answer.ok || (await answer.text()) === place.dataset.stamp) continue;
    } catch {
      continue; // it may work the next time
    }
    if (!place.isConnected || isInUse()) continue;
    await show(pathOf(location.pathname), { focus: false, quietly: true });
  }
}

function fill(part, language, focus) {
  const stored = [...content.querySelectorAll("[type=checkbox][id]:checked:not([name])")].map(({ id }) => id);
  const folds = unfolded(content);
  const groups = [...content.querySelectorAll("details.group[open]")].map(({ id }) => id);
  const focused = focus ? null : focusedPart(content);
  content.innerHTML = part;
  for (const id of groups) content.querySelector(`#${CSS.escape(id)}`)?.setAttribute("open", "");
  guard(content);
  fold(content, folds);
  for (const id of stored) content.querySelector(`#${CSS.escape(id)}`)?.click(); // keep the user's view
  if (language) root.lang = language;
  const heading = content.querySelector("h1");
  document.title = heading.textContent;
  prepare(content);
  const news = content.querySelector("[role=status]");
  if (news) {
    postToDashboard("notification", { status: news.dataset.status ?? "success", text: news.textContent.trim() });
  }
  if (focus) focusHere(news ?? heading);
  else if (focused !== null) focusAgain(content, focused);
  for (const form of content.querySelectorAll("form:not([novalidate])")) {
    form.noValidate = true; // see findInvalid
    form.dataset.checked = "";
  }
  for (const place of content.querySelectorAll("[data-follow]")) follow(place);
  for (const place of content.querySelectorAll("[data-watch]")) watch(place);
}

function showCurrent(how = {}) {
  const { path, fields } = currentPlace();
  show(path, { fields, ...how });
}

function enter(path, fields = null) {
  pushPath(path, fields);
  window.scrollTo(0, 0);
}

function go(path) {
  enter(path);
  show(path);
}

/** Do what replaces the page, unless the user would rather keep changes in a form other than `except`. */
async function leave(act, except = null) {
  if (hasUnsaved(content, except) && !(await askToLeave())) return;
  act();
}

/** Post a form; a typed card number is encrypted first. */
async function send(form, path, fields) {
  content.setAttribute("aria-busy", "true"); // a second click does not send it again
  try {
    const body = new URLSearchParams(await withSealedCard(form, fields));
    await show(path, { action: { method: "POST", body }, form });
  } catch (error) {
    content.removeAttribute("aria-busy");
    warn(error.message);
  }
}

/** Save the response to a form as the file that the form names. */
async function fetchFile(form, path, file) {
  if (form.hasAttribute("aria-busy")) return;
  form.setAttribute("aria-busy", "true");
  const { progress } = form.dataset;
  const output = form.querySelector("output");
  const report = (bytes) => {
    output.value = progress.replace("{size}", Math.ceil(bytes / 1000).toLocaleString(root.lang));
  };
  let failure = "";
  try {
    const answer = await request(path, fileRequest(form));
    if (answer.ok) await save(answer, file, report);
    else failure = (await readRefusal(answer)).message;
  } catch (error) {
    failure = errorMessage(error);
  }
  form.removeAttribute("aria-busy");
  output.value = "";
  warn(failure);
}

/** Save the response to a form as a file, which arrives with progress messages. */
async function fetchWithProgress(form, path) {
  if (form.hasAttribute("aria-busy")) return;
  form.setAttribute("aria-busy", "true");
  const place = form.querySelector("output");
  place.value = "";
  let failure = "";
  let fields = {};
  try {
    const answer = await request(path, fileRequest(form));
    if (answer.ok) failure = await saveWithProgress(answer, (words) => (place.value = words));
    else ({ message: failure, fields } = await readRefusal(answer));
  } catch (error) {
    failure = errorMessage(error);
  }
  form.removeAttribute("aria-busy");
  if (failure) place.value = "";
  refuse(form, failure, fields);
}

content.addEventListener("click", (event) => {
  const copying = event.target.closest("[data-copies], [data-copy]");
  if (copying) copyBy(copying);
  const change = event.target.closest("[data-adds], [data-removes]");
  if (change) {
    const { form } = change;
    if (change.dataset.adds) addRow(change);
    else removeRow(change);
    showUnsaved(form);
  }
  const opening = event.target.closest("[data-opens]");
  if (opening) openDialog(document.getElementById(opening.dataset.opens));
  if (event.target.closest("[data-closes]")) event.target.closest("dialog").close();
  const page = event.target.closest("[data-dashboard]");
  if (page) postToDashboard("redirect", { to: page.dataset.dashboard, newContext: false });
  const within = event.target.closest("a[href^='#']");
  if (within) {
    event.preventDefault(); // the address is the page's, also for Back
    reveal(document.getElementById(within.hash.slice(1)));
  }
});

onPageLink(content, ({ dataset, target }, newTab) => {
  if (newTab || target) openInDashboard(dataset.page, { newTab: true });
  else leave(() => go(dataset.page));
});

content.addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target;
  const invalid = "checked" in form.dataset ? findInvalid(form, root.dataset) : {};
  if (Object.keys(invalid).length) {
    refuse(form, root.dataset.wrong, invalid);
    return;
  }
  const path = pathOf(form.action);
  if (form.dataset.file) {
    const button = event.submitter?.hasAttribute("formaction") ? event.submitter : null;
    fetchFile(form, button ? pathOf(button.formAction) : path, (button ?? form).dataset.file);
    return;
  }
  if (form.dataset.told !== undefined) {
    fetchWithProgress(form, path);
    return;
  }
  const fields = readForm(form, event.submitter);
  if (form.dataset.guarded === "fields") fields.push(["changed", changedFields(form).join(" ")]);
  const search = form.method === "get" || form.dataset.search !== undefined;
  // An e-mail address must not be part of a page's address, which logs keep: it is posted.
  if (search && fields.some(([, value]) => mentionsEmail(value))) {
    leave(() => show(path, { fields, form, pushes: true }));
  } else if (search) {
    const query = new URLSearchParams(fields.filter(([, value]) => value));
    leave(() => show(query.size ? `${path}?${query}` : path, { form, pushes: true }));
  } else if (!content.hasAttribute("aria-busy")) {
    leave(() => send(form, path, fields), form);
  }
});

content.addEventListener(
  "toggle",
  ({ target }) => {
    const place = target.open && target.querySelector("[data-part]");
    if (place) loadDetails(place);
    const advice = target.open && target.querySelector("[data-advice]");
    if (advice) showAdvice(advice);
  },
  true, // the event does not bubble
);

content.addEventListener("input", ({ target }) => {
  if (target.type === "date") writeDay(target);
  if (target.dataset.limits) limitOptions(target);
  showUnsaved(target.form);
  const advice = target.form?.querySelector("[data-advice]");
  if (advice) showAdvice(advice);
});

keepFolding(content);

window.addEventListener("popstate", () => {
  if (hasUnsaved(content)) {
    stay();
    leave(() => {
      discard(content);
      history.back();
    });
    return;
  }
  noticeStep();
  showCurrent();
});
dashboardEvents.addEventListener("locale", () => {
  // Sent once at the start. A page that is not requested yet, or requested in that language already, is not fetched
  // twice.
  if (requestedLanguage() === null || hasUnsaved(content)) return;
  const sameLanguage = new Intl.Locale(root.dataset.locale).language === new Intl.Locale(requestedLanguage()).language;
  if (!sameLanguage || content.querySelector("h1")) showCurrent({ focus: false });
});

window.addEventListener("beforeunload", (event) => {
  if (hasUnsaved(content)) event.preventDefault();
});
window.addEventListener("pagehide", () => rememberPlace(Date.now()));

if (framed) {
  restorePlace();
  showCurrent({ focus: false });
} else {
  warn(root.dataset.outside);
}
