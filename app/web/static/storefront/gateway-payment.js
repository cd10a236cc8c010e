// <gateway-payment>: a shopper pays for a checkout or an order of a Saleor store. No dependencies, no build step.
//
// It talks to Saleor only. Which payment page there is, what became of a payment and why, the payment app answers through
// Saleor (docs/storefront.md). A card that is typed here is encrypted for the app's key before it goes anywhere.

const SESSION = `
  transaction {
    id checkout { id } order { id checkoutId }
    chargedAmount { amount } chargePendingAmount { amount } authorizedAmount { amount } authorizePendingAmount { amount }
    refundedAmount { amount } canceledAmount { amount }
  }
  transactionEvent { type pspReference message } data errors { code message }`;
const OFFER = /* GraphQL */ `
  mutation Offer($id: ID!, $gateway: String!, $data: JSON) {
    paymentGatewayInitialize(id: $id, paymentGateways: [{ id: $gateway, data: $data }]) {
      gatewayConfigs { data errors { code message } }
      errors { code message }
    }
  }`;
const START = /* GraphQL */ `
  mutation StartPayment($id: ID!, $amount: PositiveDecimal, $gateway: PaymentGatewayToInitialize!, $idempotencyKey: String) {
    transactionInitialize(id: $id, amount: $amount, paymentGateway: $gateway, idempotencyKey: $idempotencyKey) { ${SESSION} }
  }`;
const PROCESS = /* GraphQL */ `
  mutation HowDidItGo($transactionId: ID!, $data: JSON) {
    transactionProcess(id: $transactionId, data: $data) { ${SESSION} }
  }`;

// What is to be paid: of an order where the id is one of an order.
const OWED = /* GraphQL */ `
  query WhatIsOwed($id: ID!) {
    checkout(id: $id) { channel { slug } authorizeStatus totalPrice { gross { amount currency } } totalBalance { amount } }
  }`;
const OWED_OF_ORDER = /* GraphQL */ `
  query WhatIsOwedOfOrder($id: ID!) {
    order(id: $id) {
      channel { slug } authorizeStatus total { gross { amount currency } } totalBalance { amount } totalAuthorized { amount }
    }
  }`;
const SAVED = /* GraphQL */ `
  query SavedCards($channel: String!) {
    me { storedPaymentMethods(channel: $channel) { id paymentMethodId name creditCardInfo { expMonth expYear } } }
  }`;
const DELETE = /* GraphQL */ `
  mutation DeleteCard($id: ID!, $channel: String!) {
    storedPaymentMethodRequestDelete(id: $id, channel: $channel) { result errors { code message } }
  }`;

const ATTRIBUTES = [
  "saleor-api-url", "checkout-id", "return-url", "gateway-id", "mode", "amount", "language", "label", "country", "app-url", "no-qr",
];
const REQUIRED = ATTRIBUTES.slice(0, 3);

// Milliseconds. While nothing is final, each question makes the app ask the gateway.
const ANSWER_WITHIN = 45_000;
const FIRST_PAUSE = 3_000;
const LONGEST_PAUSE = 15_000;
const OFFLINE_PAUSE = 30_000;
const PATIENCE = { back: 12_000, waiting: 180_000, phone: 3_600_000 };
const MISSES_ALLOWED = 4; // a network may hiccup
const LEAVES_WITHIN = 10_000; // a slow network, until the payment page answers

// Codes of the app whose messages are written for shoppers, in their language. All others are for developers.
const FOR_SHOPPERS = new Set([
  "ALREADY_PAID", "AMOUNT_CHANGED", "AMOUNT_NOT_ACCEPTED", "AMOUNT_TOO_HIGH", "BEING_CONFIRMED", "BUSY",
  "CREATION_UNKNOWN", "DECLINED", "DETAILS_NOT_ACCEPTED", "INVALID_CARD", "PAYMENT_IN_PROGRESS", "SAVED_CARD_UNUSABLE",
  "STORE_MOVED", "STORE_UNAVAILABLE", "TRY_AGAIN", "UNDER_REVIEW",
]);
// Nothing that a shopper does now changes these: neither another attempt nor another question.
const NO_OTHER_ATTEMPT = new Set([
  "4000", "4124", "4139", "4150", "4151", "4152", "AMOUNT_NOT_ACCEPTED", "APP_ERROR", "STORE_UNAVAILABLE", "TOO_LONG",
]);
const STANDS_STILL = new Set(["UNDER_REVIEW", "STORE_MOVED"]);
// An earlier attempt covers the checkout, also one whose answer got lost: whoever completes it hears so from Saleor.
const COVERED = new Set(["ALREADY_PAID", "INVALID_AMOUNT"]);
// More was requested than is left to pay, and the answer says how much that is. Saleor's default amount ignores gift cards.
const TOO_HIGH = new Set(["ALREADY_PAID", "AMOUNT_TOO_HIGH"]);
const CLOSED = new Set(["4149", "6007"]);
// Something else is happening to what is to be paid: that the shop received no money, nobody can say yet.
const UNDER_WAY = new Set(["CHECKOUT_COMPLETION_IN_PROGRESS", "PAYMENT_IN_PROGRESS"]);
// Saleor knows no such transaction: what an address names, anybody may have typed.
const NO_TRANSACTION = new Set(["GRAPHQL_ERROR", "INVALID", "NOT_FOUND"]);

// What the wallets accept for the gateway (docs/storefront.md, "Apple Pay and Google Pay").
const NETWORKS = ["VISA", "MASTERCARD"];
const GOOGLE_PAY = { apiVersion: 2, apiVersionMinor: 0 };
const GOOGLE_CARD = { type: "CARD", parameters: { allowedAuthMethods: ["PAN_ONLY", "CRYPTOGRAM_3DS"], allowedCardNetworks: NETWORKS } };

