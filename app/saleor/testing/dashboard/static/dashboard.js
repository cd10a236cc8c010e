"use strict";
// The Dashboard's side of the App Bridge (Saleor contract, B.2.6), and its switches for theme, language and person.

const REFRESHED_BEFORE = 30; // seconds before a token is over
const SANDBOX = "allow-same-origin allow-forms allow-scripts allow-downloads allow-popups";
const TALLEST_WIDGET = 5000; // pixels
const TOASTS_STAY = 6000; // milliseconds

const root = document.documentElement;
const chosen = { theme: localStorage.theme ?? "light", locale: localStorage.locale ?? "en" };
const heard = []; // all that the apps have said on this page
const embedded = [];

class Embedded {
  /** An app's frame in a place of the page. `routed` is the Dashboard's path when the frame got its address. */
  constructor(place) {
    this.place = place;
    this.about = place.dataset;
    this.token = null;
    this.greeted = false;
    this.routed = location.pathname;
  }

  async open() {
    const frame = document.createElement("iframe");
    frame.title = this.about.title;
    frame.setAttribute("sandbox", SANDBOX);
    frame.addEventListener("load", () => this.loaded());
    this.frame = frame;
    if (this.about.token) this.take(await this.fetchToken());
    if (this.about.widget === "POST") {
      frame.name = this.about.name;
      this.place.append(frame);
      document.querySelector(`form[target="${frame.name}"]`).submit();
    } else {
      frame.src = this.address();
      this.place.append(frame);
    }
  }

  address() {
    const { app, appUrl, order, widget } = this.about;
    const [, own] = location.pathname.split(`/extensions/app/${encodeURIComponent(app)}`);
    const address = new URL(own ? appUrl.replace(/\/$/, "") + own : appUrl);
    const saleorApiUrl = root.dataset.saleorApiUrl;
    const said = { domain: new URL(saleorApiUrl).host, saleorApiUrl, id: app };
    if (widget) said.orderId = order;
    said.theme = chosen.theme;
    for (const [name, value] of new URLSearchParams(widget ? "" : location.search)) address.searchParams.append(name, value);
    for (const [name, value] of Object.entries(said)) address.searchParams.append(name, value);
    return address.href;
  }

  async fetchToken() {
    return (await (await fetch(this.about.token)).json()).token;
  }

  /** Keep a token, and fetch the next one before it is over. */
  take(token) {
    this.token = token;
    const { exp, iat } = claims(token);
    setTimeout(() => this.refresh(), Math.max(exp - iat - REFRESHED_BEFORE, 1) * 1000);
  }

  async refresh() {
    this.take(await this.fetchToken());
    this.say("tokenRefresh", { token: this.token });
  }

  loaded() {
    if (this.isEmpty()) return;
    this.place.classList.add("loaded");
    if (this.about.widget !== "POST") this.shake(); // a widget that is posted to has its token from the form
  }

  /** Whether the frame is as it was made: a form is posted only into one that is in the page already. */
  isEmpty() {
    try {
      return this.frame.contentWindow.location.href === "about:blank";
    } catch {
      return false; // of another origin: the app's
    }
  }

  shake() {
    if (this.token === null) return;
    this.say("handshake", { token: this.token, version: 1, saleorVersion: root.dataset.saleor, dashboardVersion: root.dataset.saleor });
    if (this.greeted) return;
    this.greeted = true;
    this.say("localeChanged", { locale: chosen.locale });
    this.say("theme", { theme: chosen.theme });
    // The Dashboard means the app's own path, and says its own.
    this.say("redirect", { path: location.pathname });
  }

  say(type, payload) {
    if (!this.frame?.contentWindow) return;
    // The app's origin is the target: a page that has left it hears nothing.
    this.frame.contentWindow.postMessage({ type, payload }, new URL(this.about.appUrl).origin);
  }

  hear({ type, payload }) {
    if (this.about.widget && type === "widgetResize") {
      if (payload.height > 0) this.frame.style.height = `${Math.min(Math.ceil(payload.height), TALLEST_WIDGET)}px`;
    } else if (this.about.widget === "POST") {
      return; // nothing else is heard of these
    } else if (!Object.hasOwn(answers, type)) {
      console.error(`The Dashboard knows no action ${type}`);
      return;
    }
    const ok = (answers[type] ?? done)(payload, this) ?? true;
    this.say("response", { actionId: payload.actionId, ok });
  }
}

const done = () => true;
const answers = {
  notifyReady: (_, app) => app.shake(),
  notification: toast,
  updateRouting: ({ newRoute }, app) => {
    const path = `/dashboard/extensions/app/${encodeURIComponent(app.about.app)}/${newRoute.replace(/^\//, "")}`;
    if (location.pathname !== path) history.pushState(null, "", path);
  },
  redirect: ({ to, newContext }) => {
    const local = to.startsWith("/");
    const address = local ? `/dashboard${to}` : to;
    if (newContext) window.open(address);
    else if (local || confirm("You are about to leave the Dashboard. Do you want to continue?")) location.assign(address);
    else return false;
  },
  requestPermissions: done,
  popupClose: done,
  refreshEntity: done,
};

function claims(token) {
  return JSON.parse(atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/")));
}

function toast({ status = "info", title = "", text = "" }) {
  const shown = document.createElement("p");
  shown.className = `toast ${status}`;
  shown.textContent = [title, text].filter(Boolean).join(": ");
  document.getElementById("toasts").append(shown);
  setTimeout(() => shown.remove(), TOASTS_STAY);
}

function dress(theme) {
  localStorage.theme = chosen.theme = theme;
  show();
  for (const app of embedded) app.say("theme", { theme });
}

function speak(locale) {
  localStorage.locale = chosen.locale = locale;
  show();
  for (const app of embedded) app.say("localeChanged", { locale });
}

function show() {
  const dark = chosen.theme === "dark";
  root.dataset.theme = chosen.theme;
  document.getElementById("theme").setAttribute("aria-pressed", dark);
  document.getElementById("locale").value = chosen.locale;
}

window.addEventListener("message", ({ data, source }) => {
  const from = embedded.find(({ frame }) => frame?.contentWindow === source);
  if (!from) return;
  heard.push(data);
  from.hear(data);
});

window.addEventListener("popstate", () => {
  for (const app of embedded) {
    if (app.about.widget || location.pathname === app.routed) continue;
    app.routed = location.pathname;
    app.frame.src = app.address();
  }
});

document.getElementById("theme").addEventListener("click", () => dress(chosen.theme === "dark" ? "light" : "dark"));
document.getElementById("locale").addEventListener("change", ({ target }) => speak(target.value));
document.getElementById("member").addEventListener("change", ({ target }) => {
  target.form.back.value = location.pathname + location.search;
  target.form.submit();
});

show();
for (const place of document.querySelectorAll("[data-app]")) {
  const app = new Embedded(place);
  embedded.push(app);
  app.open();
}
