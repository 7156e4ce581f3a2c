import { PerpdError } from "./error.ts";

/** Checks text that becomes part of a URL path: anything else could address another endpoint. */

const ORDER_REFERENCE = /^([1-9][0-9]{0,15}|client:[A-Za-z0-9_.:-]{1,36})$/;

export const isOrderReference = (text: string): boolean => ORDER_REFERENCE.test(text);

/** The path segment of an order id, or of `client:` and a client order id. Throws PerpdError BAD_VALUE. */
export function orderSegment(reference: string): string {
  if (isOrderReference(reference)) return reference;
  throw notSent("id", "an order id is a number, or client:CLIENT_ORDER_ID");
}

/**
 * The path segment of a symbol or key. Throws PerpdError BAD_VALUE for "", "." and "..", which name folders even when
 * encoded.
 */
export function pathSegment(text: string, field: string): string {
  if (!/^\.{0,2}$/.test(text)) return encodeURIComponent(text);
  throw notSent(field, `no ${field} is called "${text}"`);
}

const notSent = (field: string, message: string): PerpdError =>
  new PerpdError(400, { code: "BAD_VALUE", field, message: `${message}: nothing was sent` });
