import type { Permission } from "../core/base/enums.ts";
import type { RefusalCode } from "../core/protocol/refusals.ts";

/** Largest body of an HTTP request and largest WebSocket message. */
export const MAX_BODY_BYTES = 65_536;

/** A set of requests that may be answered with the same codes. An endpoint combines several of them. */
export type ErrorGroup =
  /** Every HTTP request; every WebSocket message; every trading request on a WebSocket; a path without an endpoint. */
  | ("HTTP" | "MESSAGE" | "TRADING_OP" | "NO_ENDPOINT")
  /** By the content of the request: fields in query or body, a body, none, a symbol, a startTime. */
  | ("FIELDS" | "BODY" | "NO_BODY" | "SYMBOL" | "START_TIME")
  /** By the credentials that the endpoint asks for. */
  | (Permission | "SESSION" | "OPERATOR")
  /** By what is asked of the exchange. BATCH_ITEM: only as one item of a batch. */
  | ("PLACE" | "AMEND" | "CANCEL" | "CANCEL_ALL" | "BATCH" | "BATCH_ITEM" | "FIND_ORDER")
  | ("CLOSE_POSITION" | "SET_LEVERAGE" | "SET_MARGIN_MODE" | "MOVE_MARGIN" | "DEPOSIT" | "WITHDRAWAL")
  | ("LOGIN" | "END_SESSION" | "CREATE_KEY" | "REVOKE_KEY" | "SET_INDEX_PRICE")
  | ("OPEN_SOCKET" | "SOCKET_AUTH" | "SUBSCRIBE" | "UNSUBSCRIBE");

export interface ErrorSpec {
  /** HTTP status. */
  readonly status: number;
  /** A sentence: what is wrong. */
  readonly problem: string;
  /** A sentence: what the caller should do. `details.x` is the member x of the error's `details`. */
  readonly remedy: string;
  /** The same request may succeed a moment later. */
  readonly retryable?: true;
  readonly groups: readonly ErrorGroup[];
}

const KEY = ["READ", "TRADE", "WITHDRAW"] as const;
const POSITION_SETTINGS = ["SET_LEVERAGE", "SET_MARGIN_MODE", "MOVE_MARGIN"] as const;
const TRADE_ONE_SYMBOL = ["PLACE", "AMEND", "CANCEL", "CANCEL_ALL", "CLOSE_POSITION", ...POSITION_SETTINGS] as const;

