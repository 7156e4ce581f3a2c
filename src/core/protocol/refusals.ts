import type { TimeMs } from "../base/units.ts";
import type { Transaction } from "./actor.ts";
import { blank } from "./message-schema.ts";
import { Refused } from "./replies.ts";

/** Every reason for which an actor refuses a command. Names are stable: clients switch on them (front/errors.ts). */
export const REFUSAL_CODES = [
  "INSUFFICIENT_MARGIN",
  "PRICE_OUT_OF_BAND",
  "PRICE_TOO_HIGH",
  "NO_PRICE_LEVEL",
  "QUANTITY_TOO_SMALL",
  "QUANTITY_TOO_LARGE",
  "DISPLAY_QUANTITY_OUT_OF_RANGE",
  "NOTIONAL_TOO_SMALL",
  "POSITION_LIMIT",
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
  "PRICE_JUMP",
  "WOULD_TRIGGER",
  "TOO_MANY_TRIGGER_ORDERS",
  "GOOD_TILL_DATE_PASSED",
  "REQUEST_EXPIRED",
  "BATCH_TOO_LONG",
  "ORDER_NOT_FOUND",
  "ORDER_NOT_OPEN",
  "ORDER_WAITS",
  "ORDER_DOES_NOT_WAIT",
  "ORDER_NOT_GTD",
  "QUANTITY_BELOW_FILLED",
  "CLIENT_ORDER_ID_REUSED",
  "REFERENCE_REUSED",
  "DEPOSIT_CAP",
  "INSUFFICIENT_BALANCE",
  "KEY_NOT_FOUND",
  "TOO_MANY_KEYS",
  "KEY_ORDER_LIMIT",
  "KEY_POSITION_LIMIT",
  "KEY_LEVERAGE_LIMIT",
  "TOO_MANY_ACCOUNTS",
] as const;

export type RefusalCode = (typeof REFUSAL_CODES)[number];

/** Keys end in their unit (requiredQuanta, limitTicks, nearestLots), by which the edge prints them. */
export type RefusalDetails = Record<string, number | string>;

const refused = blank(Refused);

/** Answers a command with "nothing was done, and why". `field` names the part of the request that is at fault. */
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

/** As refuse(), for checks that return whether they have refused: returns true. */
export function refuses(
  transaction: Transaction,
  code: RefusalCode,
  field = "",
  details: RefusalDetails | null = null,
): true {
  refuse(transaction, code, field, details);
  return true;
}

/** Refuses an order whose end is not ahead (0 = it has none); true when it did. */
export function refuseEnded(goodTillDate: TimeMs, transaction: Transaction): boolean {
  if (goodTillDate === 0 || goodTillDate > transaction.time) return false;
  return refuses(transaction, "GOOD_TILL_DATE_PASSED", "goodTillDate");
}

/** Refuses what comes later than whoever sent it still wants it (0 = at any time); true when it did. */
export function refuseLate({ expiresAt }: { readonly expiresAt: number }, transaction: Transaction): boolean {
  if (expiresAt === 0 || transaction.time <= expiresAt) return false;
  return refuses(transaction, "REQUEST_EXPIRED", "expiresAt");
}
