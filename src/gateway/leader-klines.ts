import { PerpdClient } from "../client/client.ts";
import type { Stream } from "../client/stream.ts";
import type { KlineMessage, KlineSource, KlineTopic } from "../front/streams/market/relayed-kline-stream.ts";
import type { Upstreams } from "./upstreams.ts";

const RETRY_MS = 1_000;

interface Feed {
  readonly topic: KlineTopic;
  readonly receive: (message: KlineMessage) => void;
  stream: Stream;
}

/** Candles need the history. So each stream of them that has subscribers here has one connection to the leader. */
export class LeaderKlines implements KlineSource {
  private readonly upstreams: Upstreams;
  private readonly feeds = new Set<Feed>();

  constructor(upstreams: Upstreams) {
    this.upstreams = upstreams;
  }

  open(topic: KlineTopic, receive: (message: KlineMessage) => void): () => void {
    const feed: Feed = { topic, receive, stream: this.connect(topic, receive, () => this.reconnectLater(feed)) };
    this.feeds.add(feed);
    return () => {
      this.feeds.delete(feed);
      feed.stream.close();
    };
  }

  /** The earlier leader may hang with its connections open. */
  leaderChanged(): void {
    for (const feed of this.feeds) this.reconnect(feed);
  }

  private reconnect(feed: Feed): void {
    if (!this.feeds.has(feed)) return;
    feed.stream.close();
    feed.stream = this.connect(feed.topic, feed.receive, () => this.reconnectLater(feed));
  }

  private reconnectLater(feed: Feed): void {
    setTimeout(() => this.reconnect(feed), RETRY_MS);
  }

  private connect(
    { instrument: { symbol }, interval, priceType }: KlineTopic,
    receive: (message: KlineMessage) => void,
    onError: () => void,
  ): Stream {
    const client = new PerpdClient({ baseUrl: this.upstreams.baseUrls });
    return client.stream([{ channel: "klines", symbol, interval, priceType }], {
      onError,
      onMessage: (message) => receive(message as unknown as KlineMessage),
    });
  }
}
