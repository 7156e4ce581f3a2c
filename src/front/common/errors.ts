import { printQuanta } from "../../core/base/units.ts";
import { type Instrument, printPrice, printQuantity } from "../../core/protocol/instrument.ts";
import type { MessageOf } from "../../core/protocol/message-schema.ts";
import type { RefusalCode } from "../../core/protocol/refusals.ts";
import type { Refused } from "../../core/protocol/replies.ts";

export const MAX_BODY_BYTES = 65_536;

/** How a code reaches the client. `retryable`: the same request may well succeed a moment later. */
export interface ErrorSpec {
  readonly status: number;
  readonly message: string;
  readonly retryable?: boolean;
}

/** Refusals of the core: nothing was done. */
const CORE_ERRORS = {
  INSUFFICIENT_MARGIN: { status: 422, message: "There is not enough free margin for this." },
  PRICE_OUT_OF_BAND: {
    status: 422,
    message:
      "The price lies outside the band around the mark price, or beyond the bankruptcy price of the position that it closes.",
  },
  PRICE_TOO_HIGH: { status: 400, message: "The price is above the highest price of this instrument." },
  NO_PRICE_LEVEL: {
    status: 422,
    message: "The book does not have the level that priceMatch names.",
    retryable: true,
  },
  QUANTITY_TOO_SMALL: { status: 400, message: "The quantity is below the smallest of this instrument." },
  QUANTITY_TOO_LARGE: { status: 400, message: "The quantity is above the largest of this instrument." },
  DISPLAY_QUANTITY_OUT_OF_RANGE: {
    status: 400,
    message:
      "displayQuantity is at least the instrument's smallest quantity and a hundredth of what may still trade, and at most the order's quantity.",
  },
  NOTIONAL_TOO_SMALL: { status: 400, message: "Price times quantity is below the smallest notional." },
  POSITION_LIMIT: { status: 422, message: "Position and open orders would pass the limit of this instrument." },
  TOO_MANY_OPEN_ORDERS: { status: 422, message: "The account has as many open orders here as it may." },
  POST_ONLY_WOULD_TRADE: { status: 422, message: "The post-only order would have traded at once." },
  REDUCE_ONLY_NO_POSITION: { status: 422, message: "There is no position that this reduce-only order could reduce." },
  NO_POSITION: { status: 422, message: "There is no open position." },
  POSITION_NOT_ISOLATED: { status: 422, message: "The position has no margin of its own: its margin mode is CROSS." },
  OPEN_ORDERS_EXIST: {
    status: 422,
    message: "The margin mode cannot change while orders of the symbol are in the book.",
  },
  LEVERAGE_OUT_OF_RANGE: { status: 422, message: "The leverage is out of range for this position." },
  NO_MARK_PRICE: {
    status: 422,
    message: "There is no mark price yet: the symbol has had no index price.",
    retryable: true,
  },
  SYMBOL_HALTED: { status: 422, message: "Trading in this symbol is halted.", retryable: true },
  STALE_PRICE: {
    status: 422,
    message: "The index price is too old: only cancels and reduce-only orders are taken until there is another.",
    retryable: true,
  },
  PRICE_JUMP: {
    status: 422,
    message: "The index price has jumped; it is used once as many more as are missing agree with it.",
    retryable: true,
  },
  WOULD_TRIGGER: { status: 422, message: "The price is there already: the order would trigger at once." },
  GOOD_TILL_DATE_PASSED: { status: 422, message: "The goodTillDate lies in the past." },
  TOO_MANY_TRIGGER_ORDERS: {
    status: 422,
    message: "The account has as many orders waiting for a price in this symbol as it may.",
  },
  REQUEST_EXPIRED: { status: 422, message: "The request reached the engine after its expiresAt." },
  BATCH_TOO_LONG: {
    status: 422,
    message: "The items before it have done as much as a batch may: nothing was done, send it again.",
    retryable: true,
  },
  ORDER_NOT_FOUND: { status: 404, message: "No such order." },
  ORDER_NOT_OPEN: { status: 409, message: "The order is no longer open." },
  ORDER_WAITS: {
    status: 422,
    message: "Of this order, which waits for its price, this cannot be amended: cancel it and place another.",
  },
  ORDER_DOES_NOT_WAIT: { status: 422, message: "Only an order that waits for its price has this to amend." },
  ORDER_NOT_GTD: { status: 422, message: "Only an order with timeInForce GTD has a goodTillDate to amend." },
  QUANTITY_BELOW_FILLED: { status: 422, message: "The order has been filled with as much already, or more." },
  CLIENT_ORDER_ID_REUSED: { status: 409, message: "This clientOrderId belongs to another order." },
  REFERENCE_REUSED: {
    status: 409,
    message: "This reference belongs to another transfer, or to another move of margin.",
  },
  DEPOSIT_CAP: { status: 422, message: "The faucet gives no more than its cap per account and day." },
  INSUFFICIENT_BALANCE: { status: 422, message: "The amount is more than can be withdrawn." },
  KEY_NOT_FOUND: { status: 404, message: "No such API key." },
  TOO_MANY_KEYS: { status: 422, message: "The account has as many API keys as it may, and none of them has expired." },
  KEY_ORDER_LIMIT: { status: 403, message: "The order's notional is above what the API key may place." },
  KEY_POSITION_LIMIT: { status: 403, message: "Position and open orders would pass what the API key may hold." },
  KEY_LEVERAGE_LIMIT: { status: 403, message: "The leverage is above what the API key may trade with." },
  TOO_MANY_ACCOUNTS: { status: 503, message: "There is no room for another account." },
} satisfies Record<RefusalCode, ErrorSpec>;

