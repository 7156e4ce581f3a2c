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

/** A channel that was requested. One that was requested again has two entries until the exchange has answered. */
export interface Entry {
  /** Complete, and with the point to resume from. */
  readonly request: ChannelRequest;
  readonly name: string;
  isAnswered: boolean;
}

/** Requests name what the exchange would fill in. So each has the name of its stream before there is an answer. */
const DEFAULTS: Readonly<Partial<Record<ChannelRequest["channel"], Partial<ChannelRequest>>>> = {
  orderbook: { depth: 100, updateMs: 0 },
  ticker: { updateMs: 1000 },
  tickers: { updateMs: 1000 },
  klines: { priceType: "LAST" },
};

/** The channels of a connection, and how far each of their streams has been received. */
export class Subscriptions {
  private entries: Entry[] = [];
  /** The last sequence of each stream that is subscribed to, by its name. Null while its snapshot is pending. */
  private readonly lastSequences = new Map<string, number | null>();
  /** Names of streams that need a snapshot after the one of their subscription, once that is accepted. */
  private readonly postponed = new Set<string>();

  constructor(channels: readonly ChannelRequest[]) {
    this.add(channels);
  }

  /** Returns the entries that are to be requested. A stream that goes on already is not interrupted. */
  add(channels: readonly ChannelRequest[]): Entry[] {
    return channels.map((channel) => {
      const { resume, ...request } = { ...DEFAULTS[channel.channel], ...channel };
      const name = streamName(request);
      const last = this.lastSequences.get(name) ?? null;
      if (last === null) this.lastSequences.set(name, resume ?? null);
      const from = last === null && resume !== undefined ? { resume } : {};
      return this.push({ ...request, ...from }, name);
    });
  }

  private push(request: ChannelRequest, name: string): Entry {
    const entry = { request, name, isAnswered: false };
    this.entries.push(entry);
    return entry;
  }

  /** The exchange has accepted these. One entry of each stream stays, beside those that may still be refused. */
  accept(accepted: readonly Entry[]): void {
    for (const entry of accepted) entry.isAnswered = true;
    const names = new Set<string>();
    this.entries = this.entries.filter(({ name, isAnswered }) => {
      const isAgain = isAnswered && names.has(name);
      if (isAnswered) names.add(name);
      return !isAgain;
    });
  }

  /** The exchange has refused these. */
  takeBack(refused: readonly Entry[]): void {
    this.keep((entry) => !refused.includes(entry));
  }

  /** A field that is left out matches any value. */
  remove(channels: readonly ChannelRequest[]): void {
    this.keep(({ request }) => !channels.some((channel) => matches(channel, request)));
  }

  private keep(isKept: (entry: Entry) => boolean): void {
    this.entries = this.entries.filter(isKept);
    const names = new Set(this.entries.map(({ name }) => name));
    for (const name of [...this.lastSequences.keys()]) if (!names.has(name)) this.forget(name);
  }

  /**
   * A snapshot of the stream is wanted: messages before it are dropped. Returns whether it is to be requested now. A stream that
   * the exchange has not accepted yet may be refused, and must not begin after all: its request is postponed.
   */
  awaitSnapshot(key: StreamKey): boolean {
    const name = streamName(key);
    if (!this.lastSequences.has(name)) return false;
    this.lastSequences.set(name, null);
    if (this.isAccepted(name)) return true;
    this.postponed.add(name);
    return false;
  }

  /** Call it after accept(). Returns whether the request for a snapshot was postponed, and is still needed. */
  takePostponed({ name, request }: Entry): boolean {
    return this.postponed.delete(name) && this.lacksSnapshot(request);
  }

  /** Whether an accepted stream still has no snapshot. */
  lacksSnapshot(key: StreamKey): boolean {
    const name = streamName(key);
    return this.lastSequences.get(name) === null && this.isAccepted(name);
  }

  private isAccepted(wanted: string): boolean {
    return this.entries.some(({ name, isAnswered }) => isAnswered && name === wanted);
  }

  private forget(name: string): void {
    this.lastSequences.delete(name);
    this.postponed.delete(name);
  }

  /** For a new connection: one entry of each stream, with the sequence from which it goes on. */
  renew(): Entry[] {
    const requests = new Map(this.entries.map(({ name, request }) => [name, request]));
    this.entries = [];
    this.postponed.clear();
    return [...requests].map(([name, { resume: _, ...request }]) => {
      const resume = this.lastSequences.get(name) ?? null;
      return this.push(resume === null ? request : { ...request, resume }, name);
    });
  }

  /**
   * Where a message stands in its stream. NEXT: to be delivered. DROP: the stream is not subscribed to, or has not sent its
   * snapshot yet. GAP: a message before this one was lost.
   */
  receive(message: ChannelMessage | Heartbeat): "NEXT" | "DROP" | "GAP" {
    const name = streamName(message);
    const last = this.lastSequences.get(name);
    if (last === undefined) return "DROP";
    if (message.type !== "SNAPSHOT") {
      if (last === null) return "DROP";
      if (last !== (message.type === "HEARTBEAT" ? message.sequence : message.prevSequence)) return "GAP";
    }
    this.lastSequences.set(name, message.sequence);
    return "NEXT";
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

/** The exchange leaves an `updateMs` of 0 out. */
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
