/**
 * Why the core refuses a command: the `code` of a Refused. Stable names that clients branch on, so rename none. Each has
 * its HTTP status and message in front/errors.ts, which does not compile while one is missing there.
 */
export const REFUSAL_CODES = [
  "INSUFFICIENT_MARGIN",
  "PRICE_OUT_OF_BAND",
  "PRICE_TOO_HIGH",
  "QUANTITY_TOO_SMALL",
  "QUANTITY_TOO_LARGE",
  "NOTIONAL_TOO_SMALL",
  "POSITION_LIMIT",
  "TOO_MANY_OPEN_ORDERS",
  "POST_ONLY_WOULD_TRADE",
  "REDUCE_ONLY_NO_POSITION",
  "NO_POSITION",
  "LEVERAGE_OUT_OF_RANGE",
  "NO_MARK_PRICE",
  "SYMBOL_HALTED",
  "REQUEST_EXPIRED",
  "ORDER_NOT_FOUND",
  "ORDER_NOT_OPEN",
  "CLIENT_ORDER_ID_REUSED",
  "REFERENCE_REUSED",
  "DEPOSIT_CAP",
  "INSUFFICIENT_BALANCE",
  "KEY_NOT_FOUND",
  "TOO_MANY_KEYS",
  "TOO_MANY_ACCOUNTS",
] as const;

export type RefusalCode = (typeof REFUSAL_CODES)[number];