/** Refusals of the engine and the ledger: nothing was done. */
const REFUSALS = {
  INSUFFICIENT_MARGIN: {
    status: 422,
    problem: "The account does not have enough free margin.",
    remedy: "Ask for less, cancel orders or deposit more; details has the required and the available amount.",
    groups: ["PLACE", "AMEND", ...POSITION_SETTINGS],
  },
  PRICE_OUT_OF_BAND: {
    status: 422,
    problem:
      "The price is outside the band around the mark price, or beyond the bankruptcy price of the position that it closes.",
    remedy: "Use a price no further than details.limit.",
    groups: ["PLACE", "AMEND", "CLOSE_POSITION"],
  },
  PRICE_TOO_HIGH: {
    status: 400,
    problem: "The price is above the instrument's maxPrice.",
    remedy: "Use a price of at most details.limit.",
    groups: ["PLACE", "AMEND", "CLOSE_POSITION", "SET_INDEX_PRICE"],
  },
  NO_PRICE_LEVEL: {
    status: 422,
    problem: "The book does not have the price level that priceMatch names.",
    remedy: "Use another priceMatch, or send a price.",
    retryable: true,
    groups: ["PLACE", "AMEND"],
  },
  QUANTITY_TOO_SMALL: {
    status: 400,
    problem: "The quantity is below the instrument's minQuantity.",
    remedy: "Use a quantity of at least details.limit.",
    groups: ["PLACE", "AMEND", "CLOSE_POSITION"],
  },
  QUANTITY_TOO_LARGE: {
    status: 400,
    problem: "The quantity is above the instrument's maxQuantity.",
    remedy: "Use a quantity of at most details.limit, or several orders.",
    groups: ["PLACE", "AMEND", "CLOSE_POSITION"],
  },
  DISPLAY_QUANTITY_OUT_OF_RANGE: {
    status: 400,
    problem:
      "displayQuantity must be at least minQuantity and a hundredth of what may still trade, and at most the order's quantity.",
    remedy: "Use a displayQuantity from details.min to details.max.",
    groups: ["PLACE", "AMEND"],
  },
  NOTIONAL_TOO_SMALL: {
    status: 400,
    problem: "Price times quantity is below the instrument's minNotional.",
    remedy: "Use a quantity of at least details.nearest.",
    groups: ["PLACE", "AMEND"],
  },
  POSITION_LIMIT: {
    status: 422,
    problem: "The position with its open orders would exceed the largest position that is allowed.",
    remedy: "Reduce the quantity or cancel orders; details.limit is the largest position.",
    groups: ["PLACE", "AMEND"],
  },
  TOO_MANY_OPEN_ORDERS: {
    status: 422,
    problem: "The account already has the maximum number of open orders in this symbol.",
    remedy: "Cancel an order first; details.limit is the maximum.",
    groups: ["PLACE", "CLOSE_POSITION"],
  },
  POST_ONLY_WOULD_TRADE: {
    status: 422,
    problem: "The post-only order would trade at once.",
    remedy: "Use a price that does not reach details.best, or send the order without postOnly.",
    groups: ["PLACE", "AMEND"],
  },
  REDUCE_ONLY_NO_POSITION: {
    status: 422,
    problem: "There is no position that this reduce-only order could reduce.",
    remedy: "Place it while a position on the opposite side is open.",
    groups: ["PLACE"],
  },
  NO_POSITION: {
    status: 422,
    problem: "The account has no open position in this symbol.",
    remedy: "Use a symbol of GET /positions, which lists the open positions.",
    groups: ["CLOSE_POSITION", "MOVE_MARGIN"],
  },
  POSITION_NOT_ISOLATED: {
    status: 422,
    problem: "The position has no margin of its own, because its margin mode is CROSS.",
    remedy: "Set the margin mode to ISOLATED first.",
    groups: ["MOVE_MARGIN"],
  },
  OPEN_ORDERS_EXIST: {
    status: 422,
    problem: "The margin mode cannot change while the account has orders in the symbol's book.",
    remedy: "Cancel these orders first; details.openOrders is their number.",
    groups: ["SET_MARGIN_MODE"],
  },
  LEVERAGE_OUT_OF_RANGE: {
    status: 422,
    problem: "The leverage is out of range.",
    remedy: "Use a leverage from 1 to details.limit.",
    groups: ["SET_LEVERAGE"],
  },
  NO_MARK_PRICE: {
    status: 422,
    problem: "The symbol has no mark price yet, because it has had no index price.",
    remedy: "Try again once the ticker shows a markPrice.",
    retryable: true,
    groups: ["PLACE", "CLOSE_POSITION"],
  },
  SYMBOL_HALTED: {
    status: 422,
    problem: "Trading in this symbol is halted.",
    remedy: "Wait until the symbol's status allows the request; details.status is the present one.",
    retryable: true,
    groups: [...TRADE_ONE_SYMBOL, "WITHDRAWAL"],
  },
  STALE_PRICE: {
    status: 422,
    problem: "The index price is too old: only cancels and reduce-only orders are accepted.",
    remedy: "Try again after the next index price.",
    retryable: true,
    groups: ["PLACE", "AMEND", "CLOSE_POSITION", ...POSITION_SETTINGS, "WITHDRAWAL"],
  },
  PRICE_JUMP: {
    status: 422,
    problem: "The index price jumped too far to be used without confirmation.",
    remedy: "Send prices near it until it is confirmed; details.missing is how many more must agree.",
    retryable: true,
    groups: ["SET_INDEX_PRICE"],
  },
  WOULD_TRIGGER: {
    status: 422,
    problem: "The trigger price is reached already, so the order would trigger at once.",
    remedy: "Use a trigger price beyond details.current, or an order without a trigger.",
    groups: ["PLACE", "AMEND"],
  },
  TOO_MANY_TRIGGER_ORDERS: {
    status: 422,
    problem: "The account already has the maximum number of untriggered orders in this symbol.",
    remedy: "Cancel one of them first; details.limit is the maximum.",
    groups: ["PLACE"],
  },
  GOOD_TILL_DATE_PASSED: {
    status: 422,
    problem: "The goodTillDate is in the past.",
    remedy: "Use a later time, and compare your clock with serverTime.",
    groups: ["PLACE", "AMEND"],
  },
  REQUEST_EXPIRED: {
    status: 422,
    problem: "The request reached the engine after its expiresAt.",
    remedy: "Send it again with a later expiresAt, if you still want it.",
    groups: ["PLACE", "AMEND", "CLOSE_POSITION", ...POSITION_SETTINGS],
  },
  BATCH_TOO_LONG: {
    status: 422,
    problem: "The items before this one used up the work of a batch; nothing was done for this item.",
    remedy: "Send this item again in another request.",
    retryable: true,
    groups: ["BATCH_ITEM"],
  },
  ORDER_NOT_FOUND: {
    status: 404,
    problem: "The account has no such order.",
    remedy: "Check the id: GET /orders lists open orders and GET /orders/history closed ones.",
    groups: ["AMEND", "CANCEL", "FIND_ORDER"],
  },
  ORDER_NOT_OPEN: {
    status: 409,
    problem: "The order is no longer open.",
    remedy: "Read how it ended with GET /orders and its id.",
    groups: ["AMEND", "CANCEL"],
  },
  ORDER_WAITS: {
    status: 422,
    problem: "This field cannot be amended on an untriggered order.",
    remedy: "Cancel the order and place another.",
    groups: ["AMEND"],
  },
  ORDER_DOES_NOT_WAIT: {
    status: 422,
    problem: "This field can only be amended on an untriggered order.",
    remedy: "Leave the field out, or cancel the order and place another.",
    groups: ["AMEND"],
  },
  ORDER_NOT_GTD: {
    status: 422,
    problem: "Only an order with timeInForce GTD has a goodTillDate to amend.",
    remedy: "Cancel the order and place it with timeInForce GTD.",
    groups: ["AMEND"],
  },
  QUANTITY_BELOW_FILLED: {
    status: 422,
    problem: "The new quantity is not above the quantity that has been filled.",
    remedy: "Use a quantity above details.filled, or cancel the order.",
    groups: ["AMEND"],
  },
  CLIENT_ORDER_ID_REUSED: {
    status: 409,
    problem: "This clientOrderId belongs to an order with other terms.",
    remedy: "Use a new clientOrderId; details.orderId is the other order.",
    groups: ["PLACE"],
  },
  REFERENCE_REUSED: {
    status: 409,
    problem: "This reference belongs to another transfer, or to another change of margin.",
    remedy: "Use a new reference.",
    groups: ["MOVE_MARGIN", "DEPOSIT", "WITHDRAWAL"],
  },
  DEPOSIT_CAP: {
    status: 422,
    problem: "The deposit would exceed the faucet's cap per account and day, or the largest balance of an account.",
    remedy: "Deposit at most details.available.",
    groups: ["DEPOSIT"],
  },
  INSUFFICIENT_BALANCE: {
    status: 422,
    problem: "The amount is more than can be withdrawn.",
    remedy: "Withdraw at most details.available.",
    groups: ["WITHDRAWAL"],
  },
  KEY_NOT_FOUND: {
    status: 404,
    problem: "The account has no such API key.",
    remedy: "Use a key that GET /auth/keys lists.",
    groups: ["REVOKE_KEY"],
  },
  TOO_MANY_KEYS: {
    status: 422,
    problem: "The account already has the maximum number of API keys, and none of them has expired.",
    remedy: "Revoke a key first; details.limit is the maximum.",
    groups: ["CREATE_KEY"],
  },
  KEY_ORDER_LIMIT: {
    status: 403,
    problem: "The order's notional is above the API key's maxOrderNotional.",
    remedy: "Reduce the order to a notional of at most details.limit, or use another key.",
    groups: ["PLACE", "AMEND"],
  },
  KEY_POSITION_LIMIT: {
    status: 403,
    problem: "The position with its open orders would exceed the API key's maxPositionNotional.",
    remedy: "Reduce the order or use another key; details.limit is the largest notional.",
    groups: ["PLACE", "AMEND"],
  },
  KEY_LEVERAGE_LIMIT: {
    status: 403,
    problem: "The leverage is above the API key's maxLeverage.",
    remedy: "Lower the leverage to at most details.limit, or use another key.",
    groups: ["PLACE", "AMEND", "SET_LEVERAGE"],
  },
  TOO_MANY_ACCOUNTS: {
    status: 503,
    problem: "The exchange has no room for another account.",
    remedy: "Use an existing account, or ask the operator to raise maxAccounts.",
    groups: ["LOGIN"],
  },
} satisfies Record<RefusalCode, ErrorSpec>;

