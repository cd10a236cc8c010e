// The app's side of the Dashboard's App Bridge (Saleor contract, B.2.6): who looks, in which theme and language.
//
// The Dashboard hands us a token that says who looks. It stays in this script's memory: no cookie, no storage.

const dashboard = window.parent;
const root = document.documentElement;
const PATIENCE = 10_000; // milliseconds until the Dashboard is thought not to answer

export const framed = dashboard !== window;
export const saleorApiUrl = new URLSearchParams(location.search).get("saleorApiUrl") ?? "";

/** The Dashboard did not hand us a token in time. */
export class NoToken extends Error {}

/** Hears "token" with each that comes, and "locale" when the language has changed. */
export const dashboardSays = new EventTarget();

let origin = null; // of the Dashboard, pinned by the first token
let token = null;
const waiting = new Set(); // called with each token that comes

/** The origin of the Dashboard that has handed us the token; "" before it has. */
export const dashboardOrigin = () => origin ?? "";

const A_MOMENT = 20; // milliseconds within which the Dashboard says its language, once it has given a token
const spoken = new Promise((resolve) => dashboardSays.addEventListener("locale", resolve, { once: true }));
let waited = null;

/** Wait until the Dashboard has said in which language it is, so that nothing is asked for in another and then again. */
export function languageSaid() {
  waited ??= Promise.race([spoken, new Promise((resolve) => setTimeout(resolve, A_MOMENT))]);
  return waited;
}

export function say(type, payload = {}) {
  // Random rather than crypto.randomUUID(), which is missing on plain http.
  const actionId = Math.random().toString(36).slice(2);
  dashboard.postMessage({ type, payload: { ...payload, actionId } }, origin ?? "*");
}

/** The token that we have, or the next one if that was `refused` or there is none yet. */
export function tokenOtherThan(refused) {
  if (token !== null && token !== refused) return Promise.resolve(token);
  return new Promise((resolve, reject) => {
    const listen = (another) => {
      if (another === refused) return; // the Dashboard has not noticed yet that it is over
      stop();
      resolve(another);
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
    say("notifyReady");
  });
}

function take(said, from) {
  if (typeof said.token !== "string") return;
  origin ??= from;
  if (origin !== from) return;
  token = said.token;
  for (const listen of [...waiting]) listen(token);
  dashboardSays.dispatchEvent(new CustomEvent("token", { detail: token }));
}

function dress({ theme }) {
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
}

function speak({ locale }) {
  let name;
  try {
    [name] = Intl.getCanonicalLocales(locale);
  } catch {
    return; // no language of this world
  }
  if (!name || name === root.dataset.locale) return;
  root.dataset.locale = name;
  dashboardSays.dispatchEvent(new Event("locale"));
}

// Not heard: "redirect". It follows the first handshake and says the Dashboard's own path, when the frame has long got
// its address from that.
const heard = { handshake: take, tokenRefresh: take, theme: dress, localeChanged: speak };

window.addEventListener("message", ({ source, origin: from, data }) => {
  // Not compared with document.referrer's origin: after a navigation inside the frame that would be our own.
  if (!framed || source !== dashboard) return;
  const { type, payload } = data ?? {};
  if (typeof payload === "object" && payload !== null && Object.hasOwn(heard, type)) heard[type](payload, from);
});
