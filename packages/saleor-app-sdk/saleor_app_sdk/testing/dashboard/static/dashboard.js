"use strict";
// The Dashboard's side of the App Bridge (Saleor contract, B.2.6), and its switches for theme, language and member of staff.

const REFRESH_LEAD_TIME = 30; // seconds before a token expires
const SANDBOX = "allow-same-origin allow-forms allow-scripts allow-downloads allow-popups";
const MAX_WIDGET_HEIGHT = 5000; // pixels
const TOAST_DURATION = 6000; // milliseconds

const root = document.documentElement;
const chosen = { theme: localStorage.theme ?? "light", locale: localStorage.locale ?? "en" };
const received = []; // all messages from the apps on this page
const embedded = [];

class Embedded {
  /** An app's frame in a container of the page. `routedPath` is the Dashboard's path when the frame's URL was set. */
  constructor(container) {
    this.container = container;
    this.options = container.dataset;
    this.token = null;
    this.initialized = false;
    this.routedPath = location.pathname;
  }

  async open() {
    const frame = document.createElement("iframe");
    frame.title = this.options.title;
    frame.setAttribute("sandbox", SANDBOX);
    frame.addEventListener("load", () => this.handleLoad());
    this.frame = frame;
    if (this.options.token) this.storeToken(await this.fetchToken());
    if (this.options.widget === "POST") {
      frame.name = this.options.name;
      this.container.append(frame);
      document.querySelector(`form[target="${frame.name}"]`).submit();
    } else {
      frame.src = this.address();
      this.container.append(frame);
    }
  }

  address() {
    const { app, appUrl, order, widget } = this.options;
    const [, own] = location.pathname.split(`/extensions/app/${encodeURIComponent(app)}`);
    const address = new URL(own ? appUrl.replace(/\/$/, "") + own : appUrl);
    const saleorApiUrl = root.dataset.saleorApiUrl;
    const parameters = { domain: new URL(saleorApiUrl).host, saleorApiUrl, id: app };
    if (widget) parameters.orderId = order;
    parameters.theme = chosen.theme;
    for (const [name, value] of new URLSearchParams(widget ? "" : location.search)) address.searchParams.append(name, value);
    for (const [name, value] of Object.entries(parameters)) address.searchParams.append(name, value);
    return address.href;
  }

  async fetchToken() {
    return (await (await fetch(this.options.token)).json()).token;
  }

  /** Store a token, and fetch the next one before it expires. */
  storeToken(token) {
    this.token = token;
    const { exp, iat } = claims(token);
    setTimeout(() => this.refresh(), Math.max(exp - iat - REFRESH_LEAD_TIME, 1) * 1000);
  }

  async refresh() {
    this.storeToken(await this.fetchToken());
    this.send("tokenRefresh", { token: this.token });
  }

  handleLoad() {
    if (this.isEmpty()) return;
    this.container.classList.add("loaded");
    if (this.options.widget !== "POST") this.sendHandshake(); // a widget loaded by POST gets its token from the form
  }

  /** Whether the frame is still blank: a form can be posted only into a frame that is in the page already. */
  isEmpty() {
    try {
      return this.frame.contentWindow.location.href === "about:blank";
    } catch {
      return false; // of another origin, so it shows the app
    }
  }

  sendHandshake() {
    if (this.token === null) return;
    this.send("handshake", { token: this.token, version: 1, saleorVersion: root.dataset.saleor, dashboardVersion: root.dataset.saleor });
    if (this.initialized) return;
    this.initialized = true;
    this.send("localeChanged", { locale: chosen.locale });
    this.send("theme", { theme: chosen.theme });
    // The app's own path is intended, but the real Dashboard sends the Dashboard's path.
    this.send("redirect", { path: location.pathname });
  }

  send(type, payload) {
    if (!this.frame?.contentWindow) return;
    // Addressed to the app's origin: a page of another origin does not receive it.
    this.frame.contentWindow.postMessage({ type, payload }, new URL(this.options.appUrl).origin);
  }

  receive({ type, payload }) {
    if (this.options.widget && type === "widgetResize") {
      if (payload.height > 0) this.frame.style.height = `${Math.min(Math.ceil(payload.height), MAX_WIDGET_HEIGHT)}px`;
    } else if (this.options.widget === "POST") {
      return; // all their other messages are ignored
    } else if (!Object.hasOwn(handlers, type)) {
      console.error(`The Dashboard knows no action ${type}`);
      return;
    }
    const ok = (handlers[type] ?? acknowledge)(payload, this) ?? true;
    this.send("response", { actionId: payload.actionId, ok });
  }
}

const acknowledge = () => true;
const handlers = {
  notifyReady: (_, app) => app.sendHandshake(),
  notification: toast,
  updateRouting: ({ newRoute }, app) => {
    const path = `/dashboard/extensions/app/${encodeURIComponent(app.options.app)}/${newRoute.replace(/^\//, "")}`;
    if (location.pathname !== path) history.pushState(null, "", path);
  },
  redirect: ({ to, newContext }) => {
    const local = to.startsWith("/");
    const address = local ? `/dashboard${to}` : to;
    if (newContext) window.open(address);
    else if (local || confirm("You are about to leave the Dashboard. Do you want to continue?")) location.assign(address);
    else return false;
  },
  requestPermissions: acknowledge,
  popupClose: acknowledge,
  refreshEntity: acknowledge,
};

function claims(token) {
  return JSON.parse(atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/")));
}

function toast({ status = "info", title = "", text = "" }) {
  const shown = document.createElement("p");
  shown.className = `toast ${status}`;
  shown.textContent = [title, text].filter(Boolean).join(": ");
  document.getElementById("toasts").append(shown);
  setTimeout(() => shown.remove(), TOAST_DURATION);
}

function setTheme(theme) {
  localStorage.theme = chosen.theme = theme;
  applyChoices();
  for (const app of embedded) app.send("theme", { theme });
}

function setLocale(locale) {
  localStorage.locale = chosen.locale = locale;
  applyChoices();
  for (const app of embedded) app.send("localeChanged", { locale });
}

function applyChoices() {
  const dark = chosen.theme === "dark";
  root.dataset.theme = chosen.theme;
  document.getElementById("theme").setAttribute("aria-pressed", dark);
  document.getElementById("locale").value = chosen.locale;
}

window.addEventListener("message", ({ data, source }) => {
  const from = embedded.find(({ frame }) => frame?.contentWindow === source);
  if (!from) return;
  received.push(data);
  from.receive(data);
});

window.addEventListener("popstate", () => {
  for (const app of embedded) {
    if (app.options.widget || location.pathname === app.routedPath) continue;
    app.routedPath = location.pathname;
    app.frame.src = app.address();
  }
});

document.getElementById("theme").addEventListener("click", () => setTheme(chosen.theme === "dark" ? "light" : "dark"));
document.getElementById("locale").addEventListener("change", ({ target }) => setLocale(target.value));
document.getElementById("member").addEventListener("change", ({ target }) => {
  target.form.back.value = location.pathname + location.search;
  target.form.submit();
});

applyChoices();
for (const container of document.querySelectorAll("[data-app]")) {
  const app = new Embedded(container);
  embedded.push(app);
  app.open();
}