/** Answers of the gateway itself. Nothing was done, except perhaps after INTERNAL and TIMEOUT. */
const GATEWAY_ERRORS = {
  BAD_REQUEST: {
    status: 400,
    problem: "The HTTP request is malformed.",
    remedy: "Correct the request and send it on a new connection.",
    groups: ["HTTP"],
  },
  BAD_ENCODING: {
    status: 400,
    problem: "The text is not valid UTF-8.",
    remedy: "Encode the text as UTF-8.",
    groups: ["HTTP"],
  },
  BAD_JSON: {
    status: 400,
    problem: "The text is not valid JSON.",
    remedy: "Send one JSON object, with names and strings in double quotes.",
    groups: ["BODY", "MESSAGE"],
  },
  BAD_QUERY: {
    status: 400,
    problem: "The query string is malformed.",
    remedy: "Send name=value pairs joined by &, percent-encoded as UTF-8.",
    groups: ["HTTP"],
  },
  UNEXPECTED_BODY: {
    status: 400,
    problem: "This request takes no body.",
    remedy: "Send it without a body.",
    groups: ["NO_BODY"],
  },
  DUPLICATE_FIELD: {
    status: 400,
    problem: "A field occurs twice.",
    remedy: "Send each field once.",
    groups: ["HTTP", "MESSAGE"],
  },
  UNKNOWN_FIELD: {
    status: 400,
    problem: "There is no such field.",
    remedy: "Remove the field or correct its name.",
    groups: ["HTTP", "MESSAGE"],
  },
  MISSING_FIELD: {
    status: 400,
    problem: "A required field is missing.",
    remedy: "Add the field.",
    groups: ["FIELDS", "MESSAGE"],
  },
  BAD_TYPE: {
    status: 400,
    problem: "The field has the wrong type.",
    remedy: "Send the type that the documentation names.",
    groups: ["FIELDS", "MESSAGE"],
  },
  BAD_NUMBER: {
    status: 400,
    problem: "The value is not a decimal.",
    remedy: 'Send a string of digits with at most one point, such as "65000.5".',
    groups: ["BODY", "TRADING_OP"],
  },
  BAD_VALUE: {
    status: 400,
    problem: "The field's value is not allowed.",
    remedy: "Send a value that the documentation of the field allows.",
    groups: ["FIELDS", ...KEY, "MESSAGE"],
  },
  BAD_COMBINATION: {
    status: 400,
    problem: "These fields cannot be combined.",
    remedy: "Leave one of them out or change it.",
    groups: ["START_TIME", "PLACE", "AMEND", "BATCH", "TRADING_OP"],
  },
  UNKNOWN_SYMBOL: {
    status: 400,
    problem: "There is no such symbol.",
    remedy: "Use a symbol that GET /market/symbols lists.",
    groups: ["SYMBOL", "CREATE_KEY", "SUBSCRIBE", "UNSUBSCRIBE"],
  },
  PRICE_NOT_ON_TICK: {
    status: 400,
    problem: "The price is not a multiple of the instrument's tickSize.",
    remedy: "Use one of the prices in details.nearest.",
    groups: ["PLACE", "AMEND", "BATCH", "CLOSE_POSITION", "SET_INDEX_PRICE"],
  },
  QUANTITY_NOT_ON_STEP: {
    status: 400,
    problem: "The quantity is not a multiple of the instrument's stepSize.",
    remedy: "Use one of the quantities in details.nearest.",
    groups: ["PLACE", "AMEND", "BATCH", "CLOSE_POSITION"],
  },
  AMOUNT_TOO_FINE: {
    status: 400,
    problem: "The amount has more than six decimals.",
    remedy: "Use one of the amounts in details.nearest.",
    groups: ["MOVE_MARGIN", "DEPOSIT", "WITHDRAWAL", "CREATE_KEY"],
  },
  UNAUTHENTICATED: {
    status: 401,
    problem: "The request has no credentials.",
    remedy: "Send a session token, or sign the request with an API key.",
    groups: [...KEY, "SESSION", "TRADING_OP", "SOCKET_AUTH", "SUBSCRIBE"],
  },
  INVALID_TOKEN: {
    status: 401,
    problem: "The session token is unknown, expired or logged out.",
    remedy: "Log in again.",
    groups: [...KEY, "SESSION", "SOCKET_AUTH"],
  },
  INVALID_KEY_OR_SIGNATURE: {
    status: 401,
    problem: "The API key is unknown, or the signature does not match the request.",
    remedy: "Sign timestamp + method + path with query + body with the key's secret.",
    groups: [...KEY, "SOCKET_AUTH"],
  },
  KEY_EXPIRED: {
    status: 401,
    problem: "The API key has expired.",
    remedy: "Create a new key.",
    groups: [...KEY, "SOCKET_AUTH"],
  },
  TIMESTAMP_OUT_OF_WINDOW: {
    status: 401,
    problem: "The timestamp is outside the receive window.",
    remedy: "Sign again with the time in milliseconds, and compare your clock with details.serverTime.",
    retryable: true,
    groups: [...KEY, "SOCKET_AUTH"],
  },
  SIGNATURE_REPLAYED: {
    status: 401,
    problem: "This signed request was received before.",
    remedy: "Sign again with a new timestamp.",
    groups: ["TRADE", "WITHDRAW", "SOCKET_AUTH"],
  },
  CHALLENGE_NOT_FOUND: {
    status: 401,
    problem: "The login challenge is unknown, expired or already used.",
    remedy: "Ask for a new challenge.",
    groups: ["LOGIN"],
  },
  CHALLENGE_MISMATCH: {
    status: 401,
    problem: "The signed message is not the one that was issued.",
    remedy: "Sign the message of the challenge as it is.",
    groups: ["LOGIN"],
  },
  BAD_SIGNATURE: {
    status: 401,
    problem: "The signature was not made by the address of the challenge.",
    remedy: "Ask for a new challenge and sign it with the wallet of that address.",
    groups: ["LOGIN"],
  },
  PERMISSION_DENIED: {
    status: 403,
    problem: "The API key lacks the permission for this request.",
    remedy: "Use a key that has it, or a session.",
    groups: [...KEY, "TRADING_OP", "SOCKET_AUTH", "SUBSCRIBE"],
  },
  SESSION_REQUIRED: {
    status: 403,
    problem: "This request needs a wallet session; an API key is not enough.",
    remedy: "Log in with the wallet and send the session token.",
    groups: ["SESSION"],
  },
  SYMBOL_NOT_ALLOWED: {
    status: 403,
    problem: "The API key may not trade this symbol.",
    remedy: "Use one of the symbols in details.allowed, or another key.",
    groups: [...TRADE_ONE_SYMBOL, "BATCH"],
  },
  IP_NOT_ALLOWED: {
    status: 403,
    problem: "The API key may not be used from this address.",
    remedy: "Send the request from an allowed address, or use another key.",
    groups: [...KEY, "SOCKET_AUTH"],
  },
  OPERATOR_REQUIRED: {
    status: 403,
    problem: "This request needs the operator's token.",
    remedy: "Send the token as Authorization: Bearer TOKEN.",
    groups: ["OPERATOR"],
  },
  NOT_FOUND: {
    status: 404,
    problem: "There is no such path.",
    remedy: "Use a path that GET /v1/docs lists: they begin with /v1 and end without a slash.",
    groups: ["NO_ENDPOINT"],
  },
  SESSION_NOT_FOUND: {
    status: 404,
    problem: "The account has no such session.",
    remedy: "Use a session that GET /auth/sessions lists.",
    groups: ["END_SESSION"],
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    problem: "The path does not support this method.",
    remedy: "Use one of the methods in details.allowed.",
    groups: ["NO_ENDPOINT"],
  },
  REQUEST_TIMEOUT: {
    status: 408,
    problem: "The request did not arrive in time.",
    remedy: "Send it again on a new connection.",
    retryable: true,
    groups: ["HTTP"],
  },
  BODY_TOO_LARGE: {
    status: 413,
    problem: `The body is larger than ${MAX_BODY_BYTES} bytes.`,
    remedy: "Send less in one request.",
    groups: ["HTTP"],
  },
  UPGRADE_REQUIRED: {
    status: 426,
    problem: "This path speaks WebSocket only.",
    remedy: "Connect to it by ws:// or wss:// with a WebSocket client.",
    groups: ["OPEN_SOCKET"],
  },
  RATE_LIMITED: {
    status: 429,
    problem: "Too many requests.",
    remedy: "Send the request again after details.retryAfterMs milliseconds.",
    retryable: true,
    groups: ["HTTP", "MESSAGE"],
  },
  TOO_MANY_SOCKETS: {
    status: 429,
    problem: "Too many WebSockets are open from this address.",
    remedy: "Close one of them first; details.limit is the maximum.",
    retryable: true,
    groups: ["OPEN_SOCKET"],
  },
  INTERNAL: {
    status: 500,
    problem: "The exchange failed to handle the request; the fault has been logged.",
    remedy: "Check whether the request took effect before you send it again.",
    groups: ["HTTP", "MESSAGE"],
  },
  OVERLOADED: {
    status: 503,
    problem: "The exchange is too busy; nothing was done.",
    remedy: "Send the request again in a moment.",
    retryable: true,
    groups: ["HTTP", "TRADING_OP", "SOCKET_AUTH"],
  },
  STORAGE_FULL: {
    status: 503,
    problem: "The exchange's disk is nearly full; nothing was done.",
    remedy: "Try again later; canceling, closing and reading work meanwhile.",
    retryable: true,
    groups: ["HTTP", "TRADING_OP"],
  },
  UNAVAILABLE: {
    status: 503,
    problem: "This part of the exchange is being rebuilt after a fault; nothing was done.",
    remedy: "Send the request again in a moment.",
    retryable: true,
    groups: ["HTTP", "TRADING_OP"],
  },
  NOT_READY: {
    status: 503,
    problem: "The exchange is starting or stopping; nothing was done.",
    remedy: "Send the request again in a moment.",
    retryable: true,
    groups: ["HTTP", "TRADING_OP"],
  },
  TIMEOUT: {
    status: 503,
    problem: "The engine did not answer in time, so it is not known whether the request took effect.",
    remedy: "Send the same request again: with the same clientOrderId or reference it takes effect once.",
    retryable: true,
    groups: ["HTTP", "TRADING_OP"],
  },
} satisfies Record<string, ErrorSpec>;

