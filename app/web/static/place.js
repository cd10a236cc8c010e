// Where the user is: the address of a page in the frame, the frame's history, and what survives a reload.

import { appId, saleorApiUrl } from "./bridge.js";

export const base = document.documentElement.dataset.base; // the path below which the app is served, "" for none

const RELOAD_TIMEOUT = 15_000; // the maximum milliseconds of a reload
const PLACE = `gateway-page:${base}:${saleorApiUrl}`; // in the session storage of the tab
const opened = pathOf(location.href);
let shown = { path: opened, fields: null }; // the current page

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
  history.pushState({ fields }, "", frameAddress(path));
  rememberPlace();
}

/** Return the page that the frame's address names, with the fields of its search, which no address contains. */
export function currentPlace() {
  return { path: pathOf(location.href), fields: history.state?.fields ?? null };
}

/**
 * A reload of the Dashboard loads the frame at the address at which the app was opened: so the current page is stored,
 * and restored for a user who returns to the same address at once. A browser may store nothing for frames: then the app
 * starts where it was opened.
 */
export function rememberPlace(left = 0) {
  shown = currentPlace();
  try {
    sessionStorage.setItem(PLACE, JSON.stringify({ opened, ...shown, left }));
  } catch {
    // see above
  }
}

export function restorePlace() {
  try {
    const stored = JSON.parse(sessionStorage.getItem(PLACE));
    if (stored?.opened !== opened || Date.now() - stored.left > RELOAD_TIMEOUT) return;
    history.replaceState({ fields: stored.fields }, "", frameAddress(stored.path));
    shown = currentPlace();
  } catch {
    // see above
  }
}

/** Undo a step back that has already changed the address: the user is still on the current page. */
export function stay() {
  pushPath(shown.path, shown.fields);
}
