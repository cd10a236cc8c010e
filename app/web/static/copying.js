// A button with data-copies copies the value of the field with that id, one with data-copy its own value; an address of
// ours is copied with the host. Each shows data-done for a moment, and says it.

import { say } from "./saying.js";

const SHOWN_FOR = 2_000; // milliseconds

async function copyField(field) {
  field.select();
  // In a frame of another origin browsers may refuse the Clipboard API, which needs a permission that frames lack.
  if (document.execCommand("copy")) return true;
  try {
    await navigator.clipboard.writeText(field.value);
    return true;
  } catch {
    return false; // the text is selected: the user can copy it themselves
  }
}

/** Copy text that is in no field, through a temporary one: only a selection in a field can be copied everywhere. */
async function copyText(text, beside) {
  const field = document.createElement("textarea");
  field.className = "away";
  field.value = text;
  beside.after(field);
  const done = await copyField(field);
  field.remove();
  beside.focus({ preventScroll: true });
  return done;
}

export async function copyBy(button) {
  const { copies, copy, done } = button.dataset;
  const text = copy?.startsWith("/") ? new URL(copy, location.origin).href : copy;
  const succeeded = copies ? await copyField(document.getElementById(copies)) : await copyText(text, button);
  if (!succeeded || button.classList.contains("done")) return;
  const before = button.textContent;
  say(done);
  button.classList.add("done");
  if (copies) button.textContent = done;
  setTimeout(() => {
    if (copies) button.textContent = before;
    button.classList.remove("done");
    say("");
  }, SHOWN_FOR);
}
