import { computed, signal } from "@preact/signals";
import { PerpdClient } from "../../client/client.ts";
import type { PerpdError } from "../../client/error.ts";
import type { Stream, StreamKey } from "../../client/stream.ts";
import type { ChannelMessage, ChannelRequest } from "../../client/types.ts";
import { noteServerTime } from "./clock.ts";
import { paintNext } from "./frame.ts";

/** The connections to the exchange that served the page, and whether what the page shows is up to date. */

export const BASE_URL = `${location.origin}/v1`;

/** For what everybody may read. */
export const publicClient = new PerpdClient({ baseUrl: BASE_URL });

export type Link = "CONNECTING" | "OPEN" | "LOST";

const SEQUENCE_PACE_MS = 250;
const PING_EVERY_MS = 4_000;
const PING_AGAIN_MS = 500;
/** The exchange answers pings at once: a longer silence means that prices on the page may be old. */
const STALE_AFTER_MS = 9_000;

interface FeedOptions {
  /** Orders do not wait for it: a chart may load, and fail, beside them. */
  isAuxiliary?: boolean;
  /** The quiet stream is in step. */
  onHeartbeat?(stream: StreamKey): void;
  /** A message of the stream was lost. A snapshot follows. */
  onGap?(stream: StreamKey): void;
  onDisconnect?(): void;
  /** The feed has ended. */
  onError?(error: PerpdError): void;
}

/** The first margin calls wait until each symbol has answered. One that is being rebuilt must not stop the others. */
const isNeeded = ({ channel }: { channel: string }): boolean => channel !== "margin-calls";

/** Subscriptions over one WebSocket, with the state of its connection. */
export class Feed {
  readonly link = signal<Link>("CONNECTING");
  readonly stream: Stream;
  readonly isAuxiliary: boolean;
  private readonly timer: number;
  private lastAliveAt = performance.now();
  private nextPingAt = 0;
  private isPinging = false;
  /** The streams that this connection has brought up to date. */
  private readonly inStep = new Set<string>();
  private readonly needed: number;

  constructor(
    client: PerpdClient,
    channels: ChannelRequest[],
    onMessage: (message: ChannelMessage) => void,
    options: FeedOptions = {},
  ) {
    this.isAuxiliary = options.isAuxiliary === true;
    this.needed = channels.filter(isNeeded).length;
    this.stream = client.stream(
      channels,
      {
        onMessage: (message) => {
          if (message.sequence > newestSequence) newestSequence = message.sequence;
          paintNext(showSequence, SEQUENCE_PACE_MS);
          onMessage(message);
          this.heard(message);
        },
        onHeartbeat: (stream) => {
          options.onHeartbeat?.(stream);
          this.heard(stream);
        },
        onGap: (stream) => options.onGap?.(stream),
        onDisconnect: () => {
          this.lose();
          options.onDisconnect?.();
        },
        onError: (error) => {
          this.lose();
          options.onError?.(error);
        },
      },
      { deadAfterMs: 12_000 },
    );
    this.timer = window.setInterval(() => this.check(), PING_AGAIN_MS);
    feeds.value = [...feeds.peek(), this];
  }

  /** Asks for a new snapshot of the stream that the message belongs to. */
  resync(message: ChannelMessage): void {
    this.stream.resync(message);
  }

  close(): void {
    clearInterval(this.timer);
    feeds.value = feeds.peek().filter((feed) => feed !== this);
    this.stream.close();
  }

  private lose(): void {
    this.link.value = "LOST";
    this.inStep.clear();
    this.nextPingAt = 0;
  }

  private heard(stream: StreamKey): void {
    if (isNeeded(stream)) this.inStep.add([stream.channel, stream.symbol, stream.interval, stream.priceType].join(" "));
    this.alive();
  }

  /** Open only once each stream has sent what was missed: until then, the page shows what was before. */
  private alive(): void {
    this.lastAliveAt = performance.now();
    if (this.inStep.size >= this.needed) this.link.value = "OPEN";
  }

  private check(): void {
    const now = performance.now();
    if (now - this.lastAliveAt > STALE_AFTER_MS) this.link.value = "LOST";
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

const feeds = signal<readonly Feed[]>([]);
let newestSequence = 0;

/** Of the last ping. Null before the first. */
export const roundTripMs = signal<number | null>(null);
/** The exchange's sequence up to which the page knows it. */
export const lastSequence = signal(0);

const WORST: readonly Link[] = ["LOST", "CONNECTING", "OPEN"];
const worstOf = (links: readonly Link[]): Link => WORST.find((each) => links.includes(each)) ?? "CONNECTING";

/** Whether each connection that orders need is open and heard from. */
export const tradingLink = computed(() =>
  worstOf(feeds.value.filter(({ isAuxiliary }) => !isAuxiliary).map((feed) => feed.link.value)),
);
/** The same of all that the page shows, for display: it follows a little later, so that a short change does not flicker. */
export const link = signal<Link>("CONNECTING");
export const isLive = computed(() => link.value === "OPEN");

function showSequence(): void {
  lastSequence.value = newestSequence;
}

function update(): void {
  const isLost = feeds.peek().some((feed) => feed.link.peek() === "LOST");
  link.value = isLost ? "LOST" : tradingLink.peek();
}

setInterval(update, 250);
addEventListener("offline", () => {
  for (const feed of feeds.peek()) feed.link.value = "LOST";
  update();
});