const TEXTS = {
  en: {
    loading: ["One moment", "The payment is being prepared."],
    ready: ["Payment", "You pay on the payment page, and come back here."],
    card: ["Payment by card", "Your card is encrypted before it leaves this page."],
    choose: ["Payment", "Choose how you want to pay."],
    opening: ["One moment", "The payment page is being opened."],
    paying: ["One moment", "Your payment is being made. Please do not close this page."],
    phone: ["Pay with your phone", "Scan the code with your phone's camera. This page notices when you have paid."],
    waiting: ["Checking your payment", "This usually takes a few seconds. The page updates automatically."],
    slow: ["No confirmation yet", "If you have paid, do not pay again."],
    unpaid: ["Not paid yet", "You can go on to the payment page."],
    paid: ["Payment received", "Thank you! The shop takes it from here."],
    part: ["A part is paid", "Left to pay:"],
    already: ["Nothing is left to pay", "This has already been paid. Please do not pay again."],
    reserved: ["Amount reserved", "The amount is on hold on your card. The shop will charge it when it confirms your order."],
    declined: ["The payment did not go through", "The shop received no money."],
    expired: ["This payment is closed", "The time to pay ran out, or the payment was cancelled."],
    unavailable: ["This way to pay is not available", "Please choose another one, or ask the shop."],
    network: ["No connection", "The shop does not answer. Please try again: you will not pay twice."],
    setup: ["This payment form is not set up", "Missing or wrong: "],
    pay: "Pay",
    done: "Paid",
    held: "Reserved",
    again: "Try again",
    check: "Check again",
    showCode: "Pay with your phone: show the QR code",
    codeIs: "QR code of the payment page",
    number: ["Card number", "The card number is not valid. Please check it."],
    expiry: ["Expiry date (MM/YY)", "The card's expiry date is not valid. Please check it."],
    cvv: ["Security code", "The card's security code is not valid: it has three or four digits. Please check it."],
    saved: "Your saved cards",
    another: "Another way to pay",
    keep: "Save my card for the next time",
    delete: "Delete",
    sure: "Really delete",
    deleted: "The card is deleted.",
    undeleted: "The card was not deleted. Please try again.",
    4001: "The card has expired. Please use another card.",
    4009: "There is not enough money on the card. Please top it up or use another card.",
    4010: "This card has reached its limit on the number of payments. Please use another card or try again later.",
    4012: "This card's amount limit is exceeded. Please use another card or try again later.",
    4144: "The card data is not correct. Please check it and try again.",
    4147: "The time to confirm the payment with your bank has run out. Please try again.",
    4149: "The payment page has expired. Please try again.",
  },
  uk: {
    loading: ["Зачекайте хвилинку", "Готуємо оплату."],
    ready: ["Оплата", "Ви перейдете на сторінку оплати й повернетеся сюди."],
    card: ["Оплата карткою", "Дані картки шифруються ще до того, як залишать цю сторінку."],
    choose: ["Оплата", "Виберіть, як хочете заплатити."],
    opening: ["Зачекайте хвилинку", "Відкриваємо сторінку оплати."],
    paying: ["Зачекайте хвилинку", "Опрацьовуємо вашу оплату. Будь ласка, не закривайте цю сторінку."],
    phone: ["Заплатіть телефоном", "Наведіть камеру телефона на код. Ця сторінка сама дізнається, що ви заплатили."],
    waiting: ["Перевіряємо оплату", "Зазвичай це триває кілька секунд. Сторінка оновиться сама."],
    slow: ["Відповіді ще немає", "Якщо ви вже заплатили, не платіть удруге."],
    unpaid: ["Ще не оплачено", "Можна перейти на сторінку оплати."],
    paid: ["Оплату отримано", "Дякуємо! Далі замовленням займеться магазин."],
    part: ["Частину сплачено", "Залишилося сплатити:"],
    already: ["Платити більше нічого", "Це вже сплачено. Будь ласка, не платіть ще раз."],
    reserved: ["Суму зарезервовано", "Гроші заблоковано на вашій картці. Магазин спише їх, коли підтвердить замовлення."],
    declined: ["Оплата не пройшла", "Магазин не отримав грошей."],
    expired: ["Цей платіж закрито", "Час на оплату минув, або платіж скасовано."],
    unavailable: ["Цей спосіб оплати недоступний", "Виберіть, будь ласка, інший або зверніться до магазину."],
    network: ["Немає з’єднання", "Магазин не відповідає. Спробуйте ще раз: двічі ви не заплатите."],
    setup: ["Форму оплати не налаштовано", "Бракує або неправильно вказано: "],
    pay: "Оплатити",
    done: "Сплачено",
    held: "Зарезервовано",
    again: "Спробувати ще раз",
    check: "Перевірити ще раз",
    showCode: "Оплата телефоном: показати QR-код",
    codeIs: "QR-код сторінки оплати",
    number: ["Номер картки", "Номер картки неправильний. Будь ласка, перевірте його."],
    expiry: ["Термін дії (ММ/РР)", "Термін дії картки неправильний. Будь ласка, перевірте його."],
    cvv: ["Код безпеки", "Код безпеки картки неправильний: він має три або чотири цифри. Будь ласка, перевірте його."],
    saved: "Ваші збережені картки",
    another: "Заплатити інакше",
    keep: "Зберегти мою картку на наступний раз",
    delete: "Видалити",
    sure: "Так, видалити",
    deleted: "Картку видалено.",
    undeleted: "Картку не видалено. Спробуйте ще раз.",
    4001: "Термін дії картки закінчився. Будь ласка, використайте іншу картку.",
    4009: "На картці недостатньо коштів. Будь ласка, поповніть її або використайте іншу картку.",
    4010: "Вичерпано ліміт кількості платежів цією карткою. Використайте іншу картку або спробуйте пізніше.",
    4012: "Перевищено ліміт суми для цієї картки. Використайте іншу картку або спробуйте пізніше.",
    4144: "Дані картки неправильні. Будь ласка, перевірте їх і спробуйте ще раз.",
    4147: "Час на підтвердження в банку вичерпано. Будь ласка, спробуйте ще раз.",
    4149: "Термін дії сторінки оплати минув. Будь ласка, спробуйте ще раз.",
  },
};

// A style sheet that is constructed needs no 'unsafe-inline' in the page's Content-Security-Policy.
// Names that begin with --_ are its own: a storefront's --accent, say, is left alone.
const STYLE = `
:host {
  --_accent: var(--gateway-payment-accent, #1d4ed8);
  --_on-accent: var(--gateway-payment-on-accent, #ffffff);
  --_text: var(--gateway-payment-text, #1c2024);
  --_quiet: var(--gateway-payment-quiet, #5a6169);
  --_line: var(--gateway-payment-line, #8a929b);
  --_field: var(--gateway-payment-field, #ffffff);
  --_bad: var(--gateway-payment-bad, #b3261e);
  --_good: var(--gateway-payment-good, #1b6e3a);
  --_radius: var(--gateway-payment-radius, 8px);
  --_gap: var(--gateway-payment-gap, 0.875rem);
  display: block; box-sizing: border-box; container-type: inline-size;
  min-block-size: var(--gateway-payment-min-height, 13rem);
  color: var(--_text); font: var(--gateway-payment-font, inherit); line-height: 1.4;
}
@supports (color: light-dark(#000, #fff)) { :host {
  --_accent: var(--gateway-payment-accent, light-dark(#1d4ed8, #a9c2ff));
  --_on-accent: var(--gateway-payment-on-accent, light-dark(#ffffff, #0a1b4d));
  --_text: var(--gateway-payment-text, light-dark(#1c2024, #eef0f2));
  --_quiet: var(--gateway-payment-quiet, light-dark(#5a6169, #b4bac1));
  --_line: var(--gateway-payment-line, light-dark(#8a929b, #79818a));
  --_field: var(--gateway-payment-field, light-dark(#ffffff, #16181b));
  --_bad: var(--gateway-payment-bad, light-dark(#b3261e, #ffb4ab));
  --_good: var(--gateway-payment-good, light-dark(#1b6e3a, #8fdcaa));
} }
:host(:is([state="paid"], [state="reserved"], [state="part"], [state="unavailable"])) { min-block-size: 0; }
:host([hidden]) { display: none; }
* { box-sizing: border-box; }
.away { visibility: hidden; }
[part="container"], [part="form"], [part="card"] { display: grid; gap: var(--_gap); margin: 0; padding: 0; border: 0; min-inline-size: 0; }
[part="message"] { min-block-size: 4.5em; border-radius: var(--_radius); }
[part="message"]:focus-visible { outline: 2px solid var(--_bad); outline-offset: 4px; }
[part="title"] { display: block; font-size: 1.125em; font-weight: 600; }
[part="text"] { color: var(--_quiet); }
:host(:is([state="paid"], [state="reserved"], [state="part"])) [part="title"] { color: var(--_good); }
:is(:host([state="declined"]), :host([state="expired"]), :host([state="error"])) [part="title"] { color: var(--_bad); }
[part="done"] {
  display: grid; place-items: center; min-block-size: 2.75rem; padding: 0.5em 1.25em; font-weight: 600;
  color: var(--_good); border: 1px solid; border-radius: var(--_radius);
}
[part="form"] { align-content: start; }
[part="card"] { grid-template-columns: 1fr 1fr; align-items: start; }
[part="field"] { display: grid; gap: 0.25em; }
[part="field"]:first-child { grid-column: 1 / -1; }
[part="field"] label { font-size: 0.875em; }
[part="input"] {
  inline-size: 100%; min-block-size: 2.75rem; padding: 0.5em 0.75em; font: inherit; color: inherit;
  background: var(--_field); border: 1px solid var(--_line); border-radius: var(--_radius);
}
[part="input"][aria-invalid="true"] { border-color: var(--_bad); }
[part="field-error"] { min-block-size: 2.8em; font-size: 0.8125em; color: var(--_bad); }
[part="field"]:first-child [part="field-error"] { min-block-size: 1.4em; }
[part="wallets"]:empty { display: none !important; }
[part="wallets"] { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: 0.5em; }
[part="wallet-button"] { inline-size: 100%; background: #000; color: #fff; border-color: light-dark(#000, #fff); }
@supports (-webkit-appearance: -apple-pay-button) {
  [part="wallet-button"][name="applePay"] { -webkit-appearance: -apple-pay-button; -apple-pay-button-style: black; font-size: 0; }
}
[part="saved-cards"] { display: grid; gap: 0.5em; margin: 0; padding: 0; border: 0; min-inline-size: 0; }
[part="saved-cards"] legend { padding: 0 0 0.25em; font-size: 0.875em; }
[part="saved-card"] {
  display: flex; align-items: center; justify-content: space-between; gap: 0.5em; padding: 0 0 0 0.75em;
  background: var(--_field); border: 1px solid var(--_line); border-radius: var(--_radius);
}
[part="saved-card"] label, [part="consent"] { display: flex; flex: 1; align-items: center; gap: 0.625em; min-block-size: 2.75rem; cursor: pointer; }
[part="saved-card"] label { padding-block: 0.25em; }
input:is([type="radio"], [type="checkbox"]) { flex: none; inline-size: 1.125rem; block-size: 1.125rem; margin: 0; accent-color: var(--_accent); }
[hidden] { display: none !important; }
button {
  min-block-size: 2.75rem; padding: 0.5em 1.25em; font: inherit; font-weight: 600; cursor: pointer;
  border: 1px solid transparent; border-radius: var(--_radius);
}
[part="button"] { background: var(--_accent); color: var(--_on-accent); }
[part="card-delete"] { padding: 0.5em; background: none; color: var(--_quiet); font-weight: 400; text-decoration: underline; }
button[aria-disabled="true"] { cursor: progress; opacity: 0.6; }
:is(button, input):focus-visible { outline: 2px solid var(--_accent); outline-offset: 2px; }
[part="qr"] { display: none; place-items: center; inline-size: 11rem; block-size: 11rem; }
[part="qr-button"] { inline-size: 100%; block-size: 100%; background: none; color: inherit; border: 1px dashed var(--_line); }
[part="qr-code"] { inline-size: 100%; block-size: 100%; padding: 0.5rem; background: #fff; border-radius: var(--_radius); }
@container (min-width: 32rem) {
  [part="container"] { grid-template-columns: minmax(0, 1fr) auto; grid-template-rows: auto 1fr; }
  [part="qr"]:not([hidden]) { display: grid; grid-area: 1 / 2 / 3 / 3; }
}`;

