import type { Static } from "../packages/typebox.ts";
import type * as account from "../wire/schema/account.ts";
import type * as auth from "../wire/schema/auth.ts";
import type * as batch from "../wire/schema/batch.ts";
import type * as channels from "../wire/schema/channels.ts";
import type * as market from "../wire/schema/market.ts";
import type * as orderSize from "../wire/schema/order-size.ts";
import type * as orders from "../wire/schema/orders.ts";
import type * as positionHistory from "../wire/schema/position-history.ts";
import type * as risk from "../wire/schema/risk.ts";
import type * as system from "../wire/schema/system.ts";

/** Requests and responses: the types of the schemas by which the exchange checks requests. */

/** An attached take-profit or stop-loss. Null counts as left out, so that one that an order shows can be sent again. */
export type AttachedLeg = Omit<Static<typeof orders.AttachedLeg>, "price" | "maxSlippage"> & {
  price?: string | null;
  maxSlippage?: string | null;
};
type WithLegs<T> = Omit<T, "takeProfit" | "stopLoss"> & {
  takeProfit?: AttachedLeg | null;
  stopLoss?: AttachedLeg | null;
};
export type NewOrder = WithLegs<Omit<Static<typeof orders.PlaceOrderBody>, "dryRun">>;
export type DryRunOrder = Static<typeof orders.DryRunOrder>;
/** @deprecated The name of DryRunOrder until now. */
export type TriedOrder = DryRunOrder;
export type MaxOrderSizeQuery = Static<typeof orderSize.MaxOrderSizeQuery>;
export type MaxOrderSize = Static<typeof orderSize.MaxOrderSize>;
export type CloseRequest = Static<typeof orders.ClosePositionBody>;
export type OrderChanges = WithLegs<Static<typeof orders.AmendOrderBody>>;
type BatchBody = Static<typeof batch.BatchBody>;
type ItemWithLegs<T> = T extends { action: "CANCEL" } ? T : WithLegs<T>;
export type BatchItem = ItemWithLegs<BatchBody["items"][number]>;
export type Batch = Omit<BatchBody, "items"> & { items: BatchItem[] };
export type BatchResult = Static<typeof batch.BatchItemResult>;
export type BatchResults = Static<typeof batch.BatchResults>;
export type CancelAllQuery = Static<typeof orders.CancelAllQuery>;
export type CancelSwitch = Static<typeof orders.CancelSwitch>;
export type OpenOrdersQuery = Static<typeof orders.OpenOrdersQuery>;
export type OrderHistoryQuery = Static<typeof orders.OrderHistoryQuery>;
export type Order = Static<typeof orders.Order>;
export type PlacedOrder = Static<typeof orders.PlacedOrder>;
export type OrderList = Static<typeof orders.OrderList>;
export type CanceledOrders = Static<typeof orders.CanceledOrders>;
export type Fill = Static<typeof orders.Fill>;
export type FillList = Static<typeof orders.FillList>;
export type Leverage = Static<typeof orders.Leverage>;
export type MarginMode = Static<typeof orders.MarginMode>;

export type DepositRequest = Static<typeof account.DepositBody>;
export type WithdrawRequest = Static<typeof account.WithdrawBody>;
export type ApprovedWithdrawal = Omit<WithdrawRequest, "approval">;
export type NewWithdrawalAddress = Omit<Static<typeof account.WithdrawalAddressBody>, "approval">;
export type WithdrawalAddress = Static<typeof account.AddedWithdrawalAddress>;
export type WithdrawalAddressList = Static<typeof account.WithdrawalAddressList>;
export type PositionsQuery = Static<typeof account.PositionsQuery>;
export type FillsQuery = Static<typeof account.FillsQuery>;
export type TransfersQuery = Static<typeof account.TransfersQuery>;
export type Position = Static<typeof account.Position>;
export type MovedMargin = Static<typeof account.MovedMargin>;
export type PositionList = Static<typeof account.PositionList>;
export type PositionHistoryQuery = Static<typeof positionHistory.PositionHistoryQuery>;
export type ClosedPosition = Static<typeof positionHistory.ClosedPosition>;
export type ClosedPositionList = Static<typeof positionHistory.ClosedPositionList>;
export type Balance = Static<typeof account.Balance>;
export type MarginCallSetting = Static<typeof account.MarginCallSetting>;
export type MarginCall = Static<typeof account.MarginCall>;
export type EquityHistoryQuery = Static<typeof account.EquityHistoryQuery>;
export type EquityPoint = Static<typeof account.EquityPoint>;
export type LedgerQuery = Static<typeof account.LedgerQuery>;
export type LedgerEntry = Static<typeof account.LedgerEntry>;
export type LedgerList = Static<typeof account.LedgerList>;
export type Transfer = Static<typeof account.RequestedTransfer>;
export type TransferList = Static<typeof account.TransferList>;

