// Reads forms in the format that the app's parts expect, and shows their errors.

import { focusHere } from "./focus.js";

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

/** Whether a text has an e-mail address in it, also with the wide signs of a Japanese keyboard: the app reads those. */
export function mentionsEmail(text) {
  return text.normalize("NFKC").includes("@");
}

/**
 * Return the messages of the fields that the browser finds invalid, by name, in the words of the page (`words`): the
 * browser's own are in its language, and come one at a time.
 */
export function findInvalid(form, words) {
  const message = ({ type, validity }) => {
    if (validity.valueMissing) return words.required;
    return type === "email" ? words.email : words.invalid;
  };
  // The app reads addresses that a browser does not: with wide signs, and with what was pasted around them.
  const isAddress = (text) => /^[^@]*[^\s@<>,;]@[^\s@<>,;][^@]*$/.test(text.normalize("NFKC"));
  const isRead = ({ validity, value }) => validity.valid || (validity.typeMismatch && isAddress(value));
  const invalid = [...form.elements].filter((field) => field.willValidate && field.name && !isRead(field));
  return Object.fromEntries(invalid.map((field) => [field.name, message(field)]));
}

function findField(form, name) {
  const named = CSS.escape(name);
  return form.querySelector(`[name="${named}"]:not([type="hidden"]), [data-seals="${named}"]`);
}

/** Return what is invalid: the field, or the whole group of a choice. */
function invalidPart(field) {
  return (field.type === "radio" && field.closest("fieldset")) || field;
}

function labelOf(field) {
  const label = field.type === "radio" ? field.closest("fieldset")?.querySelector("legend") : field.labels[0];
  if (!label) return field.getAttribute("aria-label");
  // A label contains its field: its own words are the text beside it.
  const words = [...label.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.textContent);
  return words.join(" ").trim();
}

function markInvalid(field, words) {
  const part = invalidPart(field);
  field.id ||= `field-${field.name}`;
  const message = Object.assign(document.createElement("small"), { className: "wrong", textContent: words });
  message.id = `wrong-${field.name || field.id}`;
  if (part === field) (field.closest("label") ?? field).after(message);
  else part.append(message);
  part.setAttribute("aria-invalid", "true");
  part.setAttribute("aria-errormessage", message.id);
  part.dataset.describedby = part.getAttribute("aria-describedby") ?? "";
  part.setAttribute("aria-describedby", `${message.id} ${part.dataset.describedby}`.trim());
  field.closest("details")?.setAttribute("open", "");
  field.closest("[hidden]")?.removeAttribute("hidden"); // what is offered only after a refusal
}

/** Remove the messages that `showFieldErrors` has shown. */
function clearFieldErrors(page) {
  for (const message of page.querySelectorAll(".wrong, .summary")) message.remove();
  for (const part of page.querySelectorAll("[aria-invalid]")) {
    part.removeAttribute("aria-invalid");
    part.removeAttribute("aria-errormessage");
    if (part.dataset.describedby) part.setAttribute("aria-describedby", part.dataset.describedby);
    else part.removeAttribute("aria-describedby");
    delete part.dataset.describedby;
  }
}

/** Return a list of all that is wrong at the top of a form, whose links lead to the fields. */
function summarize(form, wrong, title, message) {
  const summary = Object.assign(document.createElement("div"), { className: "problem summary", tabIndex: -1 });
  summary.setAttribute("role", "alert");
  // The message is shown unless it only repeats what the list says.
  const repeated = wrong.every(([, words]) => message.includes(words));
  const heading = Object.assign(document.createElement("p"), { textContent: repeated ? title : message });
  const list = document.createElement("ul");
  for (const [field, words] of wrong) {
    const link = Object.assign(document.createElement("a"), { href: `#${field.id}` });
    link.textContent = `${labelOf(field)}: ${words}`;
    const item = document.createElement("li");
    item.append(link);
    list.append(item);
  }
  summary.append(heading, list);
  form.prepend(summary);
  focusHere(summary);
}

/**
 * Show the message of each invalid field of a form beside it; `fields`: messages by field name. Focus the field, or
 * where there are several a summary of them, under `title` or the message of the refusal. Return whether it is shown.
 */
export function showFieldErrors(page, form, fields, { title, message = "" }) {
  clearFieldErrors(page);
  const wrong = Object.entries(fields)
    .map(([name, words]) => [findField(form, name), words])
    .filter(([field]) => field)
    // In the order of the page, whatever the order of `fields`.
    .sort(([one], [other]) => (one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
  for (const [field, words] of wrong) markInvalid(field, words);
  const summed = wrong.length > 1;
  if (summed) summarize(form, wrong, title, message);
  else if (wrong.length) focusHere(wrong[0][0]);
  return summed;
}

/**
 * Offer in another field only what the option chosen in this one allows, and of the fields that some options need
 * those that this one needs; without it, the server refuses the rest.
 */
export function limitOptions({ form, dataset, selectedOptions }) {
  const other = form.elements[dataset.limits];
  const allowed = selectedOptions[0].dataset.allows.split(" ");
  for (const option of other.options) {
    option.disabled = !allowed.includes(option.value);
    option.hidden = option.disabled;
  }
  if (!allowed.includes(other.value)) [other.value] = allowed;
  for (const name of dataset.fields.split(" ").filter(Boolean)) {
    const field = form.elements[name];
    field.disabled = !selectedOptions[0].dataset.needs.split(" ").includes(name);
    field.closest("label").hidden = field.disabled;
  }
}

/** Lead to a place of the page: a field that is to be corrected, or a group of them. */
export function reveal(place) {
  place.closest("details")?.setAttribute("open", "");
  place.scrollIntoView({ block: place.matches("input, select, textarea") ? "center" : "start" });
  place.focus({ preventScroll: true });
}
