// Downloads of files that need the Dashboard's token: a link could not send it, so they are fetched, then saved.

import { readForm } from "./forms.js";

/** Return the request of a form for a file, with the zone of the times in it. It may take as long as it takes. */
export function fileRequest(form) {
  const body = new URLSearchParams(readForm(form));
  body.set("zone", Intl.DateTimeFormat().resolvedOptions().timeZone);
  return { method: "POST", body, signal: null };
}

/** Save a response under a name; `report` receives the number of bytes so far. Rejects when it breaks off. */
export async function save(answer, name, report) {
  const pieces = [];
  const reader = answer.body.getReader();
  let size = 0;
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
    pieces.push(value);
    size += value.length;
    report(size);
  }
  download(new Blob(pieces, { type: answer.headers.get("Content-Type") }), name);
}

/**
 * Save a file that arrives as JSON lines: pieces of it, and progress messages between them, for `report`.
 *
 * Only the last line states that it is complete: without it nothing is saved. Returns the reason if the app states one,
 * otherwise "". Rejects when it breaks off.
 */
export async function saveWithProgress(answer, report) {
  const pieces = [];
  const about = {};
  const take = ({ text, base64, told, ...more }) => {
    if (text) pieces.push(text);
    if (base64) pieces.push(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)));
    if (told) report(told);
    Object.assign(about, more);
  };
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) take(JSON.parse(line));
  }
  if (about.failed) return about.failed;
  if (about.whole === undefined) throw new Error("it broke off");
  download(new Blob(pieces, { type: about.type }), about.name);
  report(about.whole);
  return "";
}

function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // when the browser has surely begun to read it
}
