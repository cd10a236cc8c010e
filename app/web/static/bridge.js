// The app's side of the Dashboard's App Bridge (Saleor contract, B.2.6): the user's identity, theme and language.
//
// The Dashboard hands us a token that identifies the user. It stays in this script's memory: no cookie, no storage.

const dashboard = window.parent;
const root = document.documentElement;
const PATIENCE = 10_000; // milliseconds until the Dashboard is considered unresponsive
export const LONGEST_WAIT = 60_000; // milliseconds for a page: more than the app waits for the gateway and for Saleor

export const framed = dashboard !== window;
const query = new URLSearchParams(location.search);
export const saleorApiUrl = query.get("saleorApiUrl") ?? "";
export const appId = query.getAll("id").at(-1) ?? ""; // the Dashboard adds it after the parameters of its own address

/** The Dashboard did not hand us a token in time. */
export class NoToken extends Error {}

/** Emits "token" with each token that arrives, and "locale" when the language has changed. */
export const dashboardEvents = new EventTarget();

let origin = null; // of the Dashboard, pinned by the first token
let token = null;
const waiting = new Set(); // listeners that are called with each token that arrives

/** The origin of the Dashboard that has handed us the token; "" before it has. */
export const dashboardOrigin = () => origin ?? "";

const LOCALE_TIMEOUT = 20; // milliseconds within which the Dashboard sends its language, once it has sent a token
const localeReceived = new Promise((resolve) => dashboardEvents.addEventListener("locale", resolve, { once: true }));
let localeWait = null;

/** Wait until the Dashboard has sent its language, so that nothing is requested in another language and then again. */
export function languageKnown() {
  localeWait ??= Promise.race([localeReceived, new Promise((resolve) => setTimeout(resolve, LOCALE_TIMEOUT))]);
  return localeWait;
}

export function postToDashboard(type, payload = {}) {
  // Not crypto.randomUUID(), which is missing on plain http.
  const actionId = Math.random().toString(36).slice(2);
  dashboard.postMessage({ type, payload: { ...payload, actionId } }, origin ?? "*");
}

/** Let the Dashboard open a page of ours, in its own tab or in a new one: only it knows at which address it is. */
export function openInDashboard(path, { newTab }) {
  postToDashboard("redirect", { to: `/extensions/app/${encodeURIComponent(appId)}${path}`, newContext: newTab });
}

/**
 * Call `open` with each link to a page of ours (data-page) that is clicked, and with whether a new tab is asked for: by
 * the middle button, by a key, or by the link itself. In a tab of its own such a page could show nothing.
 */
export function onPageLink(part, open) {
  const follow = (event) => {
    const link = event.target.closest("a[data-page]");
    if (!link || event.button > 1) return;
    event.preventDefault();
    open(link, event.button === 1 || event.ctrlKey || event.metaKey || event.shiftKey);
  };
  part.addEventListener("click", follow);
  part.addEventListener("auxclick", follow);
}

/** Return the current token, or the next one if the current one was `refused` or there is none yet. */
export function getToken(refused) {
  if (token !== null && token !== refused) return Promise.resolve(token);
  return new Promise((resolve, reject) => {
    const listen = (newToken) => {
      if (newToken === refused) return; // the Dashboard has not noticed yet that it has expired
      stop();
      resolve(newToken);
    };
    const timer = setTimeout(() => {
      stop();
      reject(new NoToken());
    }, PATIENCE);
    const stop = () => {
      clearTimeout(timer);
      waiting.delete(listen);
    };
    waiting.add(listen);
    postToDashboard("notifyReady");
  });
}

function acceptToken(payload, from) {
  if (typeof payload.token !== "string") return;
  origin ??= from;
  if (origin !== from) return;
  token = payload.token;
  for (const listen of [...waiting]) listen(token);
  dashboardEvents.dispatchEvent(new CustomEvent("token", { detail: token }));
}

function applyTheme({ theme }) {
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
}

function applyLocale({ locale }) {
  let name;
  try {
    [name] = Intl.getCanonicalLocales(locale);
  } catch {
    return; // not a valid locale
  }
  if (!name || name === root.dataset.locale) return;
  root.dataset.locale = name;
  dashboardEvents.dispatchEvent(new Event("locale"));
}

// "redirect" is ignored: it follows the first handshake and contains the Dashboard's own path, when the frame has long
// got its address from that.
const handlers = { handshake: acceptToken, tokenRefresh: acceptToken, theme: applyTheme, localeChanged: applyLocale };

window.addEventListener("message", ({ source, origin: from, data }) => {
  // Not compared with document.referrer's origin: after a navigation inside the frame that would be our own.
  if (!framed || source !== dashboard) return;
  const { type, payload } = data ?? {};
  if (typeof payload === "object" && payload !== null && Object.hasOwn(handlers, type)) handlers[type](payload, from);
});
