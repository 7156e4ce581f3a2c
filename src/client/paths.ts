import { PerpdError } from "./error.ts";

/** What may stand in a path: anything else would be another path, and so another request. */

const ORDER_REFERENCE = /^([1-9][0-9]{0,15}|client:[A-Za-z0-9_.:-]{1,36})$/;

export const isOrderReference = (text: string): boolean => ORDER_REFERENCE.test(text);

/** An order in a path, by id or `client:` and the client order id. */
export function orderSegment(reference: string): string {
  if (isOrderReference(reference)) return reference;
  throw notSent("id", "an order's id is a number, or client:CLIENT_ORDER_ID");
}

/** A symbol or a key in a path; these dots stand for the folder itself and the one above, also encoded. */
export function pathSegment(text: string, field: string): string {
  if (!/^\.{0,2}$/.test(text)) return encodeURIComponent(text);
  throw notSent(field, `no ${field} is called "${text}"`);
}

const notSent = (field: string, message: string): PerpdError =>
  new PerpdError(400, { code: "BAD_VALUE", field, message: `${message}: nothing was sent` });
