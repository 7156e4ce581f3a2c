import type { Interval, PriceType } from "../../core/market-data/candles.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import type { TObject } from "../../packages/typebox.ts";
import {
  CHANNELS,
  type ChannelName,
  DEFAULT_BOOK_DEPTH,
  DEFAULT_PACE_MS,
  DEFAULT_TICKER_PACE_MS,
  PRIVATE_CHANNELS,
} from "../../wire/schema/channels.ts";
import { DEFAULT_COST, PAGE_COST } from "../auth/limits.ts";
import { ApiError } from "../common/errors.ts";
import { SocketRefusal } from "../common/socket-errors.ts";
import { Input } from "../json/input.ts";
import { requireCandles } from "../json/klines.ts";
import type { Symbols } from "../routing/context.ts";

/**
 * A channel in a subscribe or unsubscribe request. A field is null when the channel does not have it. A null instrument
 * means all symbols; in an unsubscribe request null matches any value.
 */
export interface ChannelRequest {
  readonly channel: ChannelName;
  readonly instrument: Instrument | null;
  readonly depth: number | null;
  readonly updateMs: number | null;
  readonly interval: Interval | null;
  readonly priceType: PriceType | null;
  /** The last sequence of the stream that the client has received. */
  readonly resume: number | null;
}

/** A private channel shows the account of the socket. */
export const isPrivate = ({ channel }: ChannelRequest): boolean => PRIVATE_CHANNELS.has(channel);

const CHANNEL_INPUTS = Object.fromEntries(
  Object.entries(CHANNELS).map(([channel, schema]) => [channel, new Input<TObject>(schema)]),
) as Record<ChannelName, Input<TObject>>;

/** Their snapshots read a page of the database, or list all open orders. */
export const LIST_CHANNELS: readonly ChannelName[] = ["orders", "fills", "positions-history", "transfers", "funding"];

/**
 * The tokens of the REQUEST budget that a subscription costs, as the same data costs over REST. All symbols at once cost as
 * much as each of them alone. `symbols`: their number.
 */
export function snapshotWeight(request: ChannelRequest, symbols: number): number {
  const { channel, instrument, depth } = request;
  if (instrument === null && !isPrivate(request)) return symbols * DEFAULT_COST.weight;
  const isLong = LIST_CHANNELS.includes(channel) || (depth ?? 0) > DEFAULT_BOOK_DEPTH;
  return (isLong ? PAGE_COST : DEFAULT_COST).weight;
}

/** `at`: the path of the channel in the message, for errors. */
export function readChannel(request: { channel: string }, at: string, symbols: Symbols): ChannelRequest {
  const { channel } = request;
  if (!isChannel(channel)) {
    const known = `There is no such channel. Use one of ${Object.keys(CHANNELS).join(", ")}.`;
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

/** A subscribe request with the default of each field that was left out. */
export function withDefaults(request: ChannelRequest): ChannelRequest {
  const { depth, updateMs, priceType } = request;
  switch (request.channel) {
    case "orderbook":
      return { ...request, depth: depth ?? DEFAULT_BOOK_DEPTH, updateMs: updateMs ?? DEFAULT_PACE_MS };
    case "trades":
      return { ...request, updateMs: updateMs ?? DEFAULT_PACE_MS };
    case "ticker":
    case "tickers":
      return { ...request, updateMs: updateMs ?? DEFAULT_TICKER_PACE_MS };
    case "klines":
      return { ...request, priceType: priceType ?? "LAST" };
    default:
      return request;
  }
}

const isChannel = (text: string): text is ChannelName => Object.hasOwn(CHANNELS, text);

export const matches = (subscribed: ChannelRequest, wanted: ChannelRequest): boolean =>
  subscribed.channel === wanted.channel &&
  (wanted.instrument === null || wanted.instrument === subscribed.instrument) &&
  (wanted.depth === null || wanted.depth === subscribed.depth) &&
  (wanted.updateMs === null || wanted.updateMs === subscribed.updateMs) &&
  (wanted.interval === null || wanted.interval === subscribed.interval) &&
  (wanted.priceType === null || wanted.priceType === subscribed.priceType);

/** The channel in answers to subscribe and unsubscribe. */
export const describeChannel = (request: ChannelRequest): object => {
  const { channel, instrument, depth, updateMs, interval, priceType } = request;
  return {
    channel,
    ...(instrument && { symbol: instrument.symbol }),
    ...(depth !== null && { depth }),
    ...(updateMs !== null && { updateMs }),
    ...(interval !== null && { interval }),
    ...(priceType !== null && { priceType }),
  };
};
