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
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(pieces, { type: answer.headers.get("Content-Type") }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // when the browser has surely begun to read it
}
