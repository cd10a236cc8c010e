// Moments are written in UTC; people read them in their own time and language.

const root = document.documentElement;
const format = (style, moment) => new Intl.DateTimeFormat(root.dataset.locale ?? root.lang, style).format(moment);

export function localise(part) {
  for (const time of part.querySelectorAll("time")) {
    const style = { dateStyle: "medium", timeStyle: time.closest(".timeline") ? "medium" : "short" };
    if (time.className === "clock") delete style.dateStyle;
    time.title = time.textContent;
    time.textContent = format(style, new Date(time.dateTime));
  }
  for (const field of part.querySelectorAll("[type=date][data-moment]")) {
    const moment = new Date(field.dataset.moment); // which is on another day in UTC, where the day is short of it
    field.valueAsDate = new Date(Date.UTC(moment.getFullYear(), moment.getMonth(), moment.getDate()));
  }
  part.querySelectorAll("[type=date]").forEach(writeDay);
}

/** Write the day of a field below it: the field is in the browser’s language, where 11/01 may be either day. */
export function writeDay(field) {
  let words = field.parentNode.querySelector("small");
  if (!words) {
    words = Object.assign(document.createElement("small"), { className: "quiet", ariaHidden: "true" });
    field.after(words);
  }
  words.textContent = field.value ? format({ dateStyle: "medium", timeZone: "UTC" }, field.valueAsDate) : "";
}
