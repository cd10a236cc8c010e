// Adds and removes rows of a table in a form. Rows that are empty when the form is sent are left out, so it works without.

let added = 0;

/** Add a row from the template that the button names; the fields of each row have a number of their own. */
export function addRow({ dataset }) {
  const row = document.createElement("tbody");
  added += 1;
  row.innerHTML = document.getElementById(dataset.adds).innerHTML.replaceAll("NEW", `new-${added}`);
  const [newest] = row.children;
  document.getElementById(dataset.to).append(newest);
  newest.querySelector("input").focus();
}

/** Remove the row in which the button stands. */
export function removeRow(button) {
  const row = button.closest(button.dataset.removes);
  (row.nextElementSibling ?? row.previousElementSibling)?.querySelector("input").focus();
  row.remove();
}
