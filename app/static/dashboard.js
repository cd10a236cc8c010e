// As much of the Dashboard's App Bridge as a page without data needs: say that we are there, follow the theme.

const dashboard = window.parent;

window.addEventListener("message", ({ source, data }) => {
  // Not compared with document.referrer's origin: after a navigation inside the frame that would be our own.
  if (source !== dashboard || data?.type !== "theme") return;
  const theme = data.payload?.theme;
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
});

if (dashboard !== window) {
  // Nothing secret in it, and the Dashboard's origin is not known yet: any parent may hear this. Random rather than
  // crypto.randomUUID(), which is missing on plain http.
  const actionId = Math.random().toString(36).slice(2);
  dashboard.postMessage({ type: "notifyReady", payload: { actionId } }, "*");
}