/** What the edge itself refuses, before any command exists. */
const EDGE_ERRORS = {
  BAD_REQUEST: { status: 400, message: "The HTTP request is malformed." },
  BAD_ENCODING: { status: 400, message: "The text is not valid UTF-8." },
  BAD_JSON: { status: 400, message: "This is not valid JSON: names and strings stand in double quotes." },
  BAD_QUERY: { status: 400, message: "The query string is malformed." },
  UNEXPECTED_BODY: { status: 400, message: "This request takes no body." },
  DUPLICATE_FIELD: { status: 400, message: "A field stands twice." },
  UNKNOWN_FIELD: { status: 400, message: "There is no such field." },
  MISSING_FIELD: { status: 400, message: "A required field is missing." },
  BAD_TYPE: { status: 400, message: "The field has the wrong type." },
  BAD_NUMBER: {
    status: 400,
    message: 'Not a decimal. Decimals are strings of digits with at most one point, such as "65000.5".',
  },
  BAD_VALUE: { status: 400, message: "The field's value is not allowed." },
  BAD_COMBINATION: { status: 400, message: "These fields do not go together." },
  UNKNOWN_SYMBOL: { status: 400, message: "There is no such symbol." },
  PRICE_NOT_ON_TICK: { status: 400, message: "The price is not a multiple of the tick size." },
  QUANTITY_NOT_ON_STEP: { status: 400, message: "The quantity is not a multiple of the step size." },
  AMOUNT_TOO_FINE: { status: 400, message: "The amount is finer than 0.000001." },
  UNAUTHENTICATED: { status: 401, message: "Send a session token or a signed API key." },
  INVALID_TOKEN: { status: 401, message: "The session token is unknown, expired or logged out: log in again." },
  INVALID_KEY_OR_SIGNATURE: {
    status: 401,
    message: "The API key is unknown, or the signature is not that of timestamp + method + path with query + body.",
  },
  KEY_EXPIRED: { status: 401, message: "The API key has expired." },
  TIMESTAMP_OUT_OF_WINDOW: {
    status: 401,
    message: "The timestamp, in milliseconds, is outside the receive window: compare it with serverTime.",
    retryable: true,
  },
  SIGNATURE_REPLAYED: {
    status: 401,
    message: "This signed request was received before. Sign again with a new timestamp.",
  },
  CHALLENGE_NOT_FOUND: { status: 401, message: "The login challenge is unknown, expired or already used." },
  CHALLENGE_MISMATCH: { status: 401, message: "The signed message is not the one that was issued." },
  BAD_SIGNATURE: { status: 401, message: "The signature is not that of the address." },
  PERMISSION_DENIED: { status: 403, message: "The API key lacks the permission for this." },
  SESSION_REQUIRED: { status: 403, message: "This needs a wallet session; an API key is not enough." },
  SYMBOL_NOT_ALLOWED: { status: 403, message: "The API key may not trade this symbol." },
  IP_NOT_ALLOWED: { status: 403, message: "The API key may not be used from this address." },
  OPERATOR_REQUIRED: { status: 403, message: "This needs the operator's token." },
  NOT_FOUND: {
    status: 404,
    message: "There is no such path. They begin with /v1 and end without a slash: GET /v1/docs lists them.",
  },
  SESSION_NOT_FOUND: { status: 404, message: "No such session." },
  METHOD_NOT_ALLOWED: { status: 405, message: "The path does not answer to this method." },
  REQUEST_TIMEOUT: { status: 408, message: "The request did not arrive in time.", retryable: true },
  BODY_TOO_LARGE: { status: 413, message: `The body is larger than ${MAX_BODY_BYTES} bytes.` },
  UPGRADE_REQUIRED: {
    status: 426,
    message: "This path speaks WebSocket: connect to it by ws:// or wss:// with a WebSocket client.",
  },
  RATE_LIMITED: { status: 429, message: "Too many requests.", retryable: true },
  TOO_MANY_SOCKETS: { status: 429, message: "Too many WebSockets are open from this address.", retryable: true },
  INTERNAL: { status: 500, message: "Something went wrong here; it has been logged." },
  OVERLOADED: { status: 503, message: "Too busy: nothing was done.", retryable: true },
  STORAGE_FULL: {
    status: 503,
    message: "The exchange's disk is nearly full: nothing was done. Canceling, closing and reading work.",
    retryable: true,
  },
  UNAVAILABLE: {
    status: 503,
    message: "What this concerns is being rebuilt after a fault, and will be back in a moment: nothing was done.",
    retryable: true,
  },
  NOT_READY: { status: 503, message: "Starting or stopping: nothing was done.", retryable: true },
  TIMEOUT: {
    status: 503,
    message:
      "The engine has not answered in time. Send the same request again: with the same clientOrderId or reference it is done once.",
    retryable: true,
  },
} satisfies Record<string, ErrorSpec>;

