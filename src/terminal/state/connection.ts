import { computed, signal } from "@preact/signals";
import { PerpdClient } from "../../client/client.ts";
import type { PerpdError } from "../../client/error.ts";
import type { Stream } from "../../client/stream.ts";
import type { ChannelMessage, ChannelRequest } from "../../client/types.ts";

/** The connections to the exchange that served the page, and whether what the page shows is up to date. */

export const BASE_URL = `${location.origin}/v1`;

/** For what everybody may read. */
export const publicClient = new PerpdClient({ baseUrl: BASE_URL });

export type Link = "CONNECTING" | "OPEN" | "LOST";

const PING_EVERY_MS = 4_000;
const PING_AGAIN_MS = 500;
/** The exchange answers pings at once: a longer silence means that prices on the page may be old. */
const STALE_AFTER_MS = 9_000;

/** Subscriptions over one WebSocket, with the state of its connection. */
export class Feed {
  readonly link = signal<Link>("CONNECTING");
  readonly stream: Stream;
  private readonly timer: number;
  private lastAliveAt = performance.now();
  private nextPingAt = 0;
  private isPinging = false;

  constructor(
    client: PerpdClient,
    channels: ChannelRequest[],
    onMessage: (message: ChannelMessage) => void,
    onError: (error: PerpdError) => void = () => {},
  ) {
    this.stream = client.stream(
      channels,
      {
        onMessage: (message) => {
          this.alive();
          if (message.sequence > newestSequence) newestSequence = message.sequence;
          onMessage(message);
        },
        onDisconnect: () => {
          this.link.value = "LOST";
          this.nextPingAt = 0;
        },
        onError: (error) => {
          this.link.value = "LOST";
          onError(error);
        },
      },
      { deadAfterMs: 12_000 },
    );
    this.timer = window.setInterval(() => this.check(), PING_AGAIN_MS);
    feeds.add(this);
  }

  /** Asks for a new snapshot of the stream that the message belongs to. */
  resync(message: ChannelMessage): void {
    this.stream.resync(message);
  }

  close(): void {
    clearInterval(this.timer);
    feeds.delete(this);
    this.stream.close();
  }

  private alive(): void {
    this.lastAliveAt = performance.now();
    this.link.value = "OPEN";
  }

  private check(): void {
    const now = performance.now();
    if (now - this.lastAliveAt > STALE_AFTER_MS) this.link.value = "LOST";
    if (this.isPinging || now < this.nextPingAt) return;
    this.isPinging = true;
    this.stream
      .ping()
      .then(() => {
        roundTripMs.value = performance.now() - now;
        this.alive();
        this.nextPingAt = performance.now() + PING_EVERY_MS;
      })
      .catch(() => {})
      .finally(() => {
        this.isPinging = false;
      });
  }
}

const feeds = new Set<Feed>();
let newestSequence = 0;

/** Of the last ping. Null before the first. */
export const roundTripMs = signal<number | null>(null);
/** The exchange's sequence up to which the page knows it. */
export const lastSequence = signal(0);
/** Whether each connection that the page needs is open and heard from. */
export const link = signal<Link>("CONNECTING");
export const isLive = computed(() => link.value === "OPEN");

const WORST: readonly Link[] = ["LOST", "CONNECTING", "OPEN"];

function update(): void {
  lastSequence.value = newestSequence;
  const links = [...feeds].map((feed) => feed.link.peek());
  link.value = WORST.find((each) => links.includes(each)) ?? "CONNECTING";
}

setInterval(update, 250);
addEventListener("offline", () => {
  for (const feed of feeds) feed.link.value = "LOST";
  update();
});
