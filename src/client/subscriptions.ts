import type { ChannelMessage, ChannelRequest } from "./types.ts";

/** The fields that identify a stream within a connection. */
export interface StreamKey {
  channel: ChannelMessage["channel"];
  symbol?: string | undefined;
  depth?: number | undefined;
  updateMs?: number | undefined;
  interval?: string | undefined;
  priceType?: string | undefined;
}

/** Sent on a quiet stream: repeats the last sequence. */
export interface Heartbeat extends StreamKey {
  type: "HEARTBEAT";
  sequence: number;
}

interface Progress {
  readonly key: StreamKey;
  /** Null while a snapshot is pending. */
  lastSequence: number | null;
}

/** The channels of a connection, and how far each of their streams has been received. */
export class Subscriptions {
  /** Once the exchange has answered: with the defaults that it filled in, as messages name them. */
  private channels: ChannelRequest[];
  /** By stream. Absent before the first message. */
  private readonly progress = new Map<string, Progress>();

  constructor(channels: readonly ChannelRequest[]) {
    this.channels = [...channels];
  }

  /** Messages of a subscription before, which are still on the way, are dropped. */
  add(channels: readonly ChannelRequest[]): void {
    this.channels.push(...channels);
    for (const request of channels)
      for (const [name, progress] of this.of(request))
        if (request.resume === undefined) progress.lastSequence = null;
        // The program goes on from there.
        else this.progress.delete(name);
  }

  /** The exchange has refused these. */
  takeBack(channels: readonly ChannelRequest[]): void {
    this.channels = this.channels.filter((each) => !channels.includes(each));
  }

  /** A field that is left out matches any value. */
  remove(channels: readonly ChannelRequest[]): void {
    this.channels = this.channels.filter((each) => !channels.some((request) => matches(request, each)));
    for (const request of channels) for (const [, progress] of this.of(request)) progress.lastSequence = null;
  }

  /** Names the channels of a request as the exchange has answered it. Those that were given up meanwhile stay so. */
  rename(requested: readonly ChannelRequest[], answered: readonly ChannelRequest[]): void {
    const isInOrder =
      requested.length === answered.length &&
      requested.every((request, i) => matches(request, answered[i] as StreamKey));
    const nameOf = (request: ChannelRequest): ChannelRequest => {
      const at = requested.indexOf(request);
      if (at < 0) return request;
      if (isInOrder) return answered[at] as ChannelRequest;
      const candidates = answered.filter((each) => matches(request, each));
      if (candidates.length === 1) return candidates[0] as ChannelRequest;
      // Its name is not certain, so a new connection brings a snapshot.
      const { resume: _, ...unnamed } = request;
      return unnamed;
    };
    const named = this.channels.map(nameOf);
    this.channels = [...new Map(named.map((each) => [streamName(each), each])).values()];
  }

  /** A snapshot of the stream was requested: messages before it are dropped. */
  awaitSnapshot(key: StreamKey): void {
    this.progress.set(streamName(key), { key: keyOf(key), lastSequence: null });
  }

  /** All channels, each with the sequence from which a new connection goes on. */
  withResumePoints(): ChannelRequest[] {
    return this.channels.map((request) => {
      const sequence = this.progress.get(streamName(request))?.lastSequence ?? null;
      return sequence === null ? request : { ...request, resume: sequence };
    });
  }

  /**
   * Where a message stands in its stream. NEXT: to be delivered. DROP: its subscription has ended, or has not sent its
   * snapshot yet. GAP: a message before this one was lost.
   */
  receive(message: ChannelMessage | Heartbeat): "NEXT" | "DROP" | "GAP" {
    const name = streamName(message);
    const progress = this.progress.get(name);
    const isFirst = progress === undefined || message.type === "SNAPSHOT";
    if (isFirst && !this.channels.some((request) => matches(request, message))) return "DROP";
    // A first message that is no snapshot continues from the program's own `resume`.
    if (!isFirst) {
      const { lastSequence } = progress;
      if (lastSequence === null) return "DROP";
      if (lastSequence !== (message.type === "HEARTBEAT" ? message.sequence : message.prevSequence)) return "GAP";
    }
    if (message.type === "HEARTBEAT") return "NEXT";
    if (progress === undefined) this.progress.set(name, { key: keyOf(message), lastSequence: message.sequence });
    else progress.lastSequence = message.sequence;
    return "NEXT";
  }

  /** The streams that have begun and that a request names. */
  private of(request: ChannelRequest): [string, Progress][] {
    return [...this.progress].filter(([, { key }]) => matches(request, key));
  }
}

export const keyOf = ({ channel, symbol, depth, updateMs, interval, priceType }: StreamKey): StreamKey => ({
  channel,
  symbol,
  depth,
  updateMs,
  interval,
  priceType,
});

/** The exchange leaves `updateMs` out of a book that has none. */
const streamName = ({ channel, symbol, depth, updateMs, interval, priceType }: StreamKey): string =>
  [channel, symbol, depth, updateMs || undefined, interval, priceType].join(" ");

/** Whether a request names the stream. A field that the request leaves out matches any value. */
export const matches = (request: ChannelRequest, key: StreamKey): boolean =>
  request.channel === key.channel &&
  (request.symbol ?? key.symbol) === key.symbol &&
  (request.depth ?? key.depth) === key.depth &&
  (request.updateMs ?? key.updateMs ?? 0) === (key.updateMs ?? 0) &&
  (request.interval ?? key.interval) === key.interval &&
  (request.priceType ?? key.priceType) === key.priceType;