export type Challenge = Static<typeof auth.Challenge>;
export type Session = Static<typeof auth.Session>;
export type OpenSessionList = Static<typeof auth.OpenSessionList>;
export type NewApiKey = Omit<Static<typeof auth.CreateKeyBody>, "approval">;
export type CreatedApiKey = Static<typeof auth.CreatedKey>;
export type ApiKeyList = Static<typeof auth.ApiKeyList>;

export type TradesQuery = Static<typeof market.TradesQuery>;
export type KlinesQuery = Static<typeof market.KlinesQuery>;
export type Ticker = Static<typeof market.Ticker>;
export type SparklineList = Static<typeof market.SparklineList>;
export type MarkPrice = Static<typeof market.MarkPrice>;
export type TickerList = Static<typeof market.TickerList>;
export type Kline = Static<typeof market.Kline>;
export type KlineList = Static<typeof market.KlineList>;
export type PublicTrade = Static<typeof market.PublicTrade>;
export type PublicTradeList = Static<typeof market.PublicTradeList>;
export type Instrument = Static<typeof market.Instrument>;
export type InstrumentList = Static<typeof market.InstrumentList>;
/** [price, quantity] */
export type Level = [price: string, quantity: string];
export type OrderBook = Omit<Static<typeof market.OrderBook>, "bids" | "asks"> & { bids: Level[]; asks: Level[] };

export type FundingQuery = Static<typeof risk.FundingQuery>;
export type FundingList = Static<typeof risk.FundingList>;
export type FundingPaymentsQuery = Static<typeof risk.FundingPaymentsQuery>;
export type FundingPayment = Static<typeof risk.FundingPayment>;
export type FundingPaymentList = Static<typeof risk.FundingPaymentList>;
export type InsuranceQuery = Static<typeof risk.InsuranceQuery>;
export type Insurance = Static<typeof risk.Insurance>;
export type OpenInterest = Static<typeof risk.OpenInterest>;
export type OpenInterestHistoryQuery = Static<typeof risk.OpenInterestHistoryQuery>;
export type OpenInterestHistory = Static<typeof risk.OpenInterestHistory>;

export type ServerTime = Static<typeof system.ServerTime>;
export type Health = Static<typeof system.Health>;
export type Alive = Static<typeof system.Alive>;
export type Replication = Static<typeof system.Replication>;
export type StepDown = Static<typeof system.StepDown>;
export type Ready = Static<typeof system.Ready>;
export type IndexPrice = Static<typeof system.IndexPrice>;
export type HaltMode = NonNullable<Static<typeof system.HaltBody>["mode"]>;
export type TradingStatus = Static<typeof system.TradingStatus>;
export type Audit = Static<typeof system.Audit>;
export type OperatorActsQuery = Static<typeof system.OperatorActsQuery>;
export type OperatorActList = Static<typeof system.OperatorActList>;
/** `details`: figures by name, such as what was required and the limit. */
export type ErrorBody = Omit<Static<typeof system.ErrorBody>, "details"> & { details?: Record<string, unknown> };

/** One page of a list. `nextCursor` requests the next page; null = last page. */
export interface Page<T> {
  data: T[];
  nextCursor: string | null;
}

// ---- streams --------------------------------------------------------------------------------------------------------

/** Values for which the exchange keeps a stream. */
export type BookDepth = NonNullable<Static<typeof channels.CHANNELS.orderbook>["depth"]>;
/** Of the book and of trades. */
export type BookPaceMs = NonNullable<Static<typeof channels.CHANNELS.orderbook>["updateMs"]>;
export type TickerPaceMs = NonNullable<Static<typeof channels.CHANNELS.ticker>["updateMs"]>;

