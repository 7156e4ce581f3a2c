import { signal } from "@preact/signals";
import type { PerpdClient } from "../../client/client.ts";
import type { PerpdError } from "../../client/error.ts";
import type { Stream } from "../../client/stream.ts";
import { matches, type StreamKey } from "../../client/subscriptions.ts";
import type { ChannelMessage, ChannelRequest } from "../../client/types.ts";
import { noteServerTime } from "./clock.ts";
import { paintNext } from "./frame.ts";

const SEQUENCE_PACE_MS = 250;
const PING_EVERY_MS = 4_000;
const CHECK_EVERY_MS = 500;
const ASK_AGAIN_MS = 1_000;
/** After a refusal that will probably not pass. A page may be open for days. */
const REFUSED_AGAIN_MS = 5_000;
/** The exchange answers pings at once: a longer silence means that prices on the page may be old. */
const STALE_AFTER_MS = 9_000;

/** Of the last ping. Null before the first. */
export const roundTripMs = signal<number | null>(null);
/** The exchange's sequence up to which the page knows it. */
export const lastSequence = signal(0);
let newestSequence = 0;

function showSequence(): void {
  lastSequence.value = newestSequence;
}

/** Shares the WebSocket with others, and hears of its own channels only. */
export interface Subscriber {
  readonly channels: readonly ChannelRequest[];
  onMessage(message: ChannelMessage): void;
  /** The quiet stream is in step. */
  onHeartbeat(stream: StreamKey): void;
  /** A message of the stream was lost. A snapshot follows. */
  onGap(stream: StreamKey): void;
  /** Something has come over the connection, of any channel. */
  onAlive(): void;
  /** Nothing has come for too long. */
  onSilence(): void;
  onDisconnect(): void;
  /** The exchange has refused the channels, or the connection. Those who stay are tried again. */
  onError(error: PerpdError): void;
}

/** The WebSocket of a client. Its subscribers come and go without another handshake. */
export class SharedStream {
  private static readonly byClient = new Map<PerpdClient, SharedStream>();
  private current: Stream;
  private readonly client: PerpdClient;
  private readonly subscribers = new Set<Subscriber>();
  private readonly timer: number;
  private reopenTimer = 0;
  private lastAliveAt = performance.now();
  private nextPingAt = 0;
  private isPinging = false;

  /** Connects at once, without waiting for the first subscriber. */
  static of(client: PerpdClient): SharedStream {
    let shared = SharedStream.byClient.get(client);
    if (shared === undefined) {
      shared = new SharedStream(client);
      SharedStream.byClient.set(client, shared);
    }
    return shared;
  }

  private constructor(client: PerpdClient) {
    this.client = client;
    this.current = this.open();
    this.timer = window.setInterval(() => this.check(), CHECK_EVERY_MS);
  }

  get stream(): Stream {
    return this.current;
  }

  private open(): Stream {
    return this.client.stream(
      [],
      {
        onMessage: (message) => {
          if (message.sequence > newestSequence) newestSequence = message.sequence;
          paintNext(showSequence, SEQUENCE_PACE_MS);
          for (const subscriber of this.subscribersOf(message)) subscriber.onMessage(message);
          this.alive();
        },
        onHeartbeat: (stream) => {
          for (const subscriber of this.subscribersOf(stream)) subscriber.onHeartbeat(stream);
          this.alive();
        },
        onGap: (stream) => {
          for (const subscriber of this.subscribersOf(stream)) subscriber.onGap(stream);
        },
        onDisconnect: () => {
          this.nextPingAt = 0;
          for (const subscriber of this.subscribers) subscriber.onDisconnect();
        },
        onError: (error) => {
          for (const subscriber of [...this.subscribers]) subscriber.onError(error);
          // An account has signed out by now.
          const isUsed = SharedStream.byClient.get(this.client) === this;
          if (isUsed) this.reopenTimer = window.setTimeout(() => this.reopen(), REFUSED_AGAIN_MS);
        },
      },
      { deadAfterMs: 12_000 },
    );
  }

  private reopen(): void {
    this.current = this.open();
    for (const subscriber of this.subscribers) this.subscribe(subscriber);
  }

  add(subscriber: Subscriber): void {
    this.subscribers.add(subscriber);
    this.subscribe(subscriber);
  }

  /** The last one closes the connection. */
  remove(subscriber: Subscriber): void {
    if (!this.subscribers.delete(subscriber)) return;
    if (this.subscribers.size > 0) return this.unsubscribe(subscriber.channels);
    SharedStream.byClient.delete(this.client);
    clearInterval(this.timer);
    clearTimeout(this.reopenTimer);
    this.stream.close();
  }

  private subscribersOf(stream: StreamKey): Subscriber[] {
    return [...this.subscribers].filter(({ channels }) => channels.some((channel) => matches(channel, stream)));
  }

  /** Asks again after a refusal, as long as the subscriber stays. */
  private subscribe(subscriber: Subscriber): void {
    const { stream } = this;
    const isCurrent = (): boolean => this.subscribers.has(subscriber) && stream === this.stream;
    stream.subscribe(subscriber.channels).catch((error: PerpdError) => {
      if (!isCurrent()) return;
      if (!error.retryable) subscriber.onError(error);
      const again = (): void => {
        if (isCurrent()) this.subscribe(subscriber);
      };
      setTimeout(again, error.retryable ? ASK_AGAIN_MS : REFUSED_AGAIN_MS);
    });
  }

  /** From those of the channels that no subscriber has any more. */
  private unsubscribe(channels: readonly ChannelRequest[]): void {
    const ended = channels.filter((channel) => this.subscribersOf(channel).length === 0);
    if (ended.length === 0) return;
    this.stream.unsubscribe(ended).catch((error: PerpdError) => {
      if (error.retryable) setTimeout(() => this.unsubscribe(ended), ASK_AGAIN_MS);
    });
  }

  private alive(): void {
    this.lastAliveAt = performance.now();
    for (const subscriber of this.subscribers) subscriber.onAlive();
  }

  private check(): void {
    const now = performance.now();
    if (now - this.lastAliveAt > STALE_AFTER_MS) for (const subscriber of this.subscribers) subscriber.onSilence();
    if (this.isPinging || now < this.nextPingAt) return;
    this.isPinging = true;
    this.stream
      .ping()
      .then((serverTime) => {
        const roundTrip = performance.now() - now;
        roundTripMs.value = roundTrip;
        noteServerTime(serverTime, roundTrip);
        this.alive();
        this.nextPingAt = performance.now() + PING_EVERY_MS;
      })
      .catch(() => {})
      .finally(() => {
        this.isPinging = false;
      });
  }
}
