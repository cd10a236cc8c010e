/** A shopper pays for a checkout or an order of a Saleor store: `<gateway-payment>`. */
export class GatewayPaymentElement extends HTMLElement {
  /** What the storefront knows of the shopper beside what the checkout says: `customer` in the payment app's `data`. */
  customer: GatewayPaymentCustomer | null;
  /**
   * The signed-in customer's access token for Saleor, or a function that returns it: with it, customers see their saved
   * cards. Set to another token, the element begins anew; after another function call `refresh()`.
   */
  customerToken: GatewayPaymentToken;
  /** Where the payment stands, as in the attribute `state`; null before the element is in a page. */
  readonly state: GatewayPaymentState | null;
  /** Ask again what is to be paid and how: when the basket has changed, say. */
  refresh(): void;
  /** Forget the attempt and begin anew, over what is left to pay. */
  reset(): void;
}

/** What the element's attributes may be. */
export interface GatewayPaymentAttributes {
  "saleor-api-url": string;
  "checkout-id": string;
  "return-url": string;
  "gateway-id"?: string;
  mode?: "direct" | "hosted";
  amount?: string | number;
  language?: string;
  label?: string;
  country?: string;
  "app-url"?: string;
  "no-qr"?: "" | true;
}

export type GatewayPaymentToken = string | null | (() => string | null | Promise<string | null>);

export type GatewayPaymentState =
  | "loading"
  | "ready"
  | "waiting"
  | "paid"
  | "reserved"
  | "part"
  | "declined"
  | "expired"
  | "unavailable"
  | "error";

/** What is null counts as left out. */
export interface GatewayPaymentCustomer {
  email?: string | null;
  phone?: string | null;
  firstName?: string | null;
  lastName?: string | null;
  patronymic?: string | null;
  /** `1990-05-17` */
  birthday?: string | null;
  taxId?: string | null;
  /** Two capital letters: `UA`; or an object with such a `code`, as Saleor has it */
  country?: string | { code: string } | null;
  ip?: string | null;
  referrer?: string | null;
}

/** The button can be pressed. */
export interface GatewayPaymentReadyDetail {
  modes: ("hosted" | "direct")[];
}

/** The browser is about to go to the payment page or the bank; `preventDefault()` leaves that to you. */
export interface GatewayPaymentRedirectDetail {
  transactionId: string;
  url: string;
}

/** Nothing is known yet: the shopper pays on a phone, it is being found out, or the store has to look at it. */
export interface GatewayPaymentWaitingDetail {
  transactionId: string;
  reason: "phone" | "confirming" | "review";
  code?: string;
}

/**
 * Call `checkoutComplete`. Not `confirmed`: the bank is still at it, and Saleor counts the amount as covered; or, with a
 * `code` and without a transaction, the app says that nothing is left to pay.
 */
export interface GatewayPaymentCoveredDetail {
  transactionId?: string;
  confirmed: boolean;
  code?: "ALREADY_PAID" | "INVALID_AMOUNT";
}

/** A part is paid, and `left` is not yet: another part may pay it, or another way to pay. */
export interface GatewayPaymentPartDetail {
  transactionId: string;
  confirmed: boolean;
  left: number;
  currency: string;
}

/** `message` is for the shopper, who reads it already. `details`, where there are any, are the app's own words. */
export interface GatewayPaymentFailedDetail {
  transactionId?: string;
  code: string;
  message: string;
  details?: string;
  /**
   * ISO 8601, in UTC: when the gateway recommends the next attempt with this card or, where it is `BUSY`, takes requests
   * again.
   */
  retryAfter?: string;
}

export interface GatewayPaymentUnavailableDetail {
  code: string;
  message: string;
}

/** `setup`: `attributes` are missing or wrong. `network`: Saleor did not answer; the shopper has a button. */
export interface GatewayPaymentErrorDetail {
  kind: "setup" | "network";
  message: string;
  attributes?: string[];
}

export interface GatewayPaymentEventMap {
  "gateway-payment-ready": CustomEvent<GatewayPaymentReadyDetail>;
  "gateway-payment-redirect": CustomEvent<GatewayPaymentRedirectDetail>;
  "gateway-payment-waiting": CustomEvent<GatewayPaymentWaitingDetail>;
  "gateway-payment-paid": CustomEvent<GatewayPaymentCoveredDetail>;
  "gateway-payment-reserved": CustomEvent<GatewayPaymentCoveredDetail>;
  "gateway-payment-part": CustomEvent<GatewayPaymentPartDetail>;
  "gateway-payment-failed": CustomEvent<GatewayPaymentFailedDetail>;
  "gateway-payment-unavailable": CustomEvent<GatewayPaymentUnavailableDetail>;
  "gateway-payment-error": CustomEvent<GatewayPaymentErrorDetail>;
}

declare global {
  interface HTMLElementTagNameMap {
    "gateway-payment": GatewayPaymentElement;
  }
  interface HTMLElementEventMap extends GatewayPaymentEventMap {}
  interface DocumentEventMap extends GatewayPaymentEventMap {}
}
