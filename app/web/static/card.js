// A card's number is encrypted in the browser, for the key that the app offers, before it is sent: a compact JWE
// (RFC 7516). The field that it is typed into has no name, so no form ever submits its value.

async function seal(content, { jwk, alg, enc }) {
  const utf8 = (text) => new TextEncoder().encode(text);
  const base64url = (bytes) =>
    btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const { subtle } = crypto;
  const header = base64url(utf8(JSON.stringify({ alg, enc, kid: jwk.kid })));
  const contentKey = crypto.getRandomValues(new Uint8Array(32));
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const aes = await subtle.importKey("raw", contentKey, "AES-GCM", false, ["encrypt"]);
  const gcm = { name: "AES-GCM", iv, additionalData: utf8(header) };
  const sealed = await subtle.encrypt(gcm, aes, utf8(JSON.stringify(content)));
  const rsa = await subtle.importKey("jwk", jwk, { name: "RSA-OAEP", hash: "SHA-256" }, false, ["encrypt"]);
  const wrappedKey = await subtle.encrypt({ name: "RSA-OAEP" }, rsa, contentKey);
  const parts = [wrappedKey, iv, sealed.slice(0, -16), sealed.slice(-16)];
  return [header, ...parts.map(base64url)].join(".");
}

/** Return the fields of a form, with the typed card number encrypted; throws an error with a message for people. */
export async function withSealedCard(form, fields) {
  const field = form.querySelector("[data-seals]");
  const number = field?.value.trim();
  if (!number) return fields;
  const { seals, jwk, alg, enc, failed } = field.dataset;
  try {
    const content = { number, for: field.dataset.for }; // for this payout and no other
    return [...fields, [seals, await seal(content, { jwk: JSON.parse(jwk), alg, enc })]];
  } catch {
    throw new Error(failed);
  }
}
