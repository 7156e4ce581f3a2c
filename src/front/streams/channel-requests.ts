import type { Interval, PriceType } from "../../core/market-data/candles.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import {
  CHANNELS,
  type ChannelName,
  ChannelsRequest,
  DEFAULT_BOOK_DEPTH,
  DEFAULT_BOOK_PACE_MS,
  DEFAULT_TICKER_PACE_MS,
  KeyAuthRequest,
  MAX_REQUEST_ID_LENGTH,
  PingRequest,
  PRIVATE_CHANNELS,
  TokenAuthRequest,
  TradingRequest,
} from "../../wire/schema/channels.ts";
import { isTradingOp, TRADING_PARAMS, type TradingOp } from "../../wire/schema/trading.ts";
import { ApiError } from "../common/errors.ts";
import { SocketRefusal } from "../common/socket-errors.ts";
import type { SocketCredentials } from "../exchange/credentials.ts";
import { Input } from "../json/input.ts";
import { requireCandles } from "../json/klines.ts";
import type { Symbols } from "../routing/context.ts";

export type RequestId = string | number | null;

/**
 * A channel as a client names it. Null: the channel has no such field, or (private channels) all symbols are meant, or
 * (unsubscribe) whatever was subscribed to.
 */
export interface ChannelRequest {
  readonly channel: ChannelName;
  readonly instrument: Instrument | null;
  readonly depth: number | null;
  readonly updateMs: number | null;
  readonly interval: Interval | null;
  readonly priceType: PriceType | null;
  /** The last sequence that the client has seen of the stream. */
  readonly resume: number | null;
}

export type ClientRequest =
  | { readonly op: "ping" }
  | { readonly op: "auth"; readonly credentials: SocketCredentials; readonly cancelOnDisconnect: boolean }
  | { readonly op: "subscribe" | "unsubscribe"; readonly channels: readonly ChannelRequest[] }
  /** Not checked yet: who asks is looked at first. */
  | { readonly op: TradingOp; readonly params: unknown };

/** Private channels show the account that the socket acts for. */
export const isPrivate = ({ channel }: ChannelRequest): boolean => PRIVATE_CHANNELS.has(channel);

const OPS = ["ping", "auth", "subscribe", "unsubscribe", ...Object.keys(TRADING_PARAMS)];

const PING = new Input(PingRequest);
const TOKEN_AUTH = new Input(TokenAuthRequest);
const KEY_AUTH = new Input(KeyAuthRequest);
const TRADING_REQUEST = new Input(TradingRequest);
const CHANNELS_REQUEST = new Input(ChannelsRequest);
const CHANNEL_INPUTS = {
  orderbook: new Input(CHANNELS.orderbook),
  trades: new Input(CHANNELS.trades),
  liquidations: new Input(CHANNELS.liquidations),
  ticker: new Input(CHANNELS.ticker),
  klines: new Input(CHANNELS.klines),
  orders: new Input(CHANNELS.orders),
  fills: new Input(CHANNELS.fills),
  positions: new Input(CHANNELS.positions),
  balance: new Input(CHANNELS.balance),
  transfers: new Input(CHANNELS.transfers),
  funding: new Input(CHANNELS.funding),
};

/** The message's id, null when it has none. */
export function readId(message: unknown): RequestId {
  if (!isObject(message) || message.id === undefined) return null;
  const { id } = message;
  if (typeof id === "string" && isShort(id)) return id;
  if (Number.isSafeInteger(id)) return id as number;
  const rule = `An id is an integer or a string of at most ${MAX_REQUEST_ID_LENGTH} characters.`;
  throw new ApiError("BAD_VALUE", { field: "id", message: rule });
}

/** In characters, as a schema counts: one is two units at most. */
const isShort = (id: string): boolean =>
  id.length <= 2 * MAX_REQUEST_ID_LENGTH && [...id].length <= MAX_REQUEST_ID_LENGTH;

/** A client's message, checked whole. Throws an ApiError or a SocketRefusal that says what is wrong and where. */
export function readRequest(message: unknown, symbols: Symbols): ClientRequest {
  if (!isObject(message)) throw new ApiError("BAD_TYPE", { message: "A message is a JSON object." });
  const { op } = message;
  switch (op) {
    case "ping":
      PING.check(message);
      return { op };
    case "auth": {
      const credentials = (message.apiKey === undefined ? TOKEN_AUTH : KEY_AUTH).check(message);
      return { op, credentials, cancelOnDisconnect: credentials.cancelOnDisconnect === true };
    }
    case "subscribe": {
      const channels = readChannels(message, symbols);
      return { op, channels: channels.map(withDefaults) };
    }
    case "unsubscribe":
      return { op, channels: readChannels(message, symbols) };
    case undefined:
      throw new ApiError("MISSING_FIELD", { field: "op" });
    default:
      if (!isTradingOp(op)) throw new SocketRefusal("UNKNOWN_OP", "op", `There is no such op. Ops: ${OPS.join(", ")}.`);
      return { op, params: TRADING_REQUEST.check(message).params ?? {} };
  }
}

function readChannels(message: unknown, symbols: Symbols): ChannelRequest[] {
  const { channels } = CHANNELS_REQUEST.check(message);
  return channels.map((request, index) => readChannel(request, `channels.${index}`, symbols));
}

function readChannel(request: { channel: string }, at: string, symbols: Symbols): ChannelRequest {
  const { channel } = request;
  if (!isChannel(channel)) {
    const known = `There is no such channel. Channels: ${Object.keys(CHANNELS).join(", ")}.`;
    throw new SocketRefusal("UNKNOWN_CHANNEL", `${at}.channel`, known);
  }
  const { symbol, depth, updateMs, interval, priceType, resume } = checkChannel(channel, request, at);
  return {
    channel,
    instrument: symbol === undefined ? null : symbols.bySymbol(symbol, `${at}.symbol`),
    depth: depth ?? null,
    updateMs: updateMs ?? null,
    interval: interval ?? null,
    priceType: priceType ?? null,
    resume: resume ?? null,
  };
}

/** What a channel may have. */
interface ChannelFields {
  symbol?: string;
  depth?: number;
  updateMs?: number;
  interval?: Interval;
  priceType?: PriceType;
  resume?: number;
}

function checkChannel(channel: ChannelName, request: object, at: string): ChannelFields {
  try {
    const fields: ChannelFields = CHANNEL_INPUTS[channel].check(request);
    if (fields.interval !== undefined) requireCandles(fields.priceType ?? "LAST", fields.interval);
    return fields;
  } catch (thrown) {
    throw thrown instanceof ApiError ? thrown.within(at) : thrown;
  }
}

function withDefaults(request: ChannelRequest): ChannelRequest {
  const { depth, updateMs, priceType } = request;
  switch (request.channel) {
    case "orderbook":
      return { ...request, depth: depth ?? DEFAULT_BOOK_DEPTH, updateMs: updateMs ?? DEFAULT_BOOK_PACE_MS };
    case "ticker":
      return { ...request, updateMs: updateMs ?? DEFAULT_TICKER_PACE_MS };
    case "klines":
      return { ...request, priceType: priceType ?? "LAST" };
    default:
      return request;
  }
}

const isChannel = (text: string): text is ChannelName => Object.hasOwn(CHANNELS, text);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