// The app that serves this file draws the QR codes, too. Whoever serves it from elsewhere says `app-url`.
const SERVED_BY = /^(https?:\/\/.*\/)static\/(?:[0-9a-f]+\/)?gateway-payment\.js/.exec(import.meta.url)?.[1];

/** A node with its properties, attributes and children: text stays text, nothing is read as HTML. */
function node(tag, { on = {}, ...attributes } = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  for (const [name, listener] of Object.entries(on)) made.addEventListener(name, listener);
  made.append(...children);
  return made;
}

function parsed(text, base) {
  try {
    return new URL(text, base);
  } catch {
    return null;
  }
}

/** An address that a browser may be sent to: https, or this machine's own. Else null. */
function safeAddress(text) {
  const url = parsed(text);
  const here = ["localhost", "127.0.0.1", "[::1]"].includes(url?.hostname);
  return url?.protocol === "https:" || (url?.protocol === "http:" && here) ? url.href : null;
}

const isWebAddress = (text) => /^https?:$/.test(parsed(text, document.baseURI)?.protocol);

const sleep = (milliseconds, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), reject(signal.reason)), { once: true });
  });

const happens = (isSo, target, event, signal) =>
  new Promise((resolve) => {
    if (isSo) return resolve();
    target.addEventListener(event, resolve, { once: true, signal });
  });
// Nobody waits on a page out of sight, and without a network nothing is found out. But some browsers say for ever that
// there is none.
const inReach = async (signal) => {
  await happens(!document.hidden, document, "visibilitychange", signal);
  if (!navigator.onLine) await Promise.race([happens(false, window, "online", signal), sleep(OFFLINE_PAUSE, signal)]);
};

// One attempt to pay for each checkout: the key that its requests share, and its transaction once there is one. Kept in
// the tab, so that a reload goes on with the same attempt. Where storage is forbidden or full, memory has to do.
const attempts = new Map();
const slot = (checkoutId) => `gateway-payment:${checkoutId}`;
function recall(checkoutId) {
  if (attempts.has(checkoutId)) return attempts.get(checkoutId);
  try {
    return JSON.parse(sessionStorage.getItem(slot(checkoutId)));
  } catch {
    return null;
  }
}
function remember(checkoutId, attempt) {
  try {
    if (attempt) sessionStorage.setItem(slot(checkoutId), JSON.stringify(attempt));
    else sessionStorage.removeItem(slot(checkoutId));
    attempts.delete(checkoutId);
  } catch {
    attempts.set(checkoutId, attempt);
  }
}
// Random rather than crypto.randomUUID(), which is missing on plain http.
const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

const pageIsLoaded = () =>
  document.readyState === "complete" || new Promise((resolve) => addEventListener("load", resolve, { once: true }));

const isOrder = (id) => {
  try {
    return atob(id).startsWith("Order:");
  } catch {
    return false;
  }
};

/** What nobody has paid yet; undefined where a part of a checkout is reserved: shoppers are not told how much that is. */
function leftToPay({ authorizeStatus, totalBalance, totalAuthorized }, total) {
  if (!total || !totalBalance) return undefined;
  if (authorizeStatus === "FULL") return 0;
  const left = Math.max(Number((-totalBalance.amount - (totalAuthorized?.amount ?? 0)).toFixed(3)), 0);
  return !totalAuthorized && authorizeStatus === "PARTIAL" && left === total.amount ? undefined : left;
}

/** Whether Saleor says that a transaction pays for another checkout or order: an address may name any. */
function isOfAnother({ checkout, order }, id) {
  const paysFor = checkout?.id ?? (isOrder(id) ? order?.id : order?.checkoutId);
  return Boolean(paysFor) && paysFor !== id;
}

// What a transaction has of the shopper's money, and what it had of it before.
const DONE = ["chargedAmount", "authorizedAmount"];
const HELD = [...DONE, "chargePendingAmount", "authorizePendingAmount"];
const MOVED = [...HELD, "refundedAmount", "canceledAmount"];

// How a session has ended. Saleor names the first outcome that it heard of, for good, and by itself. But after a decline
// another card can pay on the same page, and what was at the bank can fail: that shows in the transaction's amounts.
function outcomeOf(first, transaction) {
  const holds = (names) => names.some((name) => transaction[name]?.amount > 0);
  if (first === "REQUEST" && MOVED.every((name) => transaction[name]?.amount === 0)) return "FAILURE";
  if (first !== "FAILURE" && first !== "REQUEST") return first;
  return holds(DONE) ? "SUCCESS" : holds(HELD) ? "REQUEST" : first;
}

/** Where a payment stands, read from what Saleor answered (docs/storefront.md, "What an event means"). */
function standing({ transaction, transactionEvent: event, data, errors }) {
  if (!transaction || !event) return { is: "declined", code: errors[0]?.code ?? "APP_ERROR", said: errors[0]?.message };
  const [, flow, first] = /^(CHARGE|AUTHORIZATION)_(.*)$/.exec(event.type) ?? [];
  const outcome = outcomeOf(first, transaction);
  const told = data?.errors?.[0];
  const known = { transactionId: transaction.id, reference: event.pspReference };
  if (outcome === "SUCCESS" || outcome === "REQUEST") {
    return { ...known, is: flow === "CHARGE" ? "paid" : "reserved", confirmed: outcome === "SUCCESS" };
  }
  const others = data?.errors?.slice(1);
  const why = { code: told?.code, said: told?.message, field: told?.field, retryAfter: told?.retryAfter, others };
  const left = TOO_HIGH.has(told?.code) ? told.amountToPay : 0;
  if (outcome === "FAILURE" && event.pspReference) {
    // Saleor answers by itself once it has heard of a failure. Then the code stands in the words for staff only.
    const code = why.code ?? /\[(\d{4})\]/.exec(event.message)?.[1] ?? "DECLINED";
    return { ...known, is: CLOSED.has(code) ? "expired" : "declined", ...why, code, left };
  }
  const url = data?.redirectUrl ?? data?.checkoutUrl;
  if (url) return { ...known, is: "open", url, expiresAt: data.expiresAt, bank: Boolean(data.redirectUrl) };
  return { ...known, is: "waiting", ...why }; // that Saleor could not reach the app is no failure either
}

/** A compact JWE (RFC 7516) of the card, for the key that the app offers. */
async function sealCard(content, { jwk, alg, enc }) {
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
  return [header, ...[wrappedKey, iv, sealed.slice(0, -16), sealed.slice(-16)].map(base64url)].join(".");
}

