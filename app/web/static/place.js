// Where the user is: the address of a page in the frame, the frame's history, and what survives a reload.

import { appId, saleorApiUrl } from "./bridge.js";

export const base = document.documentElement.dataset.base; // the path below which the app is served, "" for none

const RELOAD_TIMEOUT = 15_000; // the maximum milliseconds of a reload
const PLACE = `gateway-page:${base}:${saleorApiUrl}`; // in the session storage of the tab
const RESTORED = 20; // the most pages before the current one to which Back leads after a reload
const opened = pathOf(location.href);
let pages = [{ path: opened, fields: null }]; // those of the frame's history, up to the current one and those after it
let at = 0; // the current page is pages[at]
let missing = false; // a reload has left only the current page in the frame's history

/** Return the app's own part of an address, without `base`; null for an address that is not ours. */
export function pathOf(address) {
  const { origin, pathname, search } = new URL(address, location.href);
  const path = pathname === base ? "/" : pathname.slice(base.length); // "/pay" is the same as "/pay/"
  return origin === location.origin && pathname.startsWith(base) && path.startsWith("/") ? path + search : null;
}

/** Return the address of a page in the frame. */
export function frameAddress(path) {
  const target = new URL(base + path, location.origin);
  target.searchParams.set("saleorApiUrl", saleorApiUrl);
  target.searchParams.set("id", appId);
  return target;
}

/**
 * Add the page to the frame's own history, and there only: one step is one entry, so one Back is one step back. If the
 * Dashboard were notified (updateRouting), it would add an entry of its own, and reload the frame for it on the way
 * back.
 */
export function pushPath(path, fields = null) {
  restoreHistory();
  pages = [...pages.slice(0, at + 1), { path, fields }];
  at += 1;
  enter("pushState");
  rememberPlace();
}

/** Make pages[at] the frame's address, in the current entry of its history or in a new one. */
function enter(how) {
  const { path, fields } = pages[at];
  history[how]({ fields, at }, "", frameAddress(path));
}

/** Return the page that the frame's address names, with the fields of its search, which no address contains. */
export function currentPlace() {
  return { path: pathOf(location.href), fields: history.state?.fields ?? null };
}

/** Notice a step back or forward, which has already changed the address. */
export function noticeStep() {
  at = history.state?.at ?? 0;
  rememberPlace();
}

/**
 * A reload of the Dashboard loads the frame at the address at which the app was opened: so the pages are stored, and the
 * current one is restored for a user who returns to the same address at once. A browser may store nothing for frames:
 * then the app starts where it was opened.
 */
export function rememberPlace(left = 0) {
  try {
    sessionStorage.setItem(PLACE, JSON.stringify({ opened, pages, at, left }));
  } catch {
    // see above
  }
}

export function restorePlace() {
  try {
    const stored = JSON.parse(sessionStorage.getItem(PLACE));
    if (stored?.opened !== opened || Date.now() - stored.left > RELOAD_TIMEOUT) return;
    pages = stored.pages.slice(0, stored.at + 1).slice(-RESTORED - 1);
    at = pages.length - 1;
    enter("replaceState");
    missing = at > 0;
    for (const touch of ["pointerdown", "keydown"]) {
      window.addEventListener(touch, restoreHistory, { capture: true, once: true });
    }
  } catch {
    // see above
  }
}

/**
 * After a reload the browser leads from none of its earlier entries to this frame, which is a new one: add the pages
 * again. Not before the user touches the page: Back skips what a page adds to the history before that. The entries that
 * lead nowhere stay behind the first page: a sandboxed frame cannot step over them.
 */
function restoreHistory() {
  if (!missing) return;
  missing = false;
  const last = at;
  for (at = 0; at <= last; at += 1) enter(at ? "pushState" : "replaceState");
  at = last;
}

/** Undo a step back that has already changed the address: the user is still on the current page. */
export function stay() {
  const { path, fields } = pages[at];
  at = history.state?.at ?? 0;
  pushPath(path, fields);
}
