// Warns before changes of a form with data-guarded are lost: another page would replace it, or the frame is unloaded.
// One with data-guarded="fields" also states which of its fields were changed (changedFields).

const saved = new WeakMap(); // the content of each form when it was rendered

function contentOf(form) {
  return new URLSearchParams(new FormData(form)).toString();
}

function isChanged(form) {
  return saved.has(form) && saved.get(form) !== contentOf(form);
}

/** Take what the forms of the page contain as saved; but not of one that was only tried. */
export function guard(page) {
  for (const form of page.querySelectorAll("form[data-guarded]")) {
    saved.set(form, form.dataset.guarded === "tried" ? "" : contentOf(form));
  }
}

/** Forget what is not saved: the user is leaving. */
export function discard(page) {
  for (const form of page.querySelectorAll("form[data-guarded]")) saved.delete(form);
}

/** Return whether a form of the page, other than `except`, has changes that are not saved. */
export function hasUnsaved(page, except = null) {
  return [...page.querySelectorAll("form[data-guarded]")].some((form) => form !== except && isChanged(form));
}

/** Return the names of the fields of a form whose changes are not saved: others may have changed the rest meanwhile. */
export function changedFields(form) {
  const [before, now] = [saved.get(form), contentOf(form)].map((content) => new URLSearchParams(content));
  const names = new Set([...before.keys(), ...now.keys()]);
  return [...names].filter((name) => String(before.getAll(name)) !== String(now.getAll(name)));
}

/** Show in the form whether it has changes that are not saved. */
export function showUnsaved(form) {
  const place = form?.querySelector("[data-unsaved]");
  if (place) place.textContent = isChanged(form) ? place.dataset.unsaved : "";
}

/** Ask in a dialog of the page (a frame of another origin may not use the browser's); return whether to leave. */
export async function askToLeave() {
  const dialog = document.getElementById("unsaved");
  if (dialog.open) return false;
  dialog.returnValue = "stay"; // what Escape means
  dialog.showModal();
  await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
  return dialog.returnValue === "leave";
}
