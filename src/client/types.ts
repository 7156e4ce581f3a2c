/** The API's resources and requests as a client sees them. Decimals are strings, times are ms since the epoch. */

export type Decimal = string;
export type TimeMs = number;

export type Side = "BUY" | "SELL";
export type OrderType = "LIMIT" | "MARKET";
export type TimeInForce = "GTC" | "IOC" | "FOK";
export type OrderStatus = "NEW" | "PARTIALLY_FILLED" | "FILLED" | "CANCELED" | "EXPIRED";
export type SelfTradePreventionMode = "EXPIRE_TAKER" | "EXPIRE_MAKER" | "EXPIRE_BOTH" | "DECREMENT";
export type ExecType = "TRADE" | "LIQUIDATION" | "ADL";
export type Permission = "READ" | "TRADE" | "WITHDRAW";

/** A page of a list. `nextCursor` asks for the next one; null = this was the last. */
export interface Page<T> {
  data: T[];
  nextCursor: string | null;
}

export interface PageQuery {
  symbol?: string;
  limit?: number;
  cursor?: string;
  startTime?: TimeMs;
  endTime?: TimeMs;
}

export interface Order {
  orderId: string;
  clientOrderId: string | null;
  symbol: string;
  side: Side;
  type: OrderType;
  timeInForce: TimeInForce;
  postOnly: boolean;
  reduceOnly: boolean;
  closePosition: boolean;
  /** null for a market order. */
  price: Decimal | null;
  quantity: Decimal;
  displayQuantity: Decimal | null;
  filledQuantity: Decimal;
  remainingQuantity: Decimal;
  avgPrice: Decimal | null;
  fee: Decimal;
  triggerPrice: Decimal | null;
  triggerBy: "MARK" | "LAST" | "INDEX" | null;
  goodTillDate: TimeMs | null;
  selfTradePreventionMode: SelfTradePreventionMode;
  status: OrderStatus;
  reason: string | null;
  createdAt: TimeMs;
  updatedAt: TimeMs;
  sequence: number;
}

/** What placing an order answers: the order, what it traded at once, and whether it is the first answer once more. */
export interface PlacedOrder extends Order {
  fills: Fill[];
  duplicate?: boolean;
}

export interface NewOrder {
  symbol: string;
  side: Side;
  type: OrderType;
  quantity: Decimal;
  price?: Decimal;
  timeInForce?: TimeInForce;
  postOnly?: boolean;
  reduceOnly?: boolean;
  selfTradePreventionMode?: SelfTradePreventionMode;
  clientOrderId?: string;
  expiresAt?: TimeMs;
}

export interface Fill {
  tradeId: string;
  orderId: string;
  clientOrderId: string | null;
  symbol: string;
  side: Side;
  price: Decimal;
  quantity: Decimal;
  quoteQuantity: Decimal;
  fee: Decimal;
  feeAsset: string;
  feeRate: Decimal;
  liquidity: "MAKER" | "TAKER";
  realizedPnl: Decimal;
  execType: ExecType;
  positionSize: Decimal;
  time: TimeMs;
  sequence: number;
}

export interface Position {
  symbol: string;
  /** null when there is none (size "0"). */
  side: "LONG" | "SHORT" | null;
  size: Decimal;
  entryPrice: Decimal | null;
  markPrice: Decimal | null;
  notional: Decimal;
  leverage: number;
  marginMode: "CROSS" | "ISOLATED";
  isolatedMargin: Decimal | null;
  initialMargin: Decimal;
  maintenanceMargin: Decimal;
  liquidationPrice: Decimal | null;
  bankruptcyPrice: Decimal | null;
  breakEvenPrice: Decimal | null;
  unrealizedPnl: Decimal;
  realizedPnl: Decimal;
  cumulativeFunding: Decimal;
  adlRank: number | null;
  openedAt: TimeMs | null;
  updatedAt: TimeMs | null;
  sequence: number;
}

export interface Balance {
  asset: string;
  walletBalance: Decimal;
  equity: Decimal;
  unrealizedPnl: Decimal;
  positionInitialMargin: Decimal;
  openOrderInitialMargin: Decimal;
  initialMargin: Decimal;
  maintenanceMargin: Decimal;
  availableBalance: Decimal;
  withdrawable: Decimal;
  marginRatio: Decimal | null;
  updatedAt: TimeMs;
  sequence: number;
}

export interface Transfer {
  transferId: string;
  kind: "DEPOSIT" | "WITHDRAWAL";
  asset: string;
  amount: Decimal;
  address: string | null;
  reference: string | null;
  status: "PENDING" | "SENT" | "COMPLETED" | "FAILED";
  txHash: string | null;
  createdAt: TimeMs;
  updatedAt: TimeMs;
}

