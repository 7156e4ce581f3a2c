import {
  AuthenticationError,
  BadRequest,
  BadSymbol,
  DuplicateOrderId,
  ExchangeError,
  ExchangeNotAvailable,
  InsufficientFunds,
  InvalidNonce,
  InvalidOrder,
  MarketClosed,
  OperationRejected,
  OrderImmediatelyFillable,
  OrderNotFound,
  PermissionDenied,
  RateLimitExceeded,
  RequestTimeout,
} from "ccxt";
import { ERRORS, type ErrorCode } from "../wire/error-codes.ts";

type ErrorClass = new (message: string) => Error;

/** The codes whose class does not follow from their HTTP status. */
const BY_CODE: Readonly<Record<string, ErrorClass>> = {
  INSUFFICIENT_MARGIN: InsufficientFunds,
  INSUFFICIENT_BALANCE: InsufficientFunds,
  PRICE_TOO_HIGH: InvalidOrder,
  PRICE_NOT_ON_TICK: InvalidOrder,
  QUANTITY_TOO_SMALL: InvalidOrder,
  QUANTITY_TOO_LARGE: InvalidOrder,
  QUANTITY_NOT_ON_STEP: InvalidOrder,
  NOTIONAL_TOO_SMALL: InvalidOrder,
  POST_ONLY_WOULD_TRADE: OrderImmediatelyFillable,
  ORDER_NOT_FOUND: OrderNotFound,
  ORDER_NOT_OPEN: OrderNotFound,
  CLIENT_ORDER_ID_REUSED: DuplicateOrderId,
  UNKNOWN_SYMBOL: BadSymbol,
  SYMBOL_HALTED: MarketClosed,
  STALE_PRICE: MarketClosed,
  OPEN_ORDERS_EXIST: OperationRejected,
  POSITION_NOT_ISOLATED: OperationRejected,
  TOO_MANY_KEYS: OperationRejected,
  TOO_MANY_SUBSCRIPTIONS: OperationRejected,
  ALREADY_AUTHENTICATED: OperationRejected,
  LEVERAGE_OUT_OF_RANGE: BadRequest,
  DEPOSIT_CAP: BadRequest,
  UNKNOWN_OP: BadRequest,
  UNKNOWN_CHANNEL: BadRequest,
  TIMESTAMP_OUT_OF_WINDOW: InvalidNonce,
  SIGNATURE_REPLAYED: InvalidNonce,
  // The only 503 whose outcome is unknown.
  TIMEOUT: RequestTimeout,
};

/** 422 is a refusal of the engine, which nearly always concerns an order. */
const BY_STATUS: Readonly<Record<number, ErrorClass>> = {
  400: BadRequest,
  401: AuthenticationError,
  403: PermissionDenied,
  404: BadRequest,
  405: BadRequest,
  408: RequestTimeout,
  409: BadRequest,
  413: BadRequest,
  422: InvalidOrder,
  426: BadRequest,
  429: RateLimitExceeded,
  503: ExchangeNotAvailable,
};

/**
 * ccxt's class for a code. A WebSocket answer has no HTTP status, so the declared one of a known code comes first. `status`,
 * 0 on a WebSocket, decides about a code that is newer than this program.
 */
export const errorClass = (code: string, status: number): ErrorClass =>
  BY_CODE[code] ?? BY_STATUS[ERRORS[code as ErrorCode]?.status ?? status] ?? ExchangeError;
