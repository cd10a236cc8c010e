// Requests of parts of pages, with the Dashboard's token, and what is said when one fails.

import { LONGEST_WAIT, NoToken, dashboardOrigin, getToken, languageKnown, saleorApiUrl } from "./bridge.js";
import { base } from "./place.js";

const root = document.documentElement;
let requestedIn = null; // the language of the newest request

/** Return the language of the newest request; null before the first. */
export function requestedLanguage() {
  return requestedIn;
}

/** Fetch the part of a page, below its path; a token that has expired is replaced once. */
export async function request(path, options, refused = null) {
  const token = await getToken(refused);
  await languageKnown();
  requestedIn = root.dataset.locale ?? root.lang;
  const headers = { Authorization: `Bearer ${token}`, "Saleor-Api-Url": saleorApiUrl };
  headers["Dashboard-Origin"] = dashboardOrigin();
  if (root.dataset.locale) headers["Accept-Language"] = root.dataset.locale;
  const signal = AbortSignal.timeout(LONGEST_WAIT);
  const how = { signal, ...options, headers, credentials: "omit", redirect: "error" };
  const answer = await fetch(`${base}/parts${path}`, how);
  // A token is valid for minutes, and an expired one has no effect: retry once with another.
  return answer.status === 401 && refused === null ? request(path, options, token) : answer;
}

/** Return whether what was refused may work in a moment: it was too slow, there were too many, or a server failed. */
export function mayWorkLater({ status }) {
  return status >= 500 || status === 408 || status === 429;
}

/** Return the reason of a refusal, and the messages of the invalid fields. */
export async function readRefusal(answer) {
  const { message = root.dataset.failed, fields = {} } = (await answer.json()).detail;
  return { message, fields };
}

/**
 * Return the message for a missing token, a lost connection, or a response from a server between us and the app; what
 * an `action` has asked for may have been done all the same.
 */
export function errorMessage(error, action = null) {
  if (error instanceof NoToken) return root.dataset.silent;
  return action ? root.dataset.unanswered : root.dataset.failed;
}