/** The codes that a WebSocket and REST share. */
export const ERRORS = { ...REFUSALS, ...GATEWAY_ERRORS };
export type ErrorCode = keyof typeof ERRORS;

/** The codes of WebSockets alone, which have no HTTP status. The socket stays open. */
export const SOCKET_ERRORS = {
  UNKNOWN_OP: {
    problem: "There is no such op.",
    remedy: "Use an op that GET /v1/asyncapi.json lists.",
    groups: [],
  },
  UNKNOWN_CHANNEL: {
    problem: "There is no such channel.",
    remedy: "Use a channel that GET /v1/asyncapi.json lists.",
    groups: ["SUBSCRIBE", "UNSUBSCRIBE"],
  },
  TOO_MANY_SUBSCRIPTIONS: {
    problem: "The socket already has the maximum number of subscriptions.",
    remedy: "Unsubscribe from a channel first, or open another socket.",
    groups: ["SUBSCRIBE"],
  },
  ALREADY_AUTHENTICATED: {
    problem: "The socket acts for another account.",
    remedy: "Open one socket for each account.",
    groups: ["SOCKET_AUTH"],
  },
} satisfies Record<string, Omit<ErrorSpec, "status">>;
export type SocketErrorCode = keyof typeof SOCKET_ERRORS;

