/**
 * Enums of orders, trades, symbols and accounts: the numbers in messages, and their names in the API. The numbers are on disk,
 * so they never change.
 */

export const BUY = 0;
export const SELL = 1;
export type Side = 0 | 1;
export const SIDES = ["BUY", "SELL"] as const;
export const otherSide = (side: number): Side => (side === BUY ? SELL : BUY);

export const LIMIT = 0;
export const MARKET = 1;
/** Conditional types: when their trigger price comes, they act as a limit order, or with _MARKET as a market order. */
export const STOP = 2;
export const STOP_MARKET = 3;
export const TAKE_PROFIT = 4;
export const TAKE_PROFIT_MARKET = 5;
/** A STOP_MARKET whose trigger price follows the best price. */
export const TRAILING_STOP_MARKET = 6;
export const ORDER_TYPES = [
  "LIMIT",
  "MARKET",
  "STOP",
  "STOP_MARKET",
  "TAKE_PROFIT",
  "TAKE_PROFIT_MARKET",
  "TRAILING_STOP_MARKET",
] as const;
export const isConditional = (orderType: number): boolean => orderType >= STOP;
/** Types without a limit price. */
export const isAtMarket = (orderType: number): boolean =>
  orderType === MARKET ||
  orderType === STOP_MARKET ||
  orderType === TAKE_PROFIT_MARKET ||
  orderType === TRAILING_STOP_MARKET;

/** The price that triggers a conditional order. */
export const BY_MARK = 0;
export const BY_LAST = 1;
export const BY_INDEX = 2;
export const TRIGGER_SOURCES = ["MARK", "LAST", "INDEX"] as const;

/** The book level that gives an order its price; index 0 = the order has a price. See price-match.ts. */
export const PRICE_MATCHES = [
  null,
  "OPPONENT",
  "OPPONENT_5",
  "OPPONENT_10",
  "OPPONENT_20",
  "QUEUE",
  "QUEUE_5",
  "QUEUE_10",
  "QUEUE_20",
] as const;

export const GTC = 0;
export const IOC = 1;
export const FOK = 2;
/** Like GTC, until its goodTillDate. */
export const GTD = 3;
export const TIMES_IN_FORCE = ["GTC", "IOC", "FOK", "GTD"] as const;

/** Order flags, one bit each. */
export const POST_ONLY = 1;
export const REDUCE_ONLY = 2;
/** A conditional order that closes the whole position, and ends with it. */
export const CLOSE_POSITION = 4;
/** A leg of another order, for the position that this one opens. */
export const ATTACHED = 8;
/** The exchange placed it to liquidate the account's position. */
export const LIQUIDATION_ORDER = 16;
/** The origin of an order. */
export const ORDER_CREATORS = ["USER", "LIQUIDATION"] as const;

export const EXPIRE_TAKER = 0;
export const EXPIRE_MAKER = 1;
export const EXPIRE_BOTH = 2;
export const DECREMENT = 3;
export const SELF_TRADE_PREVENTIONS = ["EXPIRE_TAKER", "EXPIRE_MAKER", "EXPIRE_BOTH", "DECREMENT"] as const;

export const STATUS_NEW = 0;
export const STATUS_PARTIALLY_FILLED = 1;
export const STATUS_FILLED = 2;
export const STATUS_CANCELED = 3;
export const STATUS_EXPIRED = 4;
export const STATUS_UNTRIGGERED = 5;
/** Refused when it was triggered: the reason says why. */
export const STATUS_REJECTED = 6;
export const ORDER_STATUSES = [
  "NEW",
  "PARTIALLY_FILLED",
  "FILLED",
  "CANCELED",
  "EXPIRED",
  "UNTRIGGERED",
  "REJECTED",
] as const;

/** Those of orders that have ended. */
export const CLOSED_STATUSES = ["FILLED", "CANCELED", "EXPIRED", "REJECTED"] as const;

/** In the book, or untriggered. */
export const isOpenStatus = (status: number): boolean =>
  status === STATUS_NEW || status === STATUS_PARTIALLY_FILLED || status === STATUS_UNTRIGGERED;

/** Why an order ended early or was reduced. Index 0 = no reason. */
export const REASON_NONE = 0;
export const REASON_USER = 1;
export const REASON_IOC_REMAINDER = 2;
export const REASON_FOK_UNFILLABLE = 3;
export const REASON_NO_LIQUIDITY = 4;
export const REASON_SELF_TRADE = 5;
export const REASON_REDUCE_ONLY = 6;
// 7, CLOSE_POSITION, is not used: the number stays reserved.
export const REASON_LIQUIDATION = 8;
/** The position that the order was to close no longer exists. */
export const REASON_POSITION_CLOSED = 9;
/** Its goodTillDate has passed. */
export const REASON_GOOD_TILL_DATE = 10;
/** A conditional order was refused when it was triggered: the error code of the same name. */
export const REASON_INSUFFICIENT_MARGIN = 11;
export const REASON_PRICE_OUT_OF_BAND = 12;
export const REASON_POSITION_LIMIT = 13;
export const REASON_POST_ONLY_WOULD_TRADE = 14;
export const REASON_NOTIONAL_TOO_SMALL = 15;
export const REASON_TOO_MANY_OPEN_ORDERS = 16;
/** The symbol accepts only orders that reduce positions. */
export const REASON_SYMBOL_HALTED = 17;
/** Refused for any other reason that refuses new orders. */
export const REASON_NOT_ACCEPTED = 18;
/** The other order of a take-profit and stop-loss pair was triggered. */
export const REASON_OTHER_FIRED = 19;
/** The time of the account's CancelAfter has passed. */
export const REASON_CANCEL_AFTER = 20;
export const REASONS = [
  null,
  "USER",
  "IOC_REMAINDER",
  "FOK_UNFILLABLE",
  "NO_LIQUIDITY",
  "SELF_TRADE",
  "REDUCE_ONLY",
  "CLOSE_POSITION",
  "LIQUIDATION",
  "POSITION_CLOSED",
  "GOOD_TILL_DATE",
  "INSUFFICIENT_MARGIN",
  "PRICE_OUT_OF_BAND",
  "POSITION_LIMIT",
  "POST_ONLY_WOULD_TRADE",
  "NOTIONAL_TOO_SMALL",
  "TOO_MANY_OPEN_ORDERS",
  "SYMBOL_HALTED",
  "NOT_ACCEPTED",
  "OTHER_FIRED",
  "CANCEL_AFTER",
] as const;

