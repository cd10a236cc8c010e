// Reads forms in the format that the app's parts expect, and shows their errors.

/** Return this browser's UTC offset at a moment, as "+02:00". */
function utcOffset(moment) {
  const minutes = -moment.getTimezoneOffset();
  const [hours, rest] = [Math.trunc(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `${minutes < 0 ? "-" : "+"}${String(hours).padStart(2, "0")}:${String(rest).padStart(2, "0")}`;
}

/**
 * Return the fields of a form, with that of the button that submits it. A day has the UTC offset of the user's time
 * zone at its start or at its end; a UTC day has none.
 */
export function readForm(form, button = null) {
  return [...new FormData(form, button)].map(([name, value]) => {
    const field = form.elements[name] ?? {};
    if (field.type !== "date" || !value || field.dataset.clocks === "utc") return [name, value];
    const [year, month, day] = value.split("-").map(Number);
    const moment = new Date(year, month - 1, field.dataset.clocks === "end" ? day + 1 : day);
    return [name, value + utcOffset(moment)];
  });
}

/** Show the message of each invalid field beside it, and focus the first; `fields`: messages by field name. */
export function showFieldErrors(page, fields) {
  for (const message of page.querySelectorAll(".wrong")) message.remove();
  for (const field of page.querySelectorAll("[aria-invalid]")) {
    field.removeAttribute("aria-invalid");
    field.removeAttribute("aria-errormessage");
  }
  const wrong = Object.entries(fields)
    .map(([name, words]) => [page.querySelector(`[name="${CSS.escape(name)}"]:not([type="hidden"]), [data-seals="${CSS.escape(name)}"]`), words])
    .filter(([field]) => field);
  for (const [field, words] of wrong) {
    const message = Object.assign(document.createElement("small"), { className: "wrong", textContent: words });
    message.id = `wrong-${field.name || field.id}`;
    (field.closest("label") ?? field).after(message);
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-errormessage", message.id);
    field.closest("details")?.setAttribute("open", "");
    field.closest("[hidden]")?.removeAttribute("hidden"); // what is offered only after a refusal
  }
  // In the order of the page, whatever the order of `fields`.
  const [first] = wrong.map(([field]) => field).sort((one, other) => (one.compareDocumentPosition(other) & 4 ? -1 : 1));
  first?.focus();
}
