import Type, { type TProperties } from "typebox";
import { PERMISSIONS } from "../../core/base/enums.ts";
import { INTERVALS, PRICE_TYPES } from "../../core/market-data/candles.ts";
import { Balance, Position, Transfer } from "./account.ts";
import { type ChannelName, RequestId } from "./channels.ts";
import { Kline, OrderBook, PublicTrade, Ticker } from "./market.ts";
import { Fill, Order } from "./orders.ts";
import { FundingPayment } from "./risk.ts";
import { nullable, object, Sequence, SymbolName, Time } from "./scalars.ts";
import { ErrorBody } from "./system.ts";

/** What the exchange says on a WebSocket. */

const AnsweredId = nullable(RequestId);

const answer = <P extends TProperties>(op: string, fields: P, description: string) =>
  object({ op: Type.Literal(op), id: AnsweredId, ...fields }, { description });

export const Pong = answer("pong", { serverTime: Time("Now.") }, "The exchange is there.");
export const Authenticated = answer(
  "authenticated",
  {
    accountId: Type.String({ examples: ["16"] }),
    permissions: Type.Array(Type.Enum(PERMISSIONS)),
    expiresAt: nullable(Time("The socket is closed.")),
    cancelOnDisconnect: Type.Boolean(),
  },
  "The socket acts for this account.",
);

const ChannelShown = object({
  channel: Type.String({ examples: ["trades"] }),
  symbol: Type.Optional(SymbolName),
  depth: Type.Optional(Type.Integer({ minimum: 1, examples: [100] })),
  updateMs: Type.Optional(Type.Integer({ minimum: 0, examples: [0] })),
  interval: Type.Optional(Type.Enum(INTERVALS)),
  priceType: Type.Optional(Type.Enum(PRICE_TYPES)),
});
const Channels = Type.Array(ChannelShown, { examples: [[{ channel: "trades", symbol: "BTC-PERP" }]] });
export const Subscribed = answer(
  "subscribed",
  { channels: Channels },
  "Each channel begins with a snapshot, or with what was missed.",
);
export const Unsubscribed = answer("unsubscribed", { channels: Channels }, "These were subscribed to, and end here.");

const { code, message, field, details, retryable, serverTime } = ErrorBody.properties;
export const SocketError = answer(
  "error",
  { code, message, field, details, retryable, serverTime },
  "A request was refused, and nothing was done. Without an id when the request's could not be read.",
);

/** Beside the results of requests that rate limits are for. */
export const RateLimit = object(
  {
    limit: Type.Integer({ minimum: 1, description: "Tokens that the bucket holds at most.", examples: [100] }),
    remaining: Type.Integer({ minimum: 0, description: "Tokens that it holds.", examples: [99] }),
    resetMs: Type.Integer({ minimum: 0, description: "Milliseconds until it is full.", examples: [20] }),
  },
  { description: "The token bucket, of those that paid, that is nearest to empty." },
);

// ---- streams --------------------------------------------------------------------------------------------------------

const PrevSequence = Type.Integer({
  minimum: 0,
  description: "That of the message before in this stream: anything else than what you have seen is a gap.",
  examples: [8120],
});

/**
 * The three messages of a stream. `head` names it; `body` is what a snapshot holds, and what `change` (DELTA: relative,
 * UPDATE: whole) brings.
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
    snapshot: object({ ...names, ...snapshot, ...body }, { description: "The state as of the sequence." }),
    change: object({ ...names, ...later, ...body }, { description: "What changed since the message before." }),
    heartbeat: object({ ...names, ...heartbeat }, { description: "Nothing changed since the sequence." }),
  };
};

const { checksum, time, bids, asks } = OrderBook.properties;
const symbol = { symbol: SymbolName };
const anySymbol = { symbol: Type.Optional(SymbolName) };
const oldestFirst = { description: "Oldest first." };

/** What each channel sends. */
export const STREAMS = {
  orderbook: stream(
    "orderbook",
    "DELTA",
    {
      ...symbol,
      depth: Type.Integer({ minimum: 1, examples: [100] }),
      updateMs: Type.Optional(Type.Integer({ minimum: 1, examples: [100] })),
    },
    { checksum, time, bids, asks },
  ),
  trades: stream("trades", "UPDATE", symbol, { data: Type.Array(PublicTrade, oldestFirst) }),
  liquidations: stream("liquidations", "UPDATE", symbol, { data: Type.Array(PublicTrade, oldestFirst) }),
  ticker: stream(
    "ticker",
    "UPDATE",
    { ...symbol, updateMs: Type.Integer({ minimum: 1, examples: [1000] }) },
    { data: Ticker },
  ),
  klines: stream(
    "klines",
    "UPDATE",
    { ...symbol, interval: Type.Enum(INTERVALS), priceType: Type.Enum(PRICE_TYPES) },
    { data: Type.Array(Kline, oldestFirst) },
  ),
  orders: stream("orders", "UPDATE", anySymbol, { data: Type.Array(Order) }),
  fills: stream("fills", "UPDATE", anySymbol, { data: Type.Array(Fill, oldestFirst) }),
  positions: stream("positions", "UPDATE", anySymbol, { data: Type.Array(Position) }),
  balance: stream("balance", "UPDATE", {}, { data: Balance }),
  transfers: stream(
    "transfers",
    "UPDATE",
    {},
    { data: Type.Array(Transfer, { description: "In the order in which they were asked for." }) },
  ),
  funding: stream("funding", "UPDATE", anySymbol, { data: Type.Array(FundingPayment, oldestFirst) }),
} satisfies Record<ChannelName, object>;
