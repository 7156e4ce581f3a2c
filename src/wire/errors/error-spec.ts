import type { Permission } from "../../core/base/enums.ts";

/** A set of requests that may be answered with the same codes. An endpoint combines several of them. */
export type ErrorGroup =
  /** Every HTTP request; every WebSocket message; every trading request on a WebSocket; a path without an endpoint. */
  | ("HTTP" | "MESSAGE" | "TRADING_OP" | "NO_ENDPOINT")
  /** By the content of the request: fields in query or body, a body, none, a symbol, a startTime, a minSequence. */
  | ("FIELDS" | "BODY" | "NO_BODY" | "SYMBOL" | "START_TIME" | "READS")
  /** By the credentials that the endpoint asks for. */
  | (Permission | "SESSION" | "OPERATOR" | "METRICS")
  /** By what is asked of the exchange. BATCH_ITEM: only as one item of a batch. */
  | ("PLACE" | "AMEND" | "CANCEL" | "CANCEL_ALL" | "BATCH" | "BATCH_ITEM" | "FIND_ORDER" | "MAX_ORDER_SIZE")
  | ("CLOSE_POSITION" | "SET_LEVERAGE" | "SET_MARGIN_MODE" | "MOVE_MARGIN" | "DEPOSIT" | "WITHDRAWAL")
  | ("APPROVAL" | "ADD_ADDRESS" | "REMOVE_ADDRESS")
  | ("LOGIN" | "END_SESSION" | "CREATE_KEY" | "REVOKE_KEY" | "SET_INDEX_PRICE" | "STEP_DOWN")
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

// Groups that several codes share.
export const KEY = ["READ", "TRADE", "WITHDRAW"] as const;
export const POSITION_SETTINGS = ["SET_LEVERAGE", "SET_MARGIN_MODE", "MOVE_MARGIN"] as const;
export const TRADE_ONE_SYMBOL = [
  "PLACE",
  "AMEND",
  "CANCEL",
  "CANCEL_ALL",
  "CLOSE_POSITION",
  ...POSITION_SETTINGS,
] as const;