function browserFingerprint() {
  return {
    browserColorDepth: String(screen.colorDepth),
    browserScreenHeight: String(screen.height),
    browserScreenWidth: String(screen.width),
    browserJavaEnabled: String(navigator.javaEnabled()),
    browserLanguage: navigator.language,
    browserTimeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    browserTimeZoneOffset: String(new Date().getTimezoneOffset()),
    browserAcceptHeader: "*/*",
    browserUserAgent: navigator.userAgent,
  };
}

/** What is typed, in the digits of a Latin keyboard: others have their own (Arabic, Hindi), or wide ones (Japanese). */
function inPlainDigits(text) {
  const isDigit = (code) => /\p{Nd}/u.test(String.fromCodePoint(code));
  const valueOf = (digit) => {
    const code = digit.codePointAt(0);
    let value = 0; // those of a script stand in a row, from its zero
    while (isDigit(code - value - 1)) value += 1;
    return value;
  };
  return text.normalize("NFKC").replace(/\p{Nd}/gu, valueOf);
}

function passesLuhn(number) {
  const digits = [...number].reverse().map(Number);
  const sum = digits.reduce((total, digit, place) => total + (place % 2 ? (digit * 2) % 10 + (digit > 4 ? 1 : 0) : digit), 0);
  return sum % 10 === 0;
}

/** What is typed, and which of the fields cannot be right. */
function readCard(number, expiry, cvv) {
  const wrong = [];
  const digits = number.replace(/[ -]/g, "");
  if (!/^[1-9]\d{11,18}$/.test(digits) || !passesLuhn(digits)) wrong.push("number");
  const [, expMonth, expYear] = /^(0?[1-9]|1[0-2])\s*[/. -]?\s*((?:20)?\d{2})$/.exec(expiry.trim()) ?? [];
  // Good until the end of its month, wherever on earth that ends last.
  const lastDay = new Date(Date.UTC(2000 + Number(expYear?.slice(-2)), Number(expMonth), 1, 12));
  if (!expMonth || lastDay < new Date()) wrong.push("expiry");
  if (!/^\d{3,4}$/.test(cvv.trim())) wrong.push("cvv");
  return { card: { number: digits, expMonth, expYear, cvv: cvv.trim() }, wrong };
}

// Rendered on a server it is imported, too, where there are no elements.
export class GatewayPaymentElement extends (globalThis.HTMLElement ?? Object) {
  static observedAttributes = ATTRIBUTES;

  #root = this.attachShadow({ mode: "open" });
  #parts = {};
  #turn = null; // AbortController of what is being done; one thing at a time
  #busy = false;
  #press = null; // what the button does next
  #attempt = null;
  #open = null; // a payment page that can be paid
  #offer = null;
  #owed = null; // what Saleor says of the checkout
  #cards = []; // the signed-in customer's
  #token = null;
  #google = null; // its client, once its script is there
  #retry = null; // a wallet's payment whose answer was lost
  #saidMissing = "";
  #acted = false; // the shopper has pressed something: what comes of it gets the focus

  /** What the storefront knows of the shopper beside what the checkout says: `customer` of the app's `data`. */
  customer = this.customer ?? null; // it may have been set before this file was loaded

  constructor() {
    super();
    const early = this.customerToken;
    if (!Object.hasOwn(this, "customerToken")) return;
    delete this.customerToken; // it was set before this file was loaded, and would hide the setter
    this.#token = early;
  }

  /** The signed-in customer's access token for Saleor, or a function that returns it (or a promise of it). */
  get customerToken() {
    return this.#token;
  }

