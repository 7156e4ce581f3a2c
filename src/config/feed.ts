import { DECIMAL_PATTERN } from "../core/base/units.ts";
import Type, { type Static } from "../packages/typebox.ts";

/** The setting `feed`: the exchanges that index prices come from, and how they are combined (feed/combine.ts). */
const FeedSourceSetting = Type.Object(
  {
    /** The id of a ccxt class, such as "binance". With `module` it may be any name. */
    exchange: Type.String({ pattern: "^[A-Za-z0-9_-]{1,32}$" }),
    /** A file whose default export is a class with the fetchTicker() of ccxt. */
    module: Type.Optional(Type.String({ minLength: 1 })),
    weight: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 1000 })),
    /** The market of a symbol is baseAsset/quoteAsset, such as "BTC/USDT", unless `symbols` names another. */
    quoteAsset: Type.Optional(Type.String({ pattern: "^[A-Z0-9]{1,16}$" })),
    symbols: Type.Optional(Type.Record(Type.String(), Type.String({ minLength: 1 }))),
    /** Passed to the constructor of the class. */
    options: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { additionalProperties: false },
);

export const FeedSetting = Type.Object(
  {
    sources: Type.Array(FeedSourceSetting, { minItems: 1, maxItems: 32 }),
    /** How often each source is queried and the prices are combined. */
    pollMs: Type.Integer({ minimum: 10, maximum: 60_000 }),
    maxAgeMs: Type.Integer({ minimum: 10, maximum: 3_600_000 }),
    maxDeviation: Type.String({ pattern: DECIMAL_PATTERN }),
    minSources: Type.Integer({ minimum: 1, maximum: 32 }),
  },
  { additionalProperties: false },
);

export type FeedSource = Static<typeof FeedSourceSetting>;
export type FeedSettings = Static<typeof FeedSetting>;

/** The weights are those of Hyperliquid's oracle: Binance 3, OKX and Bybit 2, others 1. */
export const DEFAULT_FEED: FeedSettings = {
  sources: [
    { exchange: "binance", weight: 3 },
    { exchange: "okx", weight: 2 },
    { exchange: "bybit", weight: 2 },
    { exchange: "gate", weight: 1 },
    { exchange: "kraken", weight: 1, quoteAsset: "USD" },
  ],
  pollMs: 2000,
  maxAgeMs: 8000,
  maxDeviation: "0.01",
  minSources: 2,
};
