import Type, { type TProperties } from "../../packages/typebox.ts";
import { Balance, MarginCall, Position, Transfer } from "./account.ts";
import { Permission } from "./auth.ts";
import { type ChannelName, RequestId } from "./channels.ts";
import {
  Instrument,
  Kline,
  KlineInterval,
  KlinePriceType,
  MarkPrice,
  OrderBook,
  PublicTrade,
  Ticker,
} from "./market.ts";
import { Fill, Order } from "./orders.ts";
import { ClosedPosition } from "./position-history.ts";
import { FundingPayment } from "./risk.ts";
import { nullable, object, Sequence, SymbolName, Time } from "./scalars.ts";
import { ErrorBody } from "./system.ts";

/** The messages that the exchange sends on a WebSocket. */

const AnsweredId = nullable(RequestId);

const answer = <P extends TProperties>(op: string, fields: P, description: string) =>
  object({ op: Type.Literal(op), id: AnsweredId, ...fields }, { description });

export const Pong = answer("pong", { serverTime: Time("Time of the answer.") }, "The exchange works.");
export const Authenticated = answer(
  "authenticated",
  {
    accountId: Type.String({ examples: ["16"] }),
    permissions: Type.Array(Permission),
    expiresAt: nullable(Time("When the credential expires and the socket is closed. Null: never.")),
    cancelOnDisconnect: Type.Boolean(),
  },
  "The socket acts for this account.",
);

export const ShownChannel = object({
  channel: Type.String({ examples: ["trades"] }),
  symbol: Type.Optional(SymbolName),
  depth: Type.Optional(Type.Integer({ minimum: 1, examples: [100] })),
  updateMs: Type.Optional(Type.Integer({ minimum: 0, examples: [0] })),
  interval: Type.Optional(KlineInterval),
  priceType: Type.Optional(KlinePriceType),
});
const Channels = Type.Array(ShownChannel, { examples: [[{ channel: "trades", symbol: "BTC-PERP" }]] });
export const Subscribed = answer(
  "subscribed",
  { channels: Channels },
  "The channels now subscribed. Each begins with a snapshot, or with the messages that were missed.",
);
export const Unsubscribed = answer("unsubscribed", { channels: Channels }, "The subscriptions that ended.");

const { code, message, field, details, retryable, serverTime } = ErrorBody.properties;
export const SocketError = answer(
  "error",
  { code, message, field, details, retryable, serverTime },
  "A request was refused. `id` is null if the request's id could not be read.",
);

/** Accompanies the result of each request that is rate limited. */
export const RateLimit = object(
  {
    limit: Type.Integer({ minimum: 1, description: "Capacity of the bucket in tokens.", examples: [100] }),
    remaining: Type.Integer({ minimum: 0, description: "Tokens left.", examples: [99] }),
    resetMs: Type.Integer({ minimum: 0, description: "Milliseconds until the bucket is full.", examples: [20] }),
  },
  { description: "Of the token buckets that paid for the request, the one nearest to empty." },
);

// ---- streams --------------------------------------------------------------------------------------------------------

const PrevSequence = Type.Integer({
  minimum: 0,
  description: "Sequence of the previous message of this stream. If you have not received that one, there is a gap.",
  examples: [8120],
});

/**
 * The three messages of a stream. `head`: the fields that name the stream. `body`: the fields of a snapshot and of a change.
 * A DELTA is relative to the state before; an UPDATE replaces it.
 */
const stream = <H extends TProperties, B extends TProperties>(
  channel: ChannelName,
  change: "DELTA" | "UPDATE",
  head: H,
  body: B,
) => {
  const names = { channel: Type.Literal(channel), ...head };
  const snapshot = { type: Type.Literal("SNAPSHOT"), sequence: Sequence, prevSequence: Type.Null() };
  const later = { type: Type.Literal(change), sequence: Sequence, prevSequence: PrevSequence };
  const heartbeat = { type: Type.Literal("HEARTBEAT"), sequence: Sequence };
  return {
    snapshot: object({ ...names, ...snapshot, ...body }, { description: "The state as of `sequence`." }),
    change: object({ ...names, ...later, ...body }, { description: "The changes since the previous message." }),
    heartbeat: object({ ...names, ...heartbeat }, { description: "Nothing has changed since `sequence`." }),
  };
};

const { checksum, time, bids, asks } = OrderBook.properties;
const symbol = { symbol: SymbolName };
const anySymbol = { symbol: Type.Optional(SymbolName) };
const oldestFirst = { description: "Oldest first." };
const updateMs = Type.Integer({ minimum: 1, examples: [1000] });
/** Left out when it is 0. */
const pace = Type.Optional(Type.Integer({ minimum: 1, examples: [100] }));

/** The messages of each channel. */
export const STREAMS = {
  orderbook: stream(
    "orderbook",
    "DELTA",
    {
      ...symbol,
      depth: Type.Integer({ minimum: 1, examples: [100] }),
      updateMs: pace,
    },
    { checksum, time, bids, asks },
  ),
  trades: stream("trades", "UPDATE", { ...anySymbol, updateMs: pace }, { data: Type.Array(PublicTrade, oldestFirst) }),
  liquidations: stream("liquidations", "UPDATE", anySymbol, { data: Type.Array(PublicTrade, oldestFirst) }),
  ticker: stream("ticker", "UPDATE", { ...symbol, updateMs }, { data: Ticker }),
  tickers: stream("tickers", "UPDATE", { updateMs }, { data: Type.Array(Ticker) }),
  "mark-price": stream("mark-price", "UPDATE", anySymbol, { data: Type.Array(MarkPrice) }),
  symbols: stream("symbols", "UPDATE", anySymbol, { data: Type.Array(Instrument) }),
  klines: stream(
    "klines",
    "UPDATE",
    { ...symbol, interval: KlineInterval, priceType: KlinePriceType },
    { time: Time("Time of the symbol up to which the candles are complete."), data: Type.Array(Kline, oldestFirst) },
  ),
  orders: stream("orders", "UPDATE", anySymbol, { data: Type.Array(Order) }),
  fills: stream("fills", "UPDATE", anySymbol, { data: Type.Array(Fill, oldestFirst) }),
  positions: stream("positions", "UPDATE", anySymbol, { data: Type.Array(Position) }),
  "positions-history": stream("positions-history", "UPDATE", anySymbol, {
    data: Type.Array(ClosedPosition, oldestFirst),
  }),
  balance: stream("balance", "UPDATE", {}, { data: Balance }),
  transfers: stream(
    "transfers",
    "UPDATE",
    {},
    { data: Type.Array(Transfer, { description: "In the order of their requests." }) },
  ),
  funding: stream("funding", "UPDATE", anySymbol, { data: Type.Array(FundingPayment, oldestFirst) }),
  "margin-calls": stream("margin-calls", "UPDATE", {}, { data: Type.Array(MarginCall) }),
} satisfies Record<ChannelName, object>;
