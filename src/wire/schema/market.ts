import { HALT_REASONS, SIDES, TRADING_STATUSES } from "../../core/base/enums.ts";
import { INTERVALS, PRICE_TYPES } from "../../core/market-data/candles.ts";
import { SPARKLINE_INTERVAL, SPARKLINE_POINTS } from "../../core/market-data/sparkline.ts";
import Type from "../../packages/typebox.ts";
import { ExecType } from "./orders.ts";
import {
  DecimalOut,
  Id,
  listOf,
  listQuery,
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
    Type.Integer({
      minimum: 1,
      maximum: MAX_DEPTH,
      default: 100,
      description: "Maximum number of price levels of each side.",
    }),
  ),
});
export const TradesQuery = object({ symbol: SymbolName, ...listQuery });
export const KlinePriceType = Type.Enum(PRICE_TYPES, {
  default: "LAST",
  description:
    "The source of the candles. LAST: trades. MARK and INDEX: mark and index prices. PREMIUM: the samples of the funding " +
    "premium, as a share of the index price. All but LAST have no volume, and intervals from 1m on.",
});
export const KlineInterval = Type.Enum(INTERVALS, {
  description: "In UTC. Weeks begin on Monday; 1M is a calendar month.",
});
export const KlinesQuery = object({
  symbol: SymbolName,
  interval: KlineInterval,
  priceType: Type.Optional(KlinePriceType),
  ...pageQuery,
});

export const SymbolStatus = Type.Enum(TRADING_STATUSES, {
  description:
    "What is possible. TRADING: everything. REDUCE_ONLY: orders that only reduce a position, and cancels. CANCEL_ONLY: " +
    "cancels. HALTED: nothing.",
});
export const SymbolStatusReason = Type.Enum(
  HALT_REASONS.filter((reason) => reason !== null),
  { description: "Why the status is not TRADING." },
);
export const StatusReason = nullable(SymbolStatusReason);

const PriceOrNull = (description: string) => nullable(DecimalOut(description, "65000.5"));

export const Ticker = object(
  {
    symbol: SymbolName,
    status: SymbolStatus,
    statusReason: StatusReason,
    lastPrice: PriceOrNull("Price of the last trade."),
    markPrice: PriceOrNull(
      "The price for margin and unrealized profit. Its distance from the index price is at most half of the first tier's " +
        "maintenance margin, and at most three eighths of its initial margin.",
    ),
    indexPrice: PriceOrNull("Price of the price source."),
    bidPrice: PriceOrNull("Best bid."),
    bidSize: DecimalOut("Quantity at the best bid. 0 if there is none.", "1.2"),
    askPrice: PriceOrNull("Best ask."),
    askSize: DecimalOut("Quantity at the best ask. 0 if there is none.", "0.7"),
    openPrice24h: PriceOrNull("Price 24 hours ago."),
    highPrice24h: PriceOrNull("Highest price of a trade in 24 hours."),
    lowPrice24h: PriceOrNull("Lowest price of a trade in 24 hours."),
    priceChange24h: DecimalOut("lastPrice − openPrice24h. 0 before the first trade.", "-120.5"),
    priceChangePercent24h: DecimalOut("priceChange24h in percent of openPrice24h.", "-0.18"),
    volume24h: DecimalOut("Volume of 24 hours in the base asset.", "1234.5"),
    turnover24h: DecimalOut("Turnover of 24 hours in the quote asset.", "80242500.25"),
    openInterest: DecimalOut("Sum of all long positions.", "321.9"),
    fundingRate: DecimalOut("Funding rate of the current interval if it ended now. Positive: longs pay shorts.", "0"),
    nextFundingTime: nullable(Time("When funding is next paid.")),
    fundingIntervalHours: Type.Integer({ minimum: 1, examples: [1] }),
    time: Time(
      "When something last happened in the symbol, such as a trade, an order or a price, or when the exchange started. The 24 " +
        "hours and `nextFundingTime` refer to the moment of reading instead.",
    ),
  },
  { description: "The ticker of a symbol." },
);
export const TickerList = listOf(Ticker, "All symbols.");