/** A channel to subscribe to. */
export interface ChannelRequest {
  channel: ChannelMessage["channel"];
  symbol?: string;
  depth?: BookDepth;
  updateMs?: BookPaceMs | TickerPaceMs;
  interval?: KlinesQuery["interval"];
  priceType?: KlinesQuery["priceType"];
  /** The last sequence that was seen: missed messages are sent instead of a snapshot where possible. */
  resume?: number;
}

/** Fields of every stream message. `prevSequence`: the sequence of the message before; null in a snapshot. */
interface StreamMessage {
  type: "SNAPSHOT" | "DELTA" | "UPDATE";
  sequence: number;
  prevSequence: number | null;
}

/** A quantity of "0" removes a level. */
export interface OrderBookMessage extends StreamMessage {
  channel: "orderbook";
  symbol: string;
  depth: BookDepth;
  /** Of a subscription that names one other than 0. */
  updateMs?: BookPaceMs;
  checksum: number;
  time: number;
  bids: Level[];
  asks: Level[];
}

/** Rows of one symbol, oldest first. */
interface SymbolMessage<Channel, Row> extends StreamMessage {
  channel: Channel;
  symbol: string;
  data: Row[];
}

/** Rows of all symbols when the subscription names none. */
interface AnySymbolMessage<Channel, Row> extends StreamMessage {
  channel: Channel;
  symbol?: string;
  data: Row[];
}

/** Oldest first. */
export interface TradesMessage extends AnySymbolMessage<"trades", PublicTrade> {
  /** Of a subscription that names one other than 0. */
  updateMs?: BookPaceMs;
}
/** Liquidation trades, and positions taken over by the insurance fund or by deleveraging. Oldest first. */
export type LiquidationsMessage = AnySymbolMessage<"liquidations", PublicTrade>;

export interface TickerMessage extends StreamMessage {
  channel: "ticker";
  symbol: string;
  updateMs: TickerPaceMs;
  data: Ticker;
}

/** Snapshot: the tickers of all symbols. Update: those that have changed. */
export interface TickersMessage extends StreamMessage {
  channel: "tickers";
  updateMs: TickerPaceMs;
  data: Ticker[];
}

/** Snapshot: all symbols, or the one that was named. Update: those that have changed. */
export type MarkPriceMessage = AnySymbolMessage<"mark-price", MarkPrice>;

/** Snapshot: all instruments, or the one that was named. Update: those whose status or limits have changed. */
export type SymbolsMessage = AnySymbolMessage<"symbols", Instrument>;

/** The current candle, and the one before it when it has just closed. Empty before the first candle. */
export interface KlinesMessage extends SymbolMessage<"klines", Kline> {
  /** Time of the symbol up to which the candles are complete. */
  time: number;
  interval: KlinesQuery["interval"];
  priceType: NonNullable<KlinesQuery["priceType"]>;
}

/** Snapshot: open orders, newest first. Update: orders that one transaction changed, closed ones included. */
export type OrdersMessage = AnySymbolMessage<"orders", Order>;
/** Snapshot: the last 100. Update: those of one transaction. Oldest first. */
export type FillsMessage = AnySymbolMessage<"fills", Fill>;
/** A closed position has the size "0". */
export type PositionsMessage = AnySymbolMessage<"positions", Position>;
/** Snapshot: the last 100 closed positions. Update: those of one transaction. Oldest first. */
export type PositionHistoryMessage = AnySymbolMessage<"positions-history", ClosedPosition>;
/** Snapshot: the last 100 payments. Update: those of one transaction. Oldest first. */
export type FundingMessage = AnySymbolMessage<"funding", FundingPayment>;

export interface BalanceMessage extends StreamMessage {
  channel: "balance";
  data: Balance;
}

/** Snapshot: the last 100, oldest first. Update: each transfer that is requested or changes its status. */
export interface TransfersMessage extends StreamMessage {
  channel: "transfers";
  data: Transfer[];
}

/** Snapshot: the active calls. Update: each call that begins or ends. */
export interface MarginCallsMessage extends StreamMessage {
  channel: "margin-calls";
  data: MarginCall[];
}

export type ChannelMessage =
  | MarginCallsMessage
  | SymbolsMessage
  | OrderBookMessage
  | TradesMessage
  | LiquidationsMessage
  | TickerMessage
  | TickersMessage
  | MarkPriceMessage
  | KlinesMessage
  | OrdersMessage
  | FillsMessage
  | PositionsMessage
  | PositionHistoryMessage
  | BalanceMessage
  | TransfersMessage
  | FundingMessage;