export const EXEC_TRADE = 0;
export const EXEC_LIQUIDATION = 1;
export const EXEC_ADL = 2;
export const EXEC_TYPES = ["TRADE", "LIQUIDATION", "ADL"] as const;

/** How a closed position was closed. MIXED: parts of it in different ways. */
export const CLOSE_TYPES = [...EXEC_TYPES, "MIXED"] as const;
export type CloseType = (typeof CLOSE_TYPES)[number];

/** The trading status of a symbol, from all allowed to nothing allowed: see halt.ts. */
export const MODE_TRADING = 0;
export const MODE_REDUCE_ONLY = 1;
export const MODE_CANCEL_ONLY = 2;
export const MODE_HALTED = 3;
export const TRADING_STATUSES = ["TRADING", "REDUCE_ONLY", "CANCEL_ONLY", "HALTED"] as const;
export type TradingStatus = (typeof TRADING_STATUSES)[number];

/** Why the status is not TRADING. Index 0 = no reason. */
export const HALT_REASONS = [
  null,
  "NO_PRICE",
  "STALE_INDEX",
  "OPERATOR",
  "PRICE_JUMP",
  "SELF_CHECK",
  "PRICE_PENDING",
] as const;
export const HALT_REASON = {
  NONE: 0,
  NO_PRICE: 1,
  STALE_INDEX: 2,
  OPERATOR: 3,
  PRICE_JUMP: 4,
  SELF_CHECK: 5,
  PRICE_PENDING: 6,
} as const;

/** The actions of operators: see OperatorActed. */
export const OPERATOR_ACTS = ["HALT", "RESUME", "INDEX_PRICE"] as const;
export type OperatorAct = (typeof OPERATOR_ACTS)[number];
export const OPERATOR_ACT = { HALT: 0, RESUME: 1, INDEX_PRICE: 2 } as const;

/** Why the ledger refuses withdrawals. OPEN: it does not. */
export const GATE = { OPEN: 0, FUND_BELOW_ZERO: 1, DEFICITS: 2, FUND_POSITIONS: 3 } as const;
/** The same in words. */
export const GATE_REASONS = [
  null,
  "the insurance fund is below zero",
  "accounts below zero owe more than the insurance fund has",
  "the insurance fund's positions are larger than its equity",
] as const;

/** Causes of changes of the insurance fund's money. */
export const FUND_MOVEMENTS = ["DEPOSIT", "LIQUIDATION_FEE", "TAKEOVER", "ADL", "TRADE", "FUNDING", "DEFICIT"] as const;
export type FundMovement = (typeof FUND_MOVEMENTS)[number];

/** Causes of changes of an account's money. */
export const LEDGER_ENTRY_TYPES = [
  "DEPOSIT",
  "WITHDRAWAL",
  "REALIZED_PNL",
  "FEE",
  "LIQUIDATION_FEE",
  "FUNDING",
  "DEFICIT_COVERED",
] as const;
export type LedgerEntryType = (typeof LEDGER_ENTRY_TYPES)[number];

export const CROSS = 0;
export const ISOLATED = 1;
export const MARGIN_MODES = ["CROSS", "ISOLATED"] as const;

export const PERMISSIONS = ["READ", "TRADE", "WITHDRAW"] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** The ledger's actor id. The actor id of a symbol is its instrument's id (1 to 255). */
export const LEDGER = 0;
/** Accounts of the exchange. The accounts of customers follow. */
export const FEE_ACCOUNT = 1;
export const INSURANCE_ACCOUNT = 2;
export const FIRST_CUSTOMER_ACCOUNT = 16;
export const isCustomer = (accountId: number): boolean => accountId >= FIRST_CUSTOMER_ACCOUNT;

/** An order or trade id contains its symbol, so the id alone finds its actor: serial × 256 + instrument id. */
export const serialToId = (serial: number, instrumentId: number): number => serial * 256 + instrumentId;
/** For an id of another symbol this is a fraction, which no order or trade has. */
export const idToSerial = (id: number, instrumentId: number): number => (id - instrumentId) / 256;
export const idToInstrumentId = (id: number): number => id % 256;