/** Every code that a client may see. */
export const ERRORS = { ...CORE_ERRORS, ...EDGE_ERRORS };
export type ErrorCode = keyof typeof ERRORS;

export type ErrorDetails = Record<string, number | string | boolean | null | readonly (number | string)[]>;

export interface ErrorParts {
  /** Replaces the code's default message. */
  message?: string;
  /** The field that was wrong: "quantity", "permissions.0". */
  field?: string;
  details?: ErrorDetails;
}

/** An answer other than success. Thrown, but no Error: a client's mistake is no place for a stack trace. */
export class ApiError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly field: string | undefined;
  readonly details: ErrorDetails | undefined;

  constructor(code: ErrorCode, parts: ErrorParts = {}) {
    this.code = code;
    this.message = parts.message ?? ERRORS[code].message;
    this.field = parts.field;
    this.details = parts.details;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }

  get retryable(): boolean {
    return specOf(this.code).retryable === true;
  }

  /** The same about a part of what was sent. `at`: its name. */
  within(at: string): ApiError {
    const field = this.field === undefined ? at : `${at}.${this.field}`;
    return this.about(field);
  }

  /** The same with another name for the field at fault. */
  about(field: string): ApiError {
    const { code, message, details } = this;
    return new ApiError(code, { message, field, ...(details && { details }) });
  }

  /** As one result among others, in an answer that is none. */
  toItemJson(): string {
    const { code, message, field, details, retryable } = this;
    return JSON.stringify({ code, message, field, details, retryable });
  }

  /** The one shape of every error, in REST and on the WebSocket alike. */
  toJson(requestId: string): string {
    return JSON.stringify({
      code: this.code,
      message: this.message,
      field: this.field,
      details: this.details,
      retryable: this.retryable,
      requestId,
      serverTime: Date.now(),
    });
  }
}

/** Fields that do not go together; `field` is the one at fault. */
export const badCombination = (field: string, message: string): ApiError =>
  new ApiError("BAD_COMBINATION", { field, message });

const specOf = (code: ErrorCode): ErrorSpec => ERRORS[code];

/** The core's refusal as the client sees it. `instrument` prints prices and quantities; the ledger has none. */
export function fromRefused(refused: MessageOf<typeof Refused>, instrument?: Instrument): ApiError {
  const parts: ErrorParts = {};
  if (refused.field !== "") parts.field = refused.field;
  if (refused.details !== null) parts.details = printDetails(refused.details, instrument);
  return new ApiError(refused.code as RefusalCode, parts);
}

/** `{ requiredQuanta: 1500000 }` → `{ required: "1.5" }`: the unit leaves the name and shapes the value. */
function printDetails(details: Record<string, number | string>, instrument: Instrument | undefined): ErrorDetails {
  const printed: ErrorDetails = {};
  for (const [key, value] of Object.entries(details)) {
    const [name, text] = typeof value === "number" ? printUnit(key, value, instrument) : [key, value];
    printed[name] = text;
  }
  return printed;
}

function printUnit(key: string, value: number, instrument: Instrument | undefined): [string, number | string] {
  if (key.endsWith("Quanta")) return [key.slice(0, -6), printQuanta(value)];
  if (key.endsWith("Ms")) return [key.slice(0, -2), value];
  if (instrument && key.endsWith("Ticks")) return [key.slice(0, -5), printPrice(instrument, value)];
  if (instrument && key.endsWith("Lots")) return [key.slice(0, -4), printQuantity(instrument, value)];
  return [key, value];
}
