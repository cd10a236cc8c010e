// A button with data-copies copies what the field with that id holds, and says data-done for a moment.

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

export async function copyBy(button) {
  const field = document.getElementById(button.dataset.copies);
  const words = button.textContent;
  if (!(await copied(field)) || words === button.dataset.done) return;
  button.textContent = button.dataset.done;
  setTimeout(() => (button.textContent = words), SAID_FOR);
}