export interface Ticker {
  symbol: string;
  status: string;
  lastPrice: Decimal | null;
  markPrice: Decimal | null;
  indexPrice: Decimal | null;
  bidPrice: Decimal | null;
  bidSize: Decimal;
  askPrice: Decimal | null;
  askSize: Decimal;
  openPrice24h: Decimal | null;
  highPrice24h: Decimal | null;
  lowPrice24h: Decimal | null;
  priceChange24h: Decimal;
  priceChangePercent24h: Decimal;
  volume24h: Decimal;
  turnover24h: Decimal;
  openInterest: Decimal;
  fundingRate: Decimal;
  nextFundingTime: TimeMs;
  fundingIntervalHours: number;
  time: TimeMs;
}

/** [price, quantity] */
export type Level = [Decimal, Decimal];

export interface OrderBook {
  symbol: string;
  sequence: number;
  time: TimeMs;
  checksum: number;
  /** Best first. */
  bids: Level[];
  asks: Level[];
}

export interface Kline {
  openTime: TimeMs;
  closeTime: TimeMs;
  open: Decimal;
  high: Decimal;
  low: Decimal;
  close: Decimal;
  volume: Decimal;
  turnover: Decimal;
  trades: number;
  closed: boolean;
}

export type KlineInterval =
  | "1s"
  | "1m"
  | "3m"
  | "5m"
  | "15m"
  | "30m"
  | "1h"
  | "2h"
  | "4h"
  | "6h"
  | "8h"
  | "12h"
  | "1d"
  | "3d"
  | "1w"
  | "1M";

export interface PublicTrade {
  tradeId: string;
  symbol: string;
  /** The taker's. */
  side: Side;
  price: Decimal;
  quantity: Decimal;
  time: TimeMs;
  execType: ExecType;
  sequence: number;
}

export interface RiskTier {
  maxNotional: Decimal;
  maxLeverage: number;
  initialMarginRate: Decimal;
  maintenanceMarginRate: Decimal;
  maintenanceDeduction: Decimal;
}

export interface Instrument {
  symbol: string;
  baseAsset: string;
  quoteAsset: string;
  status: "TRADING" | "REDUCE_ONLY" | "CANCEL_ONLY" | "HALTED";
  tickSize: Decimal;
  stepSize: Decimal;
  minQuantity: Decimal;
  maxQuantity: Decimal;
  minNotional: Decimal;
  maxLeverage: number;
  riskTiers: RiskTier[];
  makerFeeRate: Decimal;
  takerFeeRate: Decimal;
  liquidationFeeRate: Decimal;
  priceBand: Decimal;
  fundingIntervalHours: number;
  fundingRateCap: Decimal;
}

export interface Challenge {
  message: string;
  nonce: string;
  expiresAt: TimeMs;
}

export interface Session {
  token: string;
  accountId: string;
  address: string;
  expiresAt: TimeMs;
}

export interface NewApiKey {
  label: string;
  permissions: Permission[];
  allowedIps?: string[];
  expiresAt?: TimeMs;
}

export interface ApiKey {
  apiKey: string;
  label: string;
  permissions: Permission[];
  allowedIps: string[];
  expiresAt: TimeMs | null;
  createdAt: TimeMs;
}

/** `secret` is shown this once. */
export interface CreatedApiKey extends ApiKey {
  secret: string;
}

/** A channel as a client subscribes to it. */
export interface ChannelRequest {
  channel: "orderbook" | "trades" | "positions" | "balance";
  symbol?: string;
  depth?: number;
  updateMs?: number;
}

/** What every message of a stream bears. `prevSequence` is that of the message before it; null in a snapshot. */
interface StreamMessage {
  type: "SNAPSHOT" | "DELTA" | "UPDATE";
  sequence: number;
  prevSequence: number | null;
}

export interface OrderBookMessage extends StreamMessage {
  channel: "orderbook";
  symbol: string;
  depth: number;
  checksum: number;
  time: TimeMs;
  bids: Level[];
  asks: Level[];
}

export interface TradesMessage extends StreamMessage {
  channel: "trades";
  symbol: string;
  data: PublicTrade[];
}

export interface PositionsMessage extends StreamMessage {
  channel: "positions";
  symbol?: string;
  data: Position[];
}

export interface BalanceMessage extends StreamMessage {
  channel: "balance";
  data: Balance;
}

export type ChannelMessage = OrderBookMessage | TradesMessage | PositionsMessage | BalanceMessage;
