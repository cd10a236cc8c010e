// A button with data-copies copies what the field with that id holds, one with data-copy what it says there itself, an
// address of ours with the host. Each says data-done for a moment, to the eye; what reads a page aloud hears it from the
// place with the id "copied".

const SAID_FOR = 2_000; // milliseconds

async function copied(field) {
  field.select();
  // In a frame of another origin browsers may refuse the newer way, which asks for a permission that frames lack.
  if (document.execCommand("copy")) return true;
  try {
    await navigator.clipboard.writeText(field.value);
    return true;
  } catch {
    return false; // it is selected: the person can copy it themselves
  }
}

/** Copy words that stand in no field: only what is selected in one can be copied everywhere. */
async function copiedWords(words, beside) {
  const field = document.createElement("textarea");
  field.className = "away";
  field.value = words;
  beside.after(field);
  const done = await copied(field);
  field.remove();
  beside.focus({ preventScroll: true });
  return done;
}

export async function copyBy(button) {
  const { copies, copy, done } = button.dataset;
  const words = copy?.startsWith("/") ? new URL(copy, location.origin).href : copy;
  const did = copies ? await copied(document.getElementById(copies)) : await copiedWords(words, button);
  if (!did || button.classList.contains("done")) return;
  const before = button.textContent;
  const told = document.getElementById("copied");
  told.textContent = done;
  button.classList.add("done");
  if (copies) button.textContent = done;
  setTimeout(() => {
    if (copies) button.textContent = before;
    button.classList.remove("done");
    told.textContent = "";
  }, SAID_FOR);
}
