// Looks again every few seconds, and shows what is new in place: nobody who reads is sent back to the beginning.
// Without JavaScript the page loads itself anew instead.
const PAUSE = 5000;

async function look() {
  const answer = await fetch(location.href);
  if (!answer.ok) return true;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (fresh.querySelector("h1").textContent !== document.querySelector("h1").textContent) {
    document.title = fresh.title;
    document.querySelector("main").replaceWith(fresh.querySelector("main"));
  }
  return fresh.querySelector("script[src$='again.js']") !== null;
}

function later() {
  setTimeout(() => look().catch(() => true).then((open) => open && later()), PAUSE);
}

later();
