// The page works without this script: it then reloads itself. With it, updates replace the content in place, so that a
// screen reader announces the change instead of starting over every two seconds.

const main = document.querySelector("main");
const MISSES_BEFORE_PAUSES = 5; // a network may hiccup
const LONG_PAUSE = 30; // seconds: of an app that starts anew, or a shopper without a network
let misses = 0;
let timer;
let received = main.innerHTML; // as it came, before its times are localised

/** Too many visitors at this moment: `seconds` after which there may be room. */
class Busy extends Error {
  constructor(seconds) {
    super();
    this.seconds = seconds;
  }
}

async function fetchNews() {
  const response = await fetch(main.dataset.onward, { cache: "no-store" });
  const seconds = Number(response.headers.get("Retry-After"));
  if (!response.ok && seconds > 0) throw new Busy(seconds);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const news = page.querySelector("main");
  if (!response.ok || !news) throw new Error(`no page, but status ${response.status}`);
  return { news, title: page.title };
}

function show({ news, title }) {
  delete main.dataset.onward;
  Object.assign(main.dataset, news.dataset);
  document.title = title;
  // Leave it untouched while nothing has changed: a screen reader would announce it again.
  if (news.innerHTML === received) return;
  received = news.innerHTML;
  localiseTimes(news);
  const { href } = document.activeElement;
  main.replaceChildren(...news.childNodes);
  [...main.querySelectorAll("a")].find((link) => link.href === href)?.focus();
}

// Moments are written in UTC; people read them in their own time.
function localiseTimes(part) {
  for (const time of part.querySelectorAll("time")) {
    const style = { dateStyle: "medium", timeStyle: "short" };
    time.textContent = new Intl.DateTimeFormat(document.documentElement.lang, style).format(new Date(time.dateTime));
  }
}

async function poll() {
  try {
    show(await fetchNews());
    misses = 0;
  } catch (error) {
    if (error instanceof Busy) return schedule(error.seconds);
    misses += 1; // it says that it updates by itself: so it does, however long nobody answers
  }
  return schedule(misses > MISSES_BEFORE_PAUSES ? LONG_PAUSE : Number(main.dataset.after));
}

function schedule(seconds) {
  const { onward } = main.dataset;
  if (!onward) return;
  const staysHere = onward.startsWith("?");
  clearTimeout(timer);
  timer = setTimeout(() => (staysHere ? poll() : location.replace(onward)), seconds * 1000);
}

// The network is back: whoever has waited for it waits no longer.
addEventListener("online", () => {
  if (misses > MISSES_BEFORE_PAUSES) poll();
});

localiseTimes(main);
schedule(Number(main.dataset.after));
