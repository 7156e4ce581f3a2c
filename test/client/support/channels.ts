import type { StreamKey } from "../../../src/client/subscriptions.ts";
import type { ChannelRequest } from "../../../src/client/types.ts";
import { DEFAULT_BOOK_DEPTH, DEFAULT_PACE_MS, DEFAULT_TICKER_PACE_MS } from "../../../src/wire/schema/channels.ts";

/** Neighbours: some differ in one field only, as a client may confuse them. */
export const COMPLETE_CHANNELS: readonly ChannelRequest[] = [
  { channel: "orderbook", symbol: "A", depth: 500, updateMs: 100 },
  { channel: "orderbook", symbol: "A", depth: 100, updateMs: 0 },
  { channel: "orderbook", symbol: "B", depth: 500, updateMs: 100 },
  { channel: "trades", symbol: "A" },
  { channel: "trades", symbol: "B" },
  { channel: "ticker", symbol: "A", updateMs: 250 },
  { channel: "klines", symbol: "A", interval: "1m", priceType: "LAST" },
  { channel: "klines", symbol: "A", interval: "1m", priceType: "MARK" },
];

/** Two of these are streams of the list above. The other two are streams of their own. */
export const SHORT_CHANNELS: readonly ChannelRequest[] = [
  { channel: "orderbook", symbol: "A" },
  { channel: "trades" },
  { channel: "ticker", symbol: "A" },
  { channel: "klines", symbol: "A", interval: "1m" },
];

const DEFAULTS: Readonly<Partial<Record<ChannelRequest["channel"], Partial<ChannelRequest>>>> = {
  orderbook: { depth: DEFAULT_BOOK_DEPTH, updateMs: DEFAULT_PACE_MS },
  ticker: { updateMs: DEFAULT_TICKER_PACE_MS },
  klines: { priceType: "LAST" },
};

/** The channel that the exchange understands: with its defaults. */
export const completed = ({ resume: _, ...request }: ChannelRequest): ChannelRequest => ({
  ...DEFAULTS[request.channel],
  ...request,
});

/** The fields that messages of a complete channel carry. */
export function messageFields(channel: ChannelRequest): StreamKey {
  const { updateMs, ...others } = channel;
  // The exchange leaves the pace out of a book that has none.
  return channel.channel === "orderbook" && updateMs === 0 ? others : channel;
}

/** The name of the stream that a message or a complete channel belongs to. */
export const nameOf = ({ channel, symbol, depth, updateMs, interval, priceType }: StreamKey): string =>
  [channel, symbol, depth, updateMs || undefined, interval, priceType].filter((field) => field !== undefined).join(" ");

/** Whether a request to end subscriptions names a complete channel. A field that it leaves out matches any value. */
export const isNamedBy = (channel: ChannelRequest, request: ChannelRequest): boolean =>
  Object.entries(request).every(([field, value]) => channel[field as keyof ChannelRequest] === value);