export const Sparkline = object(
  {
    symbol: SymbolName,
    interval: Type.Literal(SPARKLINE_INTERVAL),
    startTime: Time("First millisecond of the first interval. The last interval still runs."),
    lastPrice: Ticker.properties.lastPrice,
    priceChange24h: Ticker.properties.priceChange24h,
    priceChangePercent24h: Ticker.properties.priceChangePercent24h,
    prices: Type.Array(DecimalOut("Last price of an interval.", "65050"), {
      maxItems: SPARKLINE_POINTS,
      description: "Oldest first. An interval without a trade has the price before it. Empty before the first trade.",
    }),
  },
  { description: "The last day of a symbol as a small chart." },
);
export const SparklineList = listOf(Sparkline, "All symbols. At most a second old.");

const { markPrice, indexPrice, fundingRate, nextFundingTime } = Ticker.properties;
export const MarkPrice = object(
  {
    symbol: SymbolName,
    markPrice,
    indexPrice,
    fundingRate,
    nextFundingTime,
    time: nullable(Time("When the prices came. Null: there are none yet.")),
  },
  { description: "The prices of a symbol that trades do not make, and its funding." },
);

const Level = Type.Array(DecimalOut("Price, then quantity.", "65000.5"), { minItems: 2, maxItems: 2 });
export const OrderBook = object(
  {
    symbol: SymbolName,
    sequence: Sequence,
    time: Time(
      "When the book last changed. Until its first change after a start of the exchange, this and `sequence` are those of the " +
        "start.",
    ),
    checksum: Type.Integer({
      minimum: 0,
      maximum: 2 ** 32 - 1,
      description:
        "CRC-32 (as in zlib and PNG) over the best 25 levels of each side. Their texts alternate, bid first, and are joined by " +
        "colons: `bidPrice:bidQuantity:askPrice:askQuantity:…`. When one side has no more levels, the other side continues " +
        "alone. Example: the bids 65000.5 × 1.2 and 65000 × 3 and the ask 65001 × 0.5 give `65000.5:1.2:65001:0.5:65000:3` and " +
        "842467022. An empty book has 0.",
    }),
    bids: Type.Array(Level, { description: "Best first." }),
    asks: Type.Array(Level, { description: "Best first." }),
  },
  { description: "The best price levels. Iceberg orders count with their displayed quantity only." },
);

export const Kline = object(
  {
    openTime: Time("First millisecond of the interval."),
    closeTime: Time("Last millisecond of the interval."),
    open: DecimalOut("First price.", "65000.5"),
    high: DecimalOut("Highest price.", "65100"),
    low: DecimalOut("Lowest price.", "64900"),
    close: DecimalOut("Last price.", "65050"),
    volume: DecimalOut("Volume in the base asset.", "12.3"),
    turnover: DecimalOut("Turnover in the quote asset.", "800115"),
    trades: Type.Integer({ minimum: 0, description: "Number of trades.", examples: [42] }),
    takerBuyVolume: DecimalOut("The part of the volume whose taker bought.", "7.1"),
    takerBuyTurnover: DecimalOut("The part of the turnover whose taker bought.", "461857.5"),
    closed: Type.Boolean({
      description:
        "False while the interval runs, and until its last trade is on disk. A closed candle never changes again.",
    }),
  },
  { description: "A candle. An interval without trades or prices is flat at the previous close." },
);
export const KlineList = listOf(Kline, "Candles, oldest first. Without startTime, the latest ones.");

export const PublicTrade = object(
  {
    tradeId: Id("The exchange's id of the trade."),
    symbol: SymbolName,
    side: Type.Enum(SIDES, { description: "Side of the taker." }),
    price: DecimalOut("Price of the trade.", "65000.5"),
    quantity: DecimalOut("Quantity of the trade.", "0.004"),
    time: Time("When the trade happened."),
    execType: ExecType,
    sequence: Sequence,
  },
  { description: "A public trade." },
);
export const PublicTradeList = listOf(PublicTrade, "Trades, newest first.");

