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

type ErrorClass = new (message: string) => Error;

/** Codes that ccxt has a narrower name for than their status says. */
const BY_CODE: Readonly<Record<string, ErrorClass>> = {
  INSUFFICIENT_MARGIN: InsufficientFunds,
  INSUFFICIENT_BALANCE: InsufficientFunds,
  PRICE_TOO_HIGH: InvalidOrder,
  QUANTITY_TOO_SMALL: InvalidOrder,
  QUANTITY_TOO_LARGE: InvalidOrder,
  NOTIONAL_TOO_SMALL: InvalidOrder,
  PRICE_NOT_ON_TICK: InvalidOrder,
  QUANTITY_NOT_ON_STEP: InvalidOrder,
  POST_ONLY_WOULD_TRADE: OrderImmediatelyFillable,
  ORDER_NOT_FOUND: OrderNotFound,
  ORDER_NOT_OPEN: OrderNotFound,
  CLIENT_ORDER_ID_REUSED: DuplicateOrderId,
  UNKNOWN_SYMBOL: BadSymbol,
  SYMBOL_HALTED: MarketClosed,
  STALE_PRICE: MarketClosed,
  LEVERAGE_OUT_OF_RANGE: BadRequest,
  OPEN_ORDERS_EXIST: OperationRejected,
  POSITION_NOT_ISOLATED: OperationRejected,
  DEPOSIT_CAP: BadRequest,
  TIMESTAMP_OUT_OF_WINDOW: InvalidNonce,
  SIGNATURE_REPLAYED: InvalidNonce,
  // The one 503 of which it is not known that nothing was done.
  TIMEOUT: RequestTimeout,
};

/** 422 is what the exchange itself refused, which nearly always is an order. */
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

/** A WebSocket names no status. */
const BY_SOCKET_CODE: Readonly<Record<string, ErrorClass>> = {
  UNAUTHENTICATED: AuthenticationError,
  INVALID_TOKEN: AuthenticationError,
  INVALID_KEY_OR_SIGNATURE: AuthenticationError,
  KEY_EXPIRED: AuthenticationError,
  PERMISSION_DENIED: PermissionDenied,
  IP_NOT_ALLOWED: PermissionDenied,
  RATE_LIMITED: RateLimitExceeded,
  TOO_MANY_SOCKETS: RateLimitExceeded,
  OVERLOADED: ExchangeNotAvailable,
  UNAVAILABLE: ExchangeNotAvailable,
  STORAGE_FULL: ExchangeNotAvailable,
  NOT_READY: ExchangeNotAvailable,
};

/** ccxt's class for a code and its HTTP status, 0 on a WebSocket. */
export const errorClass = (code: string, status: number): ErrorClass =>
  BY_CODE[code] ?? (status === 0 ? BY_SOCKET_CODE[code] : BY_STATUS[status]) ?? ExchangeError;
