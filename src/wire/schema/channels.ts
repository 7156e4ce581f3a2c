import Type, { type TProperties } from "../../packages/typebox.ts";
import { KlineInterval, KlinePriceType } from "./market.ts";
import { object, SymbolName, Time } from "./scalars.ts";
import { TRADING_PARAMS } from "./trading.ts";

/** The messages that a client sends on a WebSocket. */

/** The exchange keeps one stream for each depth and pace in use, so there are only a few of each. */
const BOOK_DEPTHS = [1, 5, 10, 20, 25, 50, 100, 200, 500, 1000] as const;
/** Of the book and of trades. */
const PACES_MS = [0, 100, 250, 500, 1000] as const;
export const DEFAULT_BOOK_DEPTH = 100;
export const DEFAULT_PACE_MS = 0;
const TICKER_PACES_MS = [100, 250, 500, 1000] as const;
export const DEFAULT_TICKER_PACE_MS = 1000;
export const MAX_SUBSCRIPTIONS = 200;
export const MAX_REQUEST_ID_LENGTH = 64;
/**
 * Longer than each that the exchange issues or expects. A gateway writes the request anew with an id of its own, which must
 * not make it longer than the longest message.
 */
const MAX_CREDENTIAL_LENGTH = 256;

const TickerPace = Type.Optional(
  Type.Enum(TICKER_PACES_MS, {
    default: DEFAULT_TICKER_PACE_MS,
    description: "At most one message in this many milliseconds.",
  }),
);

const ExactInteger = Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER });
export const RequestId = Type.Union([ExactInteger, Type.String({ maxLength: MAX_REQUEST_ID_LENGTH })], {
  description: "Your own id of the request. The answer repeats it.",
  examples: [1],
});

const request = <P extends TProperties>(ops: readonly string[], fields: P) =>
  object({ op: Type.Enum([...ops]), id: Type.Optional(RequestId), ...fields });

export const PingRequest = request(["ping"], {});
const CancelOnDisconnect = Type.Optional(
  Type.Boolean({
    description:
      "Cancel all open orders of the account when this socket closes, for whatever reason. A key that may trade only some " +
      "symbols cancels only their orders. An exchange that is killed cancels nothing; order.cancelAfter works even then.",
  }),
);
export const TokenAuthRequest = request(["auth"], {
  token: Type.String({ maxLength: MAX_CREDENTIAL_LENGTH, description: "Token of a session." }),
  cancelOnDisconnect: CancelOnDisconnect,
});
export const KeyAuthRequest = request(["auth"], {
  apiKey: Type.String({ maxLength: MAX_CREDENTIAL_LENGTH }),
  timestamp: Time("When the request was signed."),
  signature: Type.String({
    maxLength: MAX_CREDENTIAL_LENGTH,
    description: 'Hex HMAC-SHA256(secret, timestamp + "GET" + "/v1/ws").',
  }),
  cancelOnDisconnect: CancelOnDisconnect,
});
/** The params are checked against the schema of the op in TRADING_PARAMS as well. */
export const TradingRequest = request(Object.keys(TRADING_PARAMS), {
  params: Type.Optional(Type.Object({}, { description: "The parameters of the op." })),
});
/** Each channel is checked against the schema of its name in CHANNELS as well. */
export const ChannelsRequest = request(["subscribe", "unsubscribe"], {
  channels: Type.Array(Type.Object({ channel: Type.String() }), { minItems: 1, maxItems: MAX_SUBSCRIPTIONS }),
});

const Resume = Type.Integer({
  minimum: 0,
  description:
    "The last sequence that you received of this stream. orderbook, trades and liquidations then send the messages since, if " +
    "they are still known. Otherwise a new snapshot follows.",
});

const channel = <P extends TProperties>(name: string, fields: P) =>
  object({ channel: Type.Literal(name), ...fields, resume: Type.Optional(Resume) });

/** Without a symbol: all symbols. To unsubscribe, leave an optional field out to match any value. */
export const CHANNELS = {
  orderbook: channel("orderbook", {
    symbol: SymbolName,
    depth: Type.Optional(
      Type.Enum(BOOK_DEPTHS, {
        default: DEFAULT_BOOK_DEPTH,
        description: "Number of price levels of each side, the best ones.",
      }),
    ),
    updateMs: Type.Optional(
      Type.Enum(PACES_MS, {
        default: DEFAULT_PACE_MS,
        description: "At most one delta in this many milliseconds. 0: a delta for every change.",
      }),
    ),
  }),
  trades: channel("trades", {
    symbol: Type.Optional(SymbolName),
    updateMs: Type.Optional(
      Type.Enum(PACES_MS, {
        default: DEFAULT_PACE_MS,
        description: "At most one message in this many milliseconds, unless a thousand trades wait for it. 0: at once.",
      }),
    ),
  }),
  liquidations: channel("liquidations", { symbol: Type.Optional(SymbolName) }),
  ticker: channel("ticker", { symbol: SymbolName, updateMs: TickerPace }),
  tickers: channel("tickers", { updateMs: TickerPace }),
  "mark-price": channel("mark-price", { symbol: Type.Optional(SymbolName) }),
  symbols: channel("symbols", { symbol: Type.Optional(SymbolName) }),
  klines: channel("klines", {
    symbol: SymbolName,
    interval: KlineInterval,
    priceType: Type.Optional(KlinePriceType),
  }),
  orders: channel("orders", { symbol: Type.Optional(SymbolName) }),
  fills: channel("fills", { symbol: Type.Optional(SymbolName) }),
  positions: channel("positions", { symbol: Type.Optional(SymbolName) }),
  "positions-history": channel("positions-history", { symbol: Type.Optional(SymbolName) }),
  balance: channel("balance", {}),
  transfers: channel("transfers", {}),
  funding: channel("funding", { symbol: Type.Optional(SymbolName) }),
  "margin-calls": channel("margin-calls", {}),
};
export type ChannelName = keyof typeof CHANNELS;

/** The channels of the account for which the socket acts. */
export const PRIVATE_CHANNELS: ReadonlySet<ChannelName> = new Set([
  "orders",
  "fills",
  "positions",
  "positions-history",
  "balance",
  "transfers",
  "funding",
  "margin-calls",
]);