export const RiskTier = object({
  maxNotional: DecimalOut(
    "Largest notional of a position in this tier. In the last tier, orders cannot make a position larger.",
    "300000",
  ),
  maxLeverage: Type.Integer({ minimum: 1, examples: [100] }),
  initialMarginRate: DecimalOut("Lowest initial margin, as a share of the notional.", "0.01"),
  maintenanceMarginRate: DecimalOut("Maintenance margin as a share of the notional.", "0.004"),
  maintenanceDeduction: DecimalOut(
    "Subtracted from the maintenance margin, so that it is continuous between tiers.",
    "0",
  ),
});
export const Instrument = object(
  {
    symbol: SymbolName,
    baseAsset: Type.String({ examples: ["BTC"] }),
    quoteAsset: Type.String({ examples: ["USDC"] }),
    status: SymbolStatus,
    statusReason: StatusReason,
    statusUntil: nullable(Time("When a halt ends by itself. Null: there is none, or it lasts until it is lifted.")),
    pendingIndexPrice: PriceOrNull("An index price that jumped and waits for confirmation. Null: there is none."),
    openInterest: DecimalOut("Sum of all long positions.", "321.9"),
    openingMarginRate: DecimalOut(
      "Share of the notional that an account needs to open or increase a position now, whatever its leverage. It rises with " +
        "recent moves and the age of the index, and with the open interest.",
      "0.01",
    ),
    indexTime: nullable(Time("When the index price came. Null: there is none yet.")),
    tickSize: DecimalOut("Prices are multiples of it.", "0.1"),
    stepSize: DecimalOut("Quantities are multiples of it.", "0.001"),
    minQuantity: DecimalOut("Smallest quantity of an order.", "0.001"),
    maxQuantity: DecimalOut("Largest quantity of an order.", "100"),
    minNotional: DecimalOut("Smallest price × quantity of an order.", "5"),
    maxPrice: DecimalOut("Highest price of an order.", "1000000"),
    maxOpenOrders: Type.Integer({
      minimum: 1,
      description: "Largest number of open orders of one account in this symbol.",
      examples: [1000],
    }),
    maxLeverage: Type.Integer({ minimum: 1, examples: [100] }),
    riskTiers: Type.Array(RiskTier),
    makerFeeRate: DecimalOut("Fee as a share of the notional.", "0.0002"),
    takerFeeRate: DecimalOut("Fee as a share of the notional.", "0.0005"),
    liquidationFeeRate: DecimalOut("Highest liquidation fee as a share of the notional.", "0.005"),
    priceBand: DecimalOut("How far from the mark price an order may trade, as a share of it.", "0.05"),
    lastTriggerLimit: DecimalOut(
      "How far from the mark price the last price may be to count for orders with triggerBy LAST, as a share of the mark price. " +
        "0: it always counts.",
      "0.01",
    ),
    markLimit: DecimalOut("How far from the index price the mark price may be, as a share of it.", "0.002"),
    indexJumpLimit: DecimalOut(
      "An index price that jumps further waits until others confirm it. 0: no jump waits.",
      "0.0075",
    ),
    breakerLimit: DecimalOut("Trading is restricted when the mark moves further within a minute. 0: never.", "0.15"),
    breakerMode: Type.Enum(TRADING_STATUSES, { description: "The status that this sets." }),
    breakerSeconds: Type.Integer({ minimum: 1, description: "How long that lasts.", examples: [60] }),
    maxMovePerSecond: DecimalOut(
      "Largest move of the index that counts as plausible within a second. Over t seconds it is √t times as much. 0: not set.",
      "0.0008",
    ),
    transferMarginRate: DecimalOut(
      "Share of the notional that must stay behind a position when money is taken out, if its initial margin is less.",
      "0.1",
    ),
    maxIndexAgeSeconds: nullable(
      Type.Number({ description: "With an older index price nothing takes new risk. Null: no bound.", examples: [6] }),
    ),
    openInterestCap: nullable(
      DecimalOut("Orders that could raise the open interest above this notional are refused.", "1000000000"),
    ),
    openInterestLowerCap: nullable(
      DecimalOut(
        "Above this notional of open interest, openingMarginRate rises. It reaches 1 at the cap.",
        "500000000",
      ),
    ),
    fundingIntervalHours: Type.Integer({ minimum: 1, examples: [1] }),
    fundingRateCap: DecimalOut("Highest funding rate of one interval, of either sign.", "0.04"),
    impactNotionalRate: DecimalOut(
      "Share of the open interest that one side of the book must show to count for the funding premium. 200 USDC × " +
        "maxLeverage is the least.",
      "0.01",
    ),
  },
  { description: "An instrument and its limits." },
);
export const InstrumentList = listOf(Instrument, "All instruments.");
