import type { TimeMs } from "../base/units.ts";
import type { Transaction } from "./actor.ts";
import { blank } from "./message-schema.ts";
import { Refused } from "./replies.ts";

/** Every code with which an actor refuses a command. Clients rely on the names. wire/errors/engine-errors.ts describes each code. */
export const REFUSAL_CODES = [
  "INSUFFICIENT_MARGIN",
  "LOSS_NOT_SETTLED",
  "PRICE_OUT_OF_BAND",
  "PRICE_TOO_HIGH",
  "NO_PRICE_LEVEL",
  "QUANTITY_TOO_SMALL",
  "QUANTITY_TOO_LARGE",
  "DISPLAY_QUANTITY_OUT_OF_RANGE",
  "NOTIONAL_TOO_SMALL",
  "POSITION_LIMIT",
  "OPEN_INTEREST_CAP",
  "TOO_MANY_OPEN_ORDERS",
  "POST_ONLY_WOULD_TRADE",
  "REDUCE_ONLY_NO_POSITION",
  "NO_POSITION",
  "LEVERAGE_OUT_OF_RANGE",
  "POSITION_NOT_ISOLATED",
  "OPEN_ORDERS_EXIST",
  "NO_MARK_PRICE",
  "SYMBOL_HALTED",
  "STALE_PRICE",
  "PRICE_PENDING",
  "PRICE_JUMP",
  "WOULD_TRIGGER",
  "TOO_MANY_TRIGGER_ORDERS",
  "TOO_MANY_TRAILING_ORDERS",
  "GOOD_TILL_DATE_PASSED",
  "REQUEST_EXPIRED",
  "BATCH_TOO_LONG",
  "ORDER_NOT_FOUND",
  "ORDER_NOT_OPEN",
  "ORDER_WAITS",
  "ORDER_DOES_NOT_WAIT",
  "ORDER_NOT_GTD",
  "ORDER_PARTIALLY_FILLED",
  "ORDER_REDUCE_ONLY",
  "QUANTITY_BELOW_FILLED",
  "CLIENT_ORDER_ID_REUSED",
  "REFERENCE_REUSED",
  "DEPOSIT_CAP",
  "DEPOSIT_TOO_SMALL",
  "TOO_MANY_TRANSFERS",
  "INSUFFICIENT_BALANCE",
  "WITHDRAWALS_GATED",
  "ADDRESS_NOT_IN_BOOK",
  "ADDRESS_ON_HOLD",
  "ADDRESS_NOT_FOUND",
  "TOO_MANY_ADDRESSES",
  "KEY_NOT_FOUND",
  "TOO_MANY_KEYS",
  "KEY_ORDER_LIMIT",
  "KEY_POSITION_LIMIT",
  "KEY_LEVERAGE_LIMIT",
  "TOO_MANY_ACCOUNTS",
] as const;

export type RefusalCode = (typeof REFUSAL_CODES)[number];

/** The end of a key is its unit (requiredQuanta, limitTicks, nearestLots). The front prints the value by it. */
export type RefusalDetails = Record<string, number | string>;

const refused = blank(Refused);

/** Answers a command with a refusal: nothing was done. `field` names the part of the request at fault. */
export function refuse(
  transaction: Transaction,
  code: RefusalCode,
  field = "",
  details: RefusalDetails | null = null,
): void {
  refused.code = code;
  refused.field = field;
  refused.details = details;
  transaction.reply(refused);
}

/** The same as refuse(), but returns true: for checks that return whether they refused. */
export function refuses(
  transaction: Transaction,
  code: RefusalCode,
  field = "",
  details: RefusalDetails | null = null,
): true {
  refuse(transaction, code, field, details);
  return true;
}

/** Refuses an order whose goodTillDate is not in the future (0: it has none). Returns whether it did. */
export function refuseEnded(goodTillDate: TimeMs, transaction: Transaction): boolean {
  if (goodTillDate === 0 || goodTillDate > transaction.time) return false;
  return refuses(transaction, "GOOD_TILL_DATE_PASSED", "goodTillDate");
}

/** Refuses a command that arrives after its expiresAt (0: it never expires). Returns whether it did. */
export function refuseLate({ expiresAt }: { readonly expiresAt: number }, transaction: Transaction): boolean {
  if (expiresAt === 0 || transaction.time <= expiresAt) return false;
  return refuses(transaction, "REQUEST_EXPIRED", "expiresAt");
}
