import { computed, signal } from "@preact/signals";
import { PerpdClient } from "../../client/client.ts";
import type { PerpdError } from "../../client/error.ts";
import type { Stream } from "../../client/stream.ts";
import type { StreamKey } from "../../client/subscriptions.ts";
import type { ChannelMessage, ChannelRequest } from "../../client/types.ts";
import { SharedStream, type Subscriber } from "./shared-stream.ts";

/** The feeds of the page from the exchange that served it, and whether what it shows is up to date. */

export const BASE_URL = `${location.origin}/v1`;

/** For what everybody may read. */
export const publicClient = new PerpdClient({ baseUrl: BASE_URL });

export type Link = "CONNECTING" | "OPEN" | "LOST";

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

/** Some channels, and whether all of them are up to date. The feeds of a client share its WebSocket. */
export class Feed implements Subscriber {
  readonly link = signal<Link>("CONNECTING");
  readonly channels: readonly ChannelRequest[];
  readonly isAuxiliary: boolean;
  private readonly receive: (message: ChannelMessage) => void;
  private readonly options: FeedOptions;
  private readonly shared: SharedStream;
  /** The streams that this connection has brought up to date. */
  private readonly inStep = new Set<string>();
  private readonly needed: number;

  constructor(
    client: PerpdClient,
    channels: readonly ChannelRequest[],
    receive: (message: ChannelMessage) => void,
    options: FeedOptions = {},
  ) {
    this.channels = channels;
    this.receive = receive;
    this.options = options;
    this.isAuxiliary = options.isAuxiliary === true;
    this.needed = channels.filter(isNeeded).length;
    this.shared = SharedStream.of(client);
    this.shared.add(this);
    feeds.value = [...feeds.peek(), this];
  }

  get stream(): Stream {
    return this.shared.stream;
  }

  close(): void {
    feeds.value = feeds.peek().filter((feed) => feed !== this);
    this.shared.remove(this);
  }

  onMessage(message: ChannelMessage): void {
    this.receive(message);
    this.heard(message);
  }

  onHeartbeat(stream: StreamKey): void {
    this.options.onHeartbeat?.(stream);
    this.heard(stream);
  }

  onGap(stream: StreamKey): void {
    this.options.onGap?.(stream);
  }

  /** Open only once each stream has sent what was missed: until then, the page shows what was before. */
  onAlive(): void {
    if (this.inStep.size >= this.needed) this.link.value = "OPEN";
  }

  onSilence(): void {
    this.link.value = "LOST";
  }

  onDisconnect(): void {
    this.lose();
    this.options.onDisconnect?.();
  }

  onError(error: PerpdError): void {
    this.lose();
    this.options.onError?.(error);
  }

  private lose(): void {
    this.link.value = "LOST";
    this.inStep.clear();
  }

  private heard(stream: StreamKey): void {
    if (isNeeded(stream)) this.inStep.add([stream.channel, stream.symbol, stream.interval, stream.priceType].join(" "));
  }
}

const feeds = signal<readonly Feed[]>([]);

const WORST: readonly Link[] = ["LOST", "CONNECTING", "OPEN"];
const worstOf = (links: readonly Link[]): Link => WORST.find((each) => links.includes(each)) ?? "CONNECTING";

/** Whether each connection that orders need is open and heard from. */
export const tradingLink = computed(() =>
  worstOf(feeds.value.filter(({ isAuxiliary }) => !isAuxiliary).map((feed) => feed.link.value)),
);
/** The same of all that the page shows, for display: it follows a little later, so that a short change does not flicker. */
export const link = signal<Link>("CONNECTING");
export const isLive = computed(() => link.value === "OPEN");

function update(): void {
  const isLost = feeds.peek().some((feed) => feed.link.peek() === "LOST");
  link.value = isLost ? "LOST" : tradingLink.peek();
}

setInterval(update, 250);
addEventListener("offline", () => {
  for (const feed of feeds.peek()) feed.link.value = "LOST";
  update();
});
