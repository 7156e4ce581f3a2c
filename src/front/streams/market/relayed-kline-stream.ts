import type { Interval, PriceType } from "../../../core/market-data/candles.ts";
import type { Instrument } from "../../../core/protocol/instrument.ts";
import { type Publish, Stream, type Subscriber } from "../base/stream.ts";

/** The candles that a stream shows. */
export interface KlineTopic {
  readonly instrument: Instrument;
  readonly interval: Interval;
  readonly priceType: PriceType;
}

/** A message of the channel `klines`. */
export interface KlineMessage {
  readonly type: "SNAPSHOT" | "UPDATE";
  readonly sequence: number;
  readonly time: number;
  readonly data: readonly object[];
}

/** The candles of a process that has the history. */
export interface KlineSource {
  /** Calls `receive` with each message of the stream, first a snapshot. One may come again. Returns a function that ends it. */
  open(topic: KlineTopic, receive: (message: KlineMessage) => void): () => void;
}

/** Candles that another process makes: one connection for all subscribers here. */
export class RelayedKlineStream extends Stream {
  /** The fields of a snapshot; null = none has come yet. */
  private snapshot: string | null = null;

  constructor(topic: string, head: string, publish: Publish) {
    super(topic, head, 0, publish);
  }

  override subscribe(subscriber: Subscriber): void {
    this.awaitSnapshot(subscriber);
    if (this.snapshot !== null) this.sendAwaitedSnapshots(this.snapshot);
  }

  override flush(): void {}

  receive({ type, sequence, time, data }: KlineMessage): void {
    this.snapshot = bodyOf(time, data.slice(-1));
    if (type === "UPDATE") return this.publishUpdate("UPDATE", sequence, bodyOf(time, data));
    this.sequence = sequence;
    // After a gap everybody needs it.
    for (const subscriber of this.subscribers) this.awaitingSnapshot.add(subscriber);
    this.sendAwaitedSnapshots(this.snapshot);
  }
}

const bodyOf = (time: number, candles: readonly object[]): string =>
  `"time":${time},"data":[${candles.map((candle) => JSON.stringify(candle)).join(",")}]`;
