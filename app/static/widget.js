// The widget on an order's page works without this. With it, it is as high as what it shows, its token stays fresh, and
// the payment link is copied by one press.

import { dashboardSays, framed, say } from "./bridge.js";

const root = document.documentElement;

if (framed) {
  // Saleor contract, B.2.6: understood since the Dashboard of 3.23.7; older ones keep the height that they have.
  const tellHeight = () => say("widgetResize", { height: Math.max(1, Math.ceil(root.getBoundingClientRect().height)) });
  tellHeight(); // at once: a frame that is not in sight yet is not observed
  new ResizeObserver(tellHeight).observe(root);
}

// Forms are sent with the token that lies in them; Saleor's lasts five minutes, and the Dashboard hands a newer one on.
dashboardSays.addEventListener("token", ({ detail }) => {
  for (const field of document.querySelectorAll('input[name="accessToken"]')) field.value = detail;
});

for (const time of document.querySelectorAll("time")) {
  time.title = time.textContent;
  const style = { dateStyle: "medium", timeStyle: "short" };
  time.textContent = new Intl.DateTimeFormat(root.lang, style).format(new Date(time.dateTime));
}

for (const button of document.querySelectorAll("button.copy")) {
  const address = button.closest(".link").querySelector(".address");
  button.hidden = false;
  button.addEventListener("click", () => {
    address.select();
    // The clipboard's newer interface is closed to frames of another origin.
    if (document.execCommand("copy")) button.textContent = "✓";
  });
}
