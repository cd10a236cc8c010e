// The page works without this: it then reloads itself. With it, news replaces the content in place, so that a
// screen reader says what changed instead of starting over every two seconds.

const main = document.querySelector("main");
const MISSES_ALLOWED = 5;
let misses = 0;

async function fetchNews() {
  const response = await fetch(main.dataset.onward, { cache: "no-store" });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const news = page.querySelector("main");
  if (!response.ok || !news) throw new Error(`no page, but status ${response.status}`);
  return { news, title: page.title };
}

function show({ news, title }) {
  delete main.dataset.onward;
  Object.assign(main.dataset, news.dataset);
  document.title = title;
  // Untouched while nothing changed: replacing it would be announced again.
  const told = (page) => page.querySelector("h1").textContent + page.querySelectorAll("nav a, .attempts li").length;
  if (told(main) !== told(news)) {
    main.replaceChildren(...news.childNodes);
    inOwnTime();
  }
}

// Moments are written in UTC; people read them in their own time.
function inOwnTime() {
  for (const time of main.querySelectorAll("time")) {
    const style = { dateStyle: "medium", timeStyle: "short" };
    time.textContent = new Intl.DateTimeFormat(document.documentElement.lang, style).format(new Date(time.dateTime));
  }
}

async function lookAgain() {
  try {
    show(await fetchNews());
    misses = 0;
  } catch {
    misses += 1; // the network is allowed to hiccup; the link "check again" stays for the rest
    if (misses > MISSES_ALLOWED) return;
  }
  goOn();
}

function goOn() {
  const { onward, after } = main.dataset;
  if (!onward) return;
  const staysHere = onward.startsWith("?");
  setTimeout(() => (staysHere ? lookAgain() : location.replace(onward)), Number(after) * 1000);
}

inOwnTime();
goOn();
