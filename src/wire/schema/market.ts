import Type from "typebox";
import { EXEC_TYPES, HALT_REASONS, SIDES, TRADING_STATUSES } from "../../core/base/enums.ts";
import { INTERVALS, PRICE_TYPES } from "../../core/market-data/candles.ts";
import {
  DecimalOut,
  Id,
  listOf,
  MAX_DEPTH,
  nullable,
  object,
  pageQuery,
  Sequence,
  SymbolName,
  Time,
} from "./scalars.ts";

export const TickerQuery = object({ symbol: Type.Optional(SymbolName) });
export const SymbolsQuery = object({ symbol: Type.Optional(SymbolName) });
export const OrderBookQuery = object({
  symbol: SymbolName,
  depth: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_DEPTH, default: 100, description: "Levels of each side at most." }),
  ),
});
export const TradesQuery = object({ symbol: SymbolName, ...pageQuery });
export const KlinePriceType = Type.Enum(PRICE_TYPES, {
  default: "LAST",
  description:
    "What the candles are made of. LAST: trades. MARK and INDEX: mark and index prices, without volume, from 1m on.",
});
export const KlinesQuery = object({
  symbol: SymbolName,
  interval: Type.Enum(INTERVALS, { description: "UTC; weeks begin on Monday, 1M is a calendar month." }),
  priceType: Type.Optional(KlinePriceType),
  ...pageQuery,
});

/** What a symbol lets happen, and why not everything. */
export const Status = Type.Enum(TRADING_STATUSES, {
  description:
    "TRADING: everything. REDUCE_ONLY: orders that only reduce a position, and cancels. CANCEL_ONLY: cancels. HALTED: nothing.",
});
export const StatusReason = nullable(
  Type.Enum(
    HALT_REASONS.filter((reason) => reason !== null),
    { description: "Why it is not TRADING." },
  ),
);

const PriceOrNull = (description: string) => nullable(DecimalOut(description, "65000.5"));

export const Ticker = object(
  {
    symbol: SymbolName,
    status: Status,
    statusReason: StatusReason,
    lastPrice: PriceOrNull("Of the last trade."),
    markPrice: PriceOrNull(
      "What margin and profit are reckoned with: never further from the index than half of the first tier's maintenance " +
        "margin, and than three eighths of its initial margin.",
    ),
    indexPrice: PriceOrNull("Of the price source."),
    bidPrice: PriceOrNull("Best bid."),
    bidSize: DecimalOut("Quantity at the best bid; 0 where there is none.", "1.2"),
    askPrice: PriceOrNull("Best ask."),
    askSize: DecimalOut("Quantity at the best ask; 0 where there is none.", "0.7"),
    openPrice24h: PriceOrNull("24 hours ago."),
    highPrice24h: PriceOrNull("Highest trade in 24 hours."),
    lowPrice24h: PriceOrNull("Lowest trade in 24 hours."),
    priceChange24h: DecimalOut("lastPrice − openPrice24h; 0 before the first trade.", "-120.5"),
    priceChangePercent24h: DecimalOut("In percent.", "-0.18"),
    volume24h: DecimalOut("In the base asset.", "1234.5"),
    turnover24h: DecimalOut("In the quote asset.", "80242500.25"),
    openInterest: DecimalOut("Sum of all long positions.", "321.9"),
    fundingRate: DecimalOut("Of the current interval, if it ended now: positive = longs will pay shorts.", "0"),
    nextFundingTime: nullable(Time("When funding is next paid.")),
    fundingIntervalHours: Type.Integer({ minimum: 1, examples: [1] }),
    time: Time(
      "When something last happened in the symbol, such as a trade, an order or a price, or the exchange's start. The 24 hours " +
        "and `nextFundingTime` are those of the moment in which the ticker is read.",
    ),
  },
  { description: "A symbol at a glance." },
);
export const TickerList = listOf(Ticker, "All symbols.");

