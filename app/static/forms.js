// What a form says, as the app's parts want to hear it.

/** How far this browser's clocks are ahead of UTC at a moment, as "+02:00". */
function clocks(moment) {
  const minutes = -moment.getTimezoneOffset();
  const [hours, rest] = [Math.trunc(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `${minutes < 0 ? "-" : "+"}${String(hours).padStart(2, "0")}:${String(rest).padStart(2, "0")}`;
}

/** The fields of a form, and the button that sends it. A day is said with the clocks of whoever looks, at its beginning or at its end. */
export function said(form, button = null) {
  return [...new FormData(form, button)].map(([name, value]) => {
    const field = form.elements[name] ?? {};
    if (field.type !== "date" || !value) return [name, value];
    const [year, month, day] = value.split("-").map(Number);
    const moment = new Date(year, month - 1, field.dataset.clocks === "end" ? day + 1 : day);
    return [name, value + clocks(moment)];
  });
}

/** Lead whoever looks to the field that was refused; `name` null: to none. */
export function blame(page, name) {
  for (const field of page.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  const field = name && page.querySelector(`[name="${CSS.escape(name)}"]:not([type="hidden"])`);
  if (!field) return;
  field.setAttribute("aria-invalid", "true");
  field.closest("details")?.setAttribute("open", "");
  field.focus();
}