/** The declaration of a code. Only those of ERRORS have a status. */
export const specOf = (code: ErrorCode | SocketErrorCode): Omit<ErrorSpec, "status"> =>
  code in ERRORS ? ERRORS[code as ErrorCode] : SOCKET_ERRORS[code as SocketErrorCode];

/** What a client reads: the problem and the remedy. */
export function messageOf(code: ErrorCode | SocketErrorCode): string {
  const { problem, remedy } = specOf(code);
  return `${problem} ${remedy}`;
}

/** The codes of any of these groups, without those of WebSockets alone. */
export const errorsIn = (...groups: ErrorGroup[]): ErrorCode[] => codesIn(ERRORS, groups);

/** The same with the codes of WebSockets alone. */
export const socketErrorsIn = (...groups: ErrorGroup[]): (ErrorCode | SocketErrorCode)[] => [
  ...codesIn(ERRORS, groups),
  ...codesIn(SOCKET_ERRORS, groups),
];

function codesIn<C extends string>(
  table: Readonly<Record<C, Pick<ErrorSpec, "groups">>>,
  groups: readonly ErrorGroup[],
): C[] {
  const codes = Object.keys(table) as C[];
  return codes.filter((code) => table[code].groups.some((group) => groups.includes(group)));
}

/** The codes of one item in the answer to a batch. A request that is wrong in itself refuses the whole batch instead. */
export const BATCH_ITEM_ERRORS = errorsIn("PLACE", "AMEND", "CANCEL", "BATCH_ITEM").filter((code) => code in REFUSALS);
