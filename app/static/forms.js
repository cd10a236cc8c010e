// What a form says, as the app's parts want to hear it.

/** How far this browser's clocks are ahead of UTC at a moment, as "+02:00". */
function clocks(moment) {
  const minutes = -moment.getTimezoneOffset();
  const [hours, rest] = [Math.trunc(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `${minutes < 0 ? "-" : "+"}${String(hours).padStart(2, "0")}:${String(rest).padStart(2, "0")}`;
}

/** The fields of a form, and the button that sends it. A day is said with the clocks of whoever looks, at its beginning or at its end; one of UTC without. */
export function said(form, button = null) {
  return [...new FormData(form, button)].map(([name, value]) => {
    const field = form.elements[name] ?? {};
    if (field.type !== "date" || !value || field.dataset.clocks === "utc") return [name, value];
    const [year, month, day] = value.split("-").map(Number);
    const moment = new Date(year, month - 1, field.dataset.clocks === "end" ? day + 1 : day);
    return [name, value + clocks(moment)];
  });
}

/** Say beside each field what is not right with it, and lead whoever looks to the first; `fields`: words by name. */
export function blame(page, fields) {
  for (const said of page.querySelectorAll(".wrong")) said.remove();
  for (const field of page.querySelectorAll("[aria-invalid]")) {
    field.removeAttribute("aria-invalid");
    field.removeAttribute("aria-errormessage");
  }
  const wrong = Object.entries(fields)
    .map(([name, words]) => [page.querySelector(`[name="${CSS.escape(name)}"]:not([type="hidden"]), [data-seals="${CSS.escape(name)}"]`), words])
    .filter(([field]) => field);
  for (const [field, words] of wrong) {
    const said = Object.assign(document.createElement("small"), { className: "wrong", textContent: words });
    said.id = `wrong-${field.name || field.id}`;
    (field.closest("label") ?? field).after(said);
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-errormessage", said.id);
    field.closest("details")?.setAttribute("open", "");
  }
  // In the order of the page, whatever order they are told in.
  const [first] = wrong.map(([field]) => field).sort((one, other) => (one.compareDocumentPosition(other) & 4 ? -1 : 1));
  first?.focus();
}