const Level = Type.Array(DecimalOut("Price, then quantity.", "65000.5"), { minItems: 2, maxItems: 2 });
export const OrderBook = object(
  {
    symbol: SymbolName,
    sequence: Sequence,
    time: Time(
      "When the book last changed. This and `sequence` are the start's until the book changes for the first time since the " +
        "exchange has started, also where it is the same as before.",
    ),
    checksum: Type.Integer({
      minimum: 0,
      maximum: 2 ** 32 - 1,
      description:
        "CRC-32 (as in zlib and PNG) of the best 25 levels of each side in turns, bid first, their texts joined by colons: " +
        "`bidPrice:bidQuantity:askPrice:askQuantity:…`. A side that has no level left is left out. The bids 65000.5 × 1.2 and " +
        "65000 × 3 and the ask 65001 × 0.5 are `65000.5:1.2:65001:0.5:65000:3`: 842467022. An empty book has 0.",
    }),
    bids: Type.Array(Level, { description: "Best first." }),
    asks: Type.Array(Level, { description: "Best first." }),
  },
  { description: "The best price levels. Icebergs stand in them with what they show." },
);

export const Kline = object(
  {
    openTime: Time("First millisecond."),
    closeTime: Time("Last millisecond."),
    open: DecimalOut("First trade, or price.", "65000.5"),
    high: DecimalOut("Highest one.", "65100"),
    low: DecimalOut("Lowest one.", "64900"),
    close: DecimalOut("Last one.", "65050"),
    volume: DecimalOut("In the base asset.", "12.3"),
    turnover: DecimalOut("In the quote asset.", "800115"),
    trades: Type.Integer({ minimum: 0, examples: [42] }),
    closed: Type.Boolean({
      description:
        "False while the interval runs, and until its last trade is on disk. A closed candle changes no more.",
    }),
  },
  { description: "A candle. Without trades, or prices, it is flat at the close before." },
);
export const KlineList = listOf(Kline, "Candles, oldest first. Without startTime the latest.");

export const PublicTrade = object(
  {
    tradeId: Id("The exchange's id."),
    symbol: SymbolName,
    side: Type.Enum(SIDES, { description: "The taker's." }),
    price: DecimalOut("What was traded at.", "65000.5"),
    quantity: DecimalOut("How much was traded.", "0.004"),
    time: Time("When it traded."),
    execType: Type.Enum(EXEC_TYPES),
    sequence: Sequence,
  },
  { description: "A trade as everyone sees it." },
);
export const PublicTradeList = listOf(PublicTrade, "Trades, newest first.");

const RiskTier = object({
  maxNotional: DecimalOut(
    "Of a position in this tier; of the last one, the most that orders may make of it.",
    "300000",
  ),
  maxLeverage: Type.Integer({ minimum: 1, examples: [100] }),
  initialMarginRate: DecimalOut("At least.", "0.01"),
  maintenanceMarginRate: DecimalOut("Of notional.", "0.004"),
  maintenanceDeduction: DecimalOut("Keeps maintenance margin continuous where tiers meet.", "0"),
});
export const Instrument = object(
  {
    symbol: SymbolName,
    baseAsset: Type.String({ examples: ["BTC"] }),
    quoteAsset: Type.String({ examples: ["USDC"] }),
    status: Status,
    statusReason: StatusReason,
    tickSize: DecimalOut("Prices are multiples of it.", "0.1"),
    stepSize: DecimalOut("Quantities are multiples of it.", "0.001"),
    minQuantity: DecimalOut("Of an order.", "0.001"),
    maxQuantity: DecimalOut("Of an order.", "100"),
    minNotional: DecimalOut("price × quantity of an order.", "5"),
    maxPrice: DecimalOut("No order may be priced above.", "1000000"),
    maxOpenOrders: Type.Integer({ minimum: 1, description: "Of one account.", examples: [1000] }),
    maxLeverage: Type.Integer({ minimum: 1, examples: [100] }),
    riskTiers: Type.Array(RiskTier),
    makerFeeRate: DecimalOut("Of notional.", "0.0002"),
    takerFeeRate: DecimalOut("Of notional.", "0.0005"),
    liquidationFeeRate: DecimalOut("Of notional.", "0.005"),
    priceBand: DecimalOut("How far from the mark a price may cross.", "0.05"),
    fundingIntervalHours: Type.Integer({ minimum: 1, examples: [1] }),
    fundingRateCap: DecimalOut("Of one interval.", "0.04"),
  },
  { description: "An instrument and its limits." },
);
export const InstrumentList = listOf(Instrument, "All instruments.");
