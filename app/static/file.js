// A file whose making needs the Dashboard's token: a link could not send it, so it is fetched, then saved.

/** Save an answer under a name; `tell` hears how many bytes have come. Rejects when it breaks off. */
export async function save(answer, name, tell) {
  const pieces = [];
  const reader = answer.body.getReader();
  let size = 0;
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
    pieces.push(value);
    size += value.length;
    tell(size);
  }
  keep(new Blob(pieces, { type: answer.headers.get("Content-Type") }), name);
}

/**
 * Save a file that comes as JSON lines: pieces of it, and what is told between them. `tell` hears that.
 *
 * Only the last line says that it is whole: without it nothing is saved. Returns why, if somebody said why; rejects when
 * it breaks off.
 */
export async function saveTold(answer, tell) {
  const pieces = [];
  const about = {};
  const take = ({ text, told, ...more }) => {
    if (text) pieces.push(text);
    if (told) tell(told);
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
  keep(new Blob(pieces, { type: about.type }), about.name);
  tell(about.whole);
  return "";
}

function keep(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // when the browser has surely begun to read it
}
