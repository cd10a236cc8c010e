// Shows the page anew every two seconds without closing what is open. Without JavaScript there is "Refresh".
const PAUSE = 2000;

async function look() {
  if (document.hidden || document.querySelector("#live :focus-visible")) return;
  const answer = await fetch("/", { headers: { accept: "text/html" } });
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("#live");
  for (const before of document.querySelectorAll("#live details[id]")) {
    const after = fresh.querySelector(`#${CSS.escape(before.id)}`);
    if (after) after.open = before.open;
  }
  document.querySelector("#live").replaceWith(fresh);
}

setInterval(() => look().catch(() => {}), PAUSE);
