// Moments are written in UTC; people read them in their own time and language.

export function localise(part) {
  const root = document.documentElement;
  for (const time of part.querySelectorAll("time")) {
    const style = { dateStyle: "medium", timeStyle: time.closest(".timeline") ? "medium" : "short" };
    if (time.className === "clock") delete style.dateStyle;
    time.title = time.textContent;
    time.textContent = new Intl.DateTimeFormat(root.dataset.locale ?? root.lang, style).format(new Date(time.dateTime));
  }
}