  set customerToken(token) {
    const before = this.#token;
    this.#token = token ?? null;
    if (this.isConnected && typeof token !== "function" && before !== this.#token) this.#restart();
  }

  /** Where the payment stands, as in the attribute `state`. */
  get state() {
    return this.getAttribute("state");
  }

  connectedCallback() {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    this.#root.adoptedStyleSheets = [sheet];
    window.addEventListener("pageshow", this.#shownAgain);
    this.#restart();
  }

  disconnectedCallback() {
    window.removeEventListener("pageshow", this.#shownAgain);
    this.#turn?.abort();
  }

  attributeChangedCallback(name, before, after) {
    if (before === after || !this.isConnected) return;
    if (name === "amount" && this.state === "part") this.reset(); // another part is another attempt
    else this.#restart();
  }

  /** Ask again what is to be paid and how: when the basket has changed, say, or the customer has signed in. */
  refresh() {
    if (this.isConnected) this.#restart();
  }

  /** Forget the attempt and begin anew, over what is left to pay: when the basket has grown after it was paid, say. */
  reset() {
    this.#forget();
    this.#leaveTheOldOne();
    this.#restart();
  }

  // Back from the payment page by the browser's button: the page is as it was left, the payment perhaps is not.
  #shownAgain = ({ persisted }) => persisted && this.#restart();

  #restart() {
    this.#turn?.abort();
    const { signal } = (this.#turn = new AbortController());
    // A framework sets attributes one by one, and listens after that.
    queueMicrotask(() => signal.aborted || this.#run(() => this.#start()));
  }

  /** Do one thing, and nothing else meanwhile. What goes wrong on the way is the network's. */
  async #run(task) {
    this.#turn?.abort();
    const { signal } = (this.#turn = new AbortController());
    this.#busy = true;
    try {
      await task();
    } catch (error) {
      if (signal.aborted) return;
      const card = !this.#attempt?.transactionId;
      this.#show("error", "network", { press: () => this.#goOn(), button: "again", card });
      this.#tell("error", { kind: "network", message: String(error?.message ?? error) });
    }
    if (!signal.aborted) this.#free();
  }

  #free() {
    this.#busy = false;
    this.#pressable(true);
  }

  // A button that is disabled outright would lose the focus.
  #pressable(now) {
    for (const each of this.#root.querySelectorAll("button")) each.setAttribute("aria-disabled", String(!now));
  }

  // The same attempt again, from where it is known to stand.
  #goOn() {
    if (!this.#offer) return this.#start();
    if (this.#retry) return this.#retry();
    return this.#attempt?.transactionId ? this.#look(PATIENCE.waiting) : this.#pay();
  }

  async #start() {
    const returned = new URLSearchParams(location.search).get("transactionId");
    this.#offer = this.#open = this.#retry = null;
    this.#acted = false;
    const own = (this.#attempt = recall(this.#said("checkout-id")));
    if (returned && returned !== own?.transactionId) this.#attempt = { key: newKey(), transactionId: returned };
    this.#build({ card: this.#said("mode") === "direct" && !this.#attempt?.transactionId });
    const wrong = REQUIRED.filter((name) => !this.#said(name) || (name.endsWith("url") && !isWebAddress(this.#said(name))));
    if (Number.isNaN(this.#part)) wrong.push("amount");
    if (wrong.length) {
      const names = wrong.join(", ");
      this.#show("error", "setup", { text: this.#words.setup[1] + names });
      console.error(`<gateway-payment>: these attributes are missing or wrong: ${names}`);
      return this.#tell("error", { kind: "setup", message: names, attributes: wrong });
    }
    this.#show("loading", "loading");
    let now = this.#attempt?.transactionId ? await this.#process() : null;
    while (now?.is === "missing") {
      this.#leaveTheOldOne();
      if (this.#attempt === own) this.#forget();
      else this.#attempt = own;
      now = this.#attempt?.transactionId ? await this.#process() : null;
    }
    if (now && ["paid", "reserved"].includes(now.is)) return this.#conclude(now);
    await this.#fetchOwed();
    // Paid in another way, or before this page was opened: whatever is begun would be refused.
    if (this.#owed?.left === 0 && now?.is !== "waiting") return this.#nothingLeft("ALREADY_PAID");
    if (!(await this.#fetchOffer())) return undefined;
    await this.#fetchCards();
    if (!now || (now.is === "open" && !returned)) return this.#ready(now);
    return now.is === "open" ? this.#follow(now, PATIENCE.back) : this.#conclude(now);
  }

  /** Ask whether and how can be paid; say so and return false when not. */
  async #fetchOffer() {
    const { gatewayConfigs, errors } = await this.#ask(OFFER, { id: this.#said("checkout-id"), gateway: this.#gateway });
    const { data, errors: refused = [] } = gatewayConfigs?.[0] ?? {};
    if (data?.available) {
      this.#offer = data;
      return true;
    }
    const [error] = [...(data?.errors ?? []), ...refused, ...errors, { code: "NOT_FOUND", message: "no such gateway" }];
    console.error(`<gateway-payment>: not available: ${error.code}: ${error.message}`);
    this.#show("unavailable", "unavailable");
    this.#tell("unavailable", { code: error.code, message: error.message });
    return false;
  }

  /** Ask what is to be paid. That it is not told hinders nobody from paying. */
  async #fetchOwed() {
    const id = this.#said("checkout-id");
    const told = await this.#optional(this.#ask(isOrder(id) ? OWED_OF_ORDER : OWED, { id }));
    const total = (told?.totalPrice ?? told?.total)?.gross;
    this.#owed = told && { channel: told.channel.slug, currency: total?.currency, left: leftToPay(told, total) };
  }

  /** Ask for the customer's cards, where the store keeps cards and knows the customer. */
  async #fetchCards() {
    this.#cards = [];
    if (!this.#token || !this.#offer.saveCard || !this.#owed) return;
    const me = await this.#optional(this.#ask(SAVED, { channel: this.#owed.channel }));
    const ours = `app:${this.#gateway}:`;
    this.#cards = (me?.storedPaymentMethods ?? []).filter(({ id }) => id.startsWith(ours));
  }

  async #optional(answer) {
    const { signal } = this.#turn;
    try {
      return await answer;
    } catch (error) {
      signal.throwIfAborted();
      console.error(`<gateway-payment>: ${error.message}`);
      return null;
    }
  }

  async #deleteCard({ id, paymentMethodId }) {
    const gone = await this.#optional(this.#ask(DELETE, { id, channel: this.#owed.channel }));
    const deleted = gone?.result === "SUCCESSFULLY_DELETED";
    if (deleted) this.#dropCard(paymentMethodId);
    else if (gone) console.error(`<gateway-payment>: ${gone.errors[0]?.code}: ${gone.errors[0]?.message}`);
    this.#ready(this.#open, this.#words[deleted ? "deleted" : "undeleted"]);
    this.#parts.message.focus();
  }

  #dropCard(paymentMethodId) {
    this.#cards = this.#cards.filter((card) => card.paymentMethodId !== paymentMethodId);
  }

  #ready(page = null, text = undefined) {
    this.#open = page;
    const card = this.#takesCards && !page?.bank; // a card that waits for its bank is not typed again
    this.#build({ card });
    const words = page ? "unpaid" : this.#cards.length ? "choose" : card ? "card" : "ready";
    this.#show("ready", words, { text, press: () => this.#pay(), code: !page?.bank });
    this.#tell("ready", { modes: this.#offer.modes ?? ["hosted"] });
    this.#sayWhatIsMissing();
  }

  /** Say on the console what is not offered here, and why: once for each beginning. */
  async #sayWhatIsMissing() {
    await pageIsLoaded();
    if (!this.#offer) return;
    const { card, saveCard } = this.#offer;
    const cards = {
      "saved cards": !this.#token ? "no `customerToken`" : !saveCard ? "the store keeps no cards, or not those of this customer" : "",
      "the card form": this.#said("mode") !== "direct" ? "" : !card ? "the store takes no cards on this page" : this.#takesCards ? "" : "the page is not served over https",
      "the QR code": this.hasAttribute("no-qr") || this.#showsCodes ? "" : "`app-url` is missing",
    };
    const missing = Object.entries({ ...cards, "Apple Pay": this.#noWallet("applePay"), "Google Pay": this.#noWallet("googlePay") });
    const said = missing.filter(([, reason]) => reason).map(([way, reason]) => `${way} (${reason})`).join(", ");
    if (said && said !== this.#saidMissing) console.info(`<gateway-payment>: not offered here: ${said}`);
    this.#saidMissing = said;
  }

  /** Why a wallet has no button; "" if it has one. */
  #noWallet(name) {
    if (!this.#offer.wallets?.[name]) return "the store does not offer it";
    if (!globalThis.crypto?.subtle) return "the page is not served over https";
    if (!(this.#amount > 0)) return "the amount is not known";
    if (name === "googlePay") return globalThis.google?.payments?.api?.PaymentsClient ? "" : "the page has not loaded Google's script";
    try {
      return globalThis.ApplePaySession?.canMakePayments() ? "" : "this browser has no Apple Pay";
    } catch (error) {
      return error.message; // Apple's answer to a page that is not served over https
    }
  }

  /** Show a button for each wallet that can be used; Google's script may come with the rest of the page. */
  async #offerWallets() {
    const { wallets } = this.#parts;
    if (!this.#noWallet("applePay")) wallets.append(this.#walletButton("applePay", "Apple Pay"));
    if (!this.#offer.wallets?.googlePay) return;
    await pageIsLoaded();
    if (!wallets.isConnected || this.#noWallet("googlePay")) return;
    const client = new google.payments.api.PaymentsClient({ environment: this.#offer.wallets.googlePay.environment });
    const { result } = await client.isReadyToPay({ ...GOOGLE_PAY, allowedPaymentMethods: [GOOGLE_CARD] }).catch(() => ({}));
    if (!result) return console.info("<gateway-payment>: not offered here: Google Pay (Google cannot be used in this browser)");
    this.#google = client;
    const press = () => this.#pressWallet("googlePay");
    const look = { onClick: press, buttonType: "pay", buttonSizeMode: "fill", buttonLocale: this.#language, buttonRootNode: this.#root };
    wallets.append(client.createButton?.(look) ?? this.#walletButton("googlePay", "Google Pay"));
  }

  #walletButton(name, label) {
    const on = { click: () => this.#pressWallet(name) };
    return node("button", { part: "wallet-button", type: "button", name, lang: this.#language, on }, label);
  }

  #pressWallet(name) {
    if (this.#busy || !this.#press) return;
    this.#acted = true;
    this.#run(() => (name === "applePay" ? this.#payWithApple() : this.#payWithGoogle()));
  }

  // Apple opens its sheet only while the shopper's press is being handled: nothing is awaited before.
  async #payWithApple() {
    const { currency } = this.#owed;
    const { signal } = this.#turn;
    const amount = this.#amount;
    const total = { label: this.#offer.wallets.applePay.merchantName, amount: amount.toFixed(2), type: "final" };
    const sheet = new ApplePaySession(3, {
      countryCode: this.#country,
      currencyCode: currency,
      supportedNetworks: NETWORKS.map((name) => ({ VISA: "visa", MASTERCARD: "masterCard" })[name]),
      merchantCapabilities: ["supports3DS"],
      total,
    });
    const given = new Promise((resolve) => {
      sheet.onvalidatemerchant = async ({ validationURL }) => {
        const session = await this.#optional(this.#merchantSession(validationURL));
        if (session) return sheet.completeMerchantValidation(session);
        sheet.abort();
        return resolve(null);
      };
      sheet.onpaymentauthorized = ({ payment }) => resolve(payment.token);
      sheet.oncancel = () => resolve(null);
    });
    sheet.begin();
    const token = await given;
    if (!token) return signal.aborted ? undefined : this.#ready(this.#open);
    const done = ({ is }) =>
      sheet.completePayment(["paid", "reserved", "open"].includes(is) ? ApplePaySession.STATUS_SUCCESS : ApplePaySession.STATUS_FAILURE);
    return this.#run(() => this.#payWithWallet("applePay", token, amount, done));
  }

  async #merchantSession(validationUrl) {
    const variables = { id: this.#said("checkout-id"), gateway: this.#gateway, data: { applePay: { validationUrl } } };
    const { data } = (await this.#ask(OFFER, variables)).gatewayConfigs[0];
    if (!data.applePay) throw new Error(`Apple Pay: ${data.errors?.[0]?.code}: ${data.errors?.[0]?.message}`);
    return data.applePay.merchantSession;
  }

  async #payWithGoogle() {
    const { gateway, gatewayMerchantId, merchantId, merchantName } = this.#offer.wallets.googlePay;
    const { signal } = this.#turn;
    const amount = this.#amount;
    const tokenizationSpecification = { type: "PAYMENT_GATEWAY", parameters: { gateway, gatewayMerchantId } };
    let given;
    try {
      given = await this.#google.loadPaymentData({
        ...GOOGLE_PAY,
        merchantInfo: { merchantId, merchantName },
        allowedPaymentMethods: [{ ...GOOGLE_CARD, tokenizationSpecification }],
        transactionInfo: {
          totalPriceStatus: "FINAL",
          totalPrice: amount.toFixed(2),
          currencyCode: this.#owed.currency,
          countryCode: this.#country,
        },
      });
    } catch (error) {
      if (error.statusCode !== "CANCELED") console.error(`<gateway-payment>: Google Pay: ${error.statusCode ?? ""} ${error.statusMessage ?? error.message}`);
      return signal.aborted ? undefined : this.#ready(this.#open);
    }
    return this.#run(() => this.#payWithWallet("googlePay", given.paymentMethodData.tokenizationData.token, amount));
  }

  // A wallet's token pays once. Whether an answer was lost or a payment declined: what comes next is another attempt,
  // but the same request may be sent again. No more is asked for than the sheet has named, whatever the page says by now.
  async #payWithWallet(name, token, amount, done = () => {}) {
    const means = { by: name, content: { [name]: token }, amount, key: this.#offer.wallets.key };
    this.#forget();
    this.#retry = async () => {
      this.#show("waiting", "paying");
      let now = await this.#begin(means);
      if (now.code === "SEAL_OUTDATED" && (await this.#fetchOffer())) {
        this.#forget();
        now = await this.#begin({ ...means, key: this.#offer.wallets.key });
      }
      done(now);
      this.#retry = null;
      return now.is === "open" ? this.#leaveFor(now) : this.#conclude(now);
    };
    try {
      return await this.#retry();
    } catch (error) {
      done({ is: "error" });
      throw error;
    }
  }

  async #pay(phone = false) {
    const means = this.#means(phone);
    this.#attempt ??= recall(this.#said("checkout-id")); // another element of the page may have begun it
    const over = this.#open?.expiresAt && Date.parse(this.#open.expiresAt) < Date.now();
    const another = this.#attempt && (this.#attempt.by ?? "page") !== means.by;
    if (over || (another && !this.#open?.bank)) this.#forget();
    if (this.#open) return phone ? this.#showCode(this.#open) : this.#leaveFor(this.#open);
    this.#show("waiting", means.by.startsWith("page") ? "opening" : "paying", { card: Boolean(means.content) });
    let now = await this.#begin(means);
    if (now.code === "SEAL_OUTDATED" && (await this.#fetchOffer())) {
      this.#forget(); // the page was open for long: the key is another one by now
      now = await this.#begin(means);
    }
    if (now.code === "SAVED_CARD_UNUSABLE") this.#dropCard(means.data?.savedCardId);
    if (now.is !== "open") return this.#conclude(now);
    return phone ? this.#showCode(now) : this.#leaveFor(now);
  }

  /** What the shopper has chosen to pay with; `by` names it, so that an attempt with something else is another one. */
  #means(phone = false) {
    const { ways, fields, consent } = this.#parts;
    const savedCardId = phone ? null : ways?.querySelector(":checked")?.value;
    if (savedCardId) return { by: `saved ${savedCardId}`, data: { savedCardId } };
    const content = fields && !phone ? this.#readCard().card : null;
    const saveCard = Boolean(consent?.checked);
    return { by: `${content ? "card" : "page"}${saveCard ? " to keep" : ""}`, content, data: saveCard && { saveCard } };
  }

  /** transactionInitialize: the same key for the same attempt, whatever is pressed or lost on the way. */
  async #begin({ by, content, data, amount: agreed, key: sealFor = this.#offer.card }) {
    for (let first = true; ; first = false) {
      this.#attempt ??= { key: newKey(), by };
      this.#keep();
      const id = this.#said("checkout-id");
      const { signal } = this.#turn;
      const sealing = { ...content, at: new Date().toISOString(), for: id };
      const sealed = content && { card: await sealCard(sealing, sealFor) };
      const browser = !by.startsWith("page") && { browserFingerprint: browserFingerprint() };
      signal.throwIfAborted(); // encrypting is not interrupted
      const gateway = { id: this.#gateway, data: { ...this.#data, ...data, ...sealed, ...browser } };
      const { amount = agreed ?? this.#amount, key: idempotencyKey } = this.#attempt;
      const session = await this.#ask(START, { id, amount, gateway, idempotencyKey });
      if (first && session.errors.some(({ code }) => code === "UNIQUE")) {
        this.#forget(); // that attempt has ended, or the amount is another one by now
        continue;
      }
      const now = standing(session);
      if (now.left > 0 && !this.#attempt.amount) {
        // Nothing was opened or charged: the rest is another attempt. What is refused once more is told to the shopper.
        this.#attempt = { key: newKey(), by, amount: now.left };
        continue;
      }
      Object.assign(this.#attempt, { transactionId: now.transactionId, paid: amount });
      this.#keep();
      return now;
    }
  }

  async #process() {
    const { transactionId } = this.#attempt;
    const session = await this.#ask(PROCESS, { transactionId, data: this.#data });
    if (session.transaction && isOfAnother(session.transaction, this.#said("checkout-id"))) {
      console.error(`<gateway-payment>: ${transactionId} is of another checkout or order`);
      return { is: "missing", transactionId };
    }
    if (session.transaction) return standing(session);
    // Saleor did not ask the app: of the payment that says nothing.
    const [{ code, message } = {}] = session.errors;
    console.error(`<gateway-payment>: Saleor does not process ${transactionId}: ${code}: ${message}`);
    return { is: NO_TRANSACTION.has(code) ? "missing" : "waiting", transactionId, code };
  }

  /** Ask once it can be answered; where that fails as the browser has said, it is neither a miss nor the end of waiting. */
  async #processInReach() {
    const { signal } = this.#turn;
    for (;;) {
      await inReach(signal);
      try {
        return await this.#process();
      } catch (error) {
        if (signal.aborted || navigator.onLine) throw error;
      }
    }
  }

  async #look(patience) {
    this.#show("waiting", "waiting");
    const now = await this.#process();
    return now.is === "waiting" || now.is === "open" ? this.#follow(now, patience) : this.#conclude(now);
  }

  /** Send the browser to the payment page or to the bank. */
  async #leaveFor({ url, transactionId }) {
    const address = safeAddress(url);
    if (!address) return this.#conclude({ is: "declined", transactionId, code: "APP_ERROR", said: `unsafe address: ${url}` });
    this.#clearCard();
    this.#show("waiting", "opening");
    if (this.#tell("redirect", { transactionId, url: address })) location.assign(address);
    return this.#stay();
  }

  /** Go on where this page is not left: the bank's app has opened instead, or the storefront shows the page elsewhere. */
  async #stay() {
    const { signal } = this.#turn;
    await sleep(LEAVES_WITHIN, signal);
    const now = await this.#processInReach();
    if (now.is !== "open") return this.#conclude(now);
    this.#ready(now);
    this.#free(); // whoever has not paid there goes there again
    return this.#follow(now, PATIENCE.phone, true);
  }

  async #showCode(page) {
    const app = safeAddress(this.#said("app-url") || SERVED_BY);
    const address = new URL(`pay/${encodeURIComponent(page.reference)}.svg`, app.replace(/\/?$/, "/"));
    const code = node("img", { part: "qr-code", src: address.href, alt: this.#words.codeIs, width: "176", height: "176" });
    code.addEventListener("error", () => this.#restart()); // the page is closed, or the picture is not let in
    this.#parts.qr.replaceChildren(code);
    this.#open = page;
    this.#show("waiting", "phone", { press: () => this.#pay(), code: true });
    this.#tell("waiting", { transactionId: page.transactionId, reason: "phone" });
    this.#free(); // whoever would rather pay here presses the button
    return this.#follow(page, PATIENCE.phone, true);
  }

  /** Ask again, less and less often, until it is known or patience ends. */
  async #follow(now, patience, phone = false) {
    const { signal } = this.#turn;
    const back = patience === PATIENCE.back;
    if (!phone) this.#show("waiting", "waiting", { text: this.#shoppersWords(now) });
    if (!phone) this.#tell("waiting", { transactionId: now.transactionId, reason: "confirming", code: now.code });
    let misses = 0;
    for (let pause = FIRST_PAUSE, waited = 0; waited < patience; pause = Math.min(pause * 1.3, LONGEST_PAUSE)) {
      await sleep(pause, signal);
      waited += pause;
      try {
        now = await this.#processInReach();
        misses = 0;
      } catch (error) {
        if (signal.aborted || ++misses > MISSES_ALLOWED) throw error;
        continue;
      }
      if (now.is === "open" && (phone || back)) continue;
      if (now.is === "open") return this.#leaveFor(now);
      if (now.is !== "waiting" || STANDS_STILL.has(now.code)) return this.#conclude(now);
    }
    if (now.is === "open" && back) return this.#ready(now);
    return this.#show("waiting", "slow", { press: () => this.#look(PATIENCE.waiting), button: "check" });
  }

  /** Say how it ended, to the shopper and to the storefront. */
  #conclude(now) {
    const { is, transactionId, code, said } = now;
    if (is === "paid" || is === "reserved") return this.#covered(now);
    if (COVERED.has(code)) return this.#nothingLeft(code);
    if (is === "missing" || (code === "NOT_FOUND" && !transactionId)) return this.#beginAnew();
    const text = this.#shoppersWords(now);
    if (STANDS_STILL.has(code)) {
      this.#show("waiting", "waiting", { text });
      return this.#tell("waiting", { transactionId, reason: "review", code });
    }
    if (is === "waiting") return this.#follow(now, PATIENCE.waiting);
    // Ended: whatever comes next is another transaction, under another key.
    this.#forget();
    this.#build({ card: this.#takesCards });
    this.#clearCard("cvv");
    const again = !NO_OTHER_ATTEMPT.has(code) && { press: () => this.#payAgain(), button: "again", code: true };
    this.#show(is, UNDER_WAY.has(code) ? "slow" : is, { text, ...again });
    const field = { number: "number", expMonth: "expiry", expYear: "expiry", cvv: "cvv" }[now.field?.split(".").at(-1)];
    if (code === "INVALID_CARD" && field && this.#parts.fields) this.#mark([field]);
    for (const error of [{ code, message: said }, ...(now.others ?? [])]) {
      if (FOR_SHOPPERS.has(error.code) || /^\d{4}$/.test(error.code)) continue;
      console.error(`<gateway-payment>: ${error.code}: ${error.message}`);
    }
    return this.#tell("failed", { transactionId, code, message: text, retryAfter: now.retryAfter, details: said });
  }

  /** Say what is paid, and what is then left to pay. */
  async #covered({ is, transactionId, confirmed }) {
    this.#clearCard();
    await this.#fetchOwed();
    const { left: told, currency } = this.#owed ?? {};
    const { paid } = this.#attempt ?? {};
    // Of an order Saleor does not count what is reserved before the bank has confirmed it.
    const counts = confirmed || is === "paid" || !isOrder(this.#said("checkout-id"));
    const left = counts ? told : paid < told ? Number((told - paid).toFixed(3)) : undefined;
    const done = this.#words[is === "paid" ? "done" : "held"] + (paid && currency ? ` ${this.#money(paid)}` : "");
    if (!(left > 0)) {
      this.#show(is, is, { done });
      return this.#tell(is, { transactionId, confirmed });
    }
    const text = `${this.#words.part[1]} ${this.#money(left)}`;
    if (this.#said("amount")) this.#show("part", "part", { text, done });
    else {
      this.#forget();
      this.#leaveTheOldOne();
      if (await this.#fetchOffer()) this.#ready(null, `${done}. ${text}`);
    }
    return this.#tell("part", { transactionId, confirmed, left, currency });
  }

  #nothingLeft(code) {
    this.#forget();
    this.#clearCard();
    this.#show("paid", "already", { done: this.#words.done });
    return this.#tell("paid", { confirmed: false, code });
  }

  // What was to be paid is no longer there, an order perhaps by now: Saleor says what there is.
  #beginAnew() {
    this.#forget();
    this.#leaveTheOldOne();
    return this.#start();
  }

  #payAgain() {
    this.#leaveTheOldOne();
    return this.#pay();
  }

  // Neither a reload nor another beginning is to find the old attempt in the page's address.
  #leaveTheOldOne() {
    const address = new URL(location.href);
    if (!address.searchParams.has("transactionId")) return;
    address.searchParams.delete("transactionId");
    history.replaceState(history.state, "", address);
  }

  #shoppersWords({ is, code, said, field }) {
    // That a detail is missing the storefront is told; a card number in one is the shopper's to remove.
    const typed = code === "CARD_DATA_REFUSED" && field?.startsWith("data.customer.");
    const own = /^\d{4}$/.test(code ?? "") || FOR_SHOPPERS.has(code) || typed;
    const fallback = UNDER_WAY.has(code) ? "slow" : is in this.#words ? is : "declined";
    return (own && said) || this.#words[code] || this.#words[fallback][1];
  }

  async #ask(query, variables) {
    const request = new AbortController();
    const stop = () => request.abort();
    const timer = setTimeout(stop, ANSWER_WITHIN);
    const { signal } = this.#turn;
    signal.addEventListener("abort", stop);
    try {
      return await this.#answer(query, variables, request.signal);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    }
  }

  async #answer(query, variables, signal) {
    const token = await this.#readToken();
    const response = await fetch(this.#said("saleor-api-url"), {
      method: "POST",
      headers: { "Content-Type": "application/json", ...(token && { Authorization: `Bearer ${token}` }) },
      body: JSON.stringify({ query, variables }),
      signal,
    });
    const { data, errors } = await response.json();
    if (token && errors?.some(({ extensions }) => /Signature|Token/.test(extensions?.exception?.code))) {
      console.error("<gateway-payment>: Saleor refuses `customerToken`, so the shopper pays as a guest");
      this.#token = null;
      return this.#answer(query, variables, signal);
    }
    if (!data || errors) throw new Error(errors?.[0]?.message ?? `Saleor: HTTP ${response.status}`);
    return Object.values(data)[0];
  }

  async #readToken() {
    try {
      return typeof this.#token === "function" ? await this.#token() : this.#token;
    } catch (error) {
      console.error(`<gateway-payment>: \`customerToken\` fails (${error?.message ?? error}), so the shopper pays as a guest`);
      return null;
    }
  }

  #said(name) {
    return this.getAttribute(name)?.trim() ?? "";
  }

  get #gateway() {
    return this.#said("gateway-id") || "gateway.payments.app";
  }

  get #language() {
    const said = this.#said("language") || this.closest("[lang]")?.lang || document.documentElement.lang;
    const code = /^[a-z]{2,3}/i.exec(said)?.[0].toLowerCase() ?? "en";
    return ["ua", "ukr"].includes(code) ? "uk" : code; // a country's code and that of ISO 639-2, which pages name too
  }

  get #words() {
    return TEXTS[this.#language] ?? TEXTS.en;
  }

  /** What the button asks for; undefined: what Saleor takes for it. */
  get #amount() {
    const left = this.#owed?.left;
    const part = this.#part;
    return part ? Math.min(part, left ?? part) : left;
  }

  /** The part that the storefront wants to be paid; NaN: it says what is no amount, or may be two (1,000). */
  get #part() {
    const said = this.#said("amount");
    if (!said) return undefined;
    return (/^\d+(\.\d+|,\d\d?)?$/.test(said) && Number(said.replace(",", "."))) || NaN;
  }

  /** As the app writes it: `1,234.50 UAH`. */
  #money(amount) {
    const { currency } = this.#owed;
    const { maximumFractionDigits } = new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions();
    // A fraction is shown even of a currency without cents: nobody may be asked for more than they read.
    const decimals = maximumFractionDigits === 0 && !Number.isInteger(amount) ? 2 : maximumFractionDigits;
    const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
    const number = new Intl.NumberFormat(this.#language in TEXTS ? this.#language : "en", digits).format(amount);
    return `${number} ${currency}`;
  }

  get #country() {
    return this.#said("country") || "UA";
  }

  get #data() {
    const returnUrl = new URL(this.#said("return-url"), document.baseURI).href;
    return { returnUrl, language: this.#language, ...(this.customer && { customer: this.customer }) };
  }

  // Where the page is no secure context a browser encrypts nothing: then the payment page it is.
  get #takesCards() {
    return this.#said("mode") === "direct" && Boolean(this.#offer?.card && globalThis.crypto?.subtle);
  }

  get #showsCodes() {
    return !this.hasAttribute("no-qr") && Boolean(safeAddress(this.#said("app-url") || SERVED_BY));
  }

  #keep() {
    remember(this.#said("checkout-id"), this.#attempt);
  }

  #forget() {
    this.#attempt = this.#open = null;
    this.#keep();
  }

  /** Dispatch an event; false when a listener has prevented what follows. */
  #tell(name, detail) {
    const options = { detail, bubbles: true, composed: true, cancelable: name === "redirect" };
    return this.dispatchEvent(new CustomEvent(`gateway-payment-${name}`, options));
  }

  #build({ card }) {
    const words = this.#words;
    const cards = this.#open?.bank ? [] : this.#cards;
    const consent = Boolean(this.#token && this.#offer?.saveCard && !this.#open?.bank);
    const built = JSON.stringify([card, this.#language, cards, consent, Boolean(this.#open), this.#offer?.wallets]);
    if (this.#parts.built === built) return this.#offerCode();
    const title = node("strong", { part: "title" });
    const text = node("span", { part: "text" });
    const message = node("div", { part: "message", role: "status", tabindex: "-1" }, title, text);
    const button = node("button", { part: "button", type: "submit" });
    const fields = card ? this.#cardFields(words) : null;
    const ways = cards.length ? this.#savedCards(words, cards) : null;
    const wallets = node("div", { part: "wallets" });
    const keep = node("input", { type: "checkbox" });
    const asked = consent ? node("label", { part: "consent" }, keep, words.keep) : null;
    const form = node("form", { part: "form", novalidate: "", on: { submit: (event) => this.#submit(event) } });
    form.append(...[wallets, ways, fields?.set, asked, button].filter(Boolean));
    const qr = node("div", { part: "qr" });
    const done = node("div", { part: "done", hidden: "" });
    this.#root.replaceChildren(node("section", { part: "container", dir: "ltr", lang: words === TEXTS.uk ? "uk" : "en" }, message, form, done, qr));
    this.#parts = { built, title, text, message, button, form, qr, done, wallets, fields, ways, consent: consent ? keep : null, asked };
    this.#chosen();
    if (this.#offer && !this.#open?.bank) this.#offerWallets();
    return this.#offerCode();
  }

  #savedCards(words, cards) {
    const way = (value, text, checked) =>
      node("label", {}, node("input", { type: "radio", name: "way", value, ...(checked && { checked: "" }) }), text);
    const rows = cards.map((card, place) => {
      const { expMonth, expYear } = card.creditCardInfo ?? {};
      const until = expMonth ? ` · ${String(expMonth).padStart(2, "0")}/${String(expYear).slice(-2)}` : "";
      // Pressed once it asks, pressed again it deletes.
      const remove = node("button", { part: "card-delete", type: "button" });
      const say = (text) => {
        remove.textContent = text;
        remove.setAttribute("aria-label", `${text}: ${card.name}`);
      };
      remove.addEventListener("blur", () => say(words.delete));
      remove.addEventListener("click", () => {
        if (this.#busy) return;
        if (remove.textContent === words.sure) this.#run(() => this.#deleteCard(card));
        else say(words.sure);
      });
      say(words.delete);
      return node("div", { part: "saved-card" }, way(card.paymentMethodId, `${card.name}${until}`, !place && !this.#open), remove);
    });
    rows.push(node("div", { part: "saved-card" }, way("", words.another, this.#open)));
    return node("fieldset", { part: "saved-cards", on: { change: () => this.#chosen() } }, node("legend", {}, words.saved), ...rows);
  }

  // What belongs to another way to pay is not in the way of whoever pays with a saved card.
  #chosen() {
    const { ways, fields, consent, asked } = this.#parts;
    const saved = Boolean(ways?.querySelector(":checked")?.value);
    if (fields) fields.set.hidden = saved;
    if (asked) asked.hidden = saved;
    if (saved && consent) consent.checked = false;
  }

  #offerCode() {
    const press = () => this.#busy || ((this.#acted = true), this.#run(() => this.#pay(true)));
    const button = node("button", { part: "qr-button", type: "button", on: { click: press } }, this.#words.showCode);
    this.#parts.qr.replaceChildren(...(this.#showsCodes ? [button] : []));
    this.#parts.qr.hidden = !this.#showsCodes;
  }

  #cardFields(words) {
    const made = {};
    const field = (name, attributes, tidy) => {
      const wrong = node("span", { part: "field-error", id: `${name}-wrong` });
      const input = node("input", {
        part: "input", id: name, type: "text", inputmode: "numeric", required: "", "aria-describedby": wrong.id,
        spellcheck: "false", ...attributes,
      });
      input.addEventListener("input", ({ inputType }) => {
        if (!inputType?.startsWith("delete") && input.selectionStart === input.value.length) input.value = tidy(inPlainDigits(input.value));
        this.#mark([], name);
      });
      made[name] = { input, wrong };
      return node("div", { part: "field" }, node("label", { for: name }, words[name][0]), input, wrong);
    };
    const digits = (text) => text.replace(/\D/g, "");
    const set = node(
      "fieldset", { part: "card", "aria-label": words.card[0] },
      field("number", { autocomplete: "cc-number", maxlength: "23" }, (text) => digits(text).replace(/(.{4})(?=.)/g, "$1 ")),
      field("expiry", { autocomplete: "cc-exp", maxlength: "9" }, (text) => text.replace(/^(\d\d)(\d+)$/, "$1/$2")),
      field("cvv", { autocomplete: "cc-csc", maxlength: "4" }, digits),
    );
    // What is typed would tell itself to the page's listeners, key by key.
    for (const kind of ["keydown", "keyup", "keypress", "beforeinput", "input", "change", "paste", "copy", "cut"]) {
      set.addEventListener(kind, (event) => event.stopPropagation());
    }
    return { ...made, set };
  }

  #submit(event) {
    event.preventDefault();
    if (this.#busy || !this.#press) return;
    const { fields } = this.#parts;
    if (fields && !fields.set.disabled && !fields.set.hidden) {
      const { wrong } = this.#readCard();
      this.#mark(wrong);
      if (wrong.length) return;
    }
    this.#acted = true;
    this.#run(this.#press);
  }

  #readCard() {
    const { number, expiry, cvv } = this.#parts.fields;
    return readCard(...[number, expiry, cvv].map(({ input }) => inPlainDigits(input.value)));
  }

  /** Mark these fields as wrong and go to the first; the others (or only `field`) are right again. */
  #mark(wrong, field = null) {
    for (const name of field ? [field] : ["number", "expiry", "cvv"]) {
      const { input, wrong: told } = this.#parts.fields[name];
      input.setAttribute("aria-invalid", String(wrong.includes(name)));
      told.textContent = wrong.includes(name) ? this.#words[name][1] : "";
    }
    if (wrong.length) this.#parts.fields[wrong[0]].input.focus();
  }

  #clearCard(...only) {
    const names = only.length ? only : ["number", "expiry", "cvv"];
    for (const name of this.#parts.fields ? names : []) this.#parts.fields[name].input.value = "";
  }

  #show(state, words, options = {}) {
    const { text = this.#words[words][1], press = null, button = "pay", done = "", code = false } = options;
    const { card = press && button !== "check" } = options;
    const { title, text: line, message, button: main, form, qr, fields, ways, asked, wallets, done: mark } = this.#parts;
    this.#press = press;
    this.setAttribute("state", state);
    title.textContent = this.#words[words][0];
    line.textContent = text;
    main.textContent = (button === "pay" && this.#said("label")) || this.#words[button];
    const sum = button === "pay" && !this.#said("label") && this.#owed?.currency && this.#amount;
    if (sum) main.textContent += ` ${this.#money(sum)}`;
    const choice = press && card; // what has begun is not paid in another way before it is known
    wallets.hidden = !choice || Boolean(this.#open?.bank);
    // Where there is nothing to press, nothing empty stays.
    form.hidden = Boolean(done) || state === "unavailable";
    qr.hidden = form.hidden || !this.#showsCodes;
    mark.hidden = !done;
    mark.textContent = `✓ ${done}`;
    this.#pressable(!this.#busy);
    const early = state === "loading";
    main.classList.toggle("away", !press && !early && words !== "opening" && words !== "paying");
    qr.classList.toggle("away", !code && !early);
    if (fields) fields.set.disabled = !choice;
    if (ways) ways.disabled = !choice;
    asked?.classList.toggle("away", !choice);
    fields?.set.classList.toggle("away", !card && !early);
    if (this.#acted && ["declined", "expired", "error"].includes(state)) message.focus();
  }
}

if (globalThis.customElements && !customElements.get("gateway-payment")) {
  customElements.define("gateway-payment", GatewayPaymentElement);
}
