import type { TimeMs } from "../../../core/base/units.ts";
import type { SymbolMarket } from "../../exchange/symbol-market.ts";
import { type Publish, Stream, type Subscriber } from "../base/stream.ts";

/** A symbol's whole ticker, published when one of its values has changed, at most once in `updateMs`. */
export class TickerStream extends Stream {
  private readonly market: SymbolMarket;
  private readonly updateMs: number;
  private readonly now: () => TimeMs;
  private readonly monotonic: () => number;
  private published: Buffer;
  private publishedAt: number;

  constructor(
    topic: string,
    market: SymbolMarket,
    updateMs: number,
    publish: Publish,
    now: () => TimeMs,
    monotonic: () => number,
  ) {
    const head = `"channel":"ticker","symbol":"${market.instrument.symbol}","updateMs":${updateMs}`;
    super(topic, head, market.sequence, publish);
    this.market = market;
    this.updateMs = updateMs;
    this.now = now;
    this.monotonic = monotonic;
    this.publishedAt = monotonic();
    this.published = market.tickerJson(now());
  }

  /** A new subscriber gets the ticker published last, so that it does not speed up the stream for the others. */
  override subscribe(subscriber: Subscriber): void {
    this.flush();
    this.sendSnapshot(subscriber, `"data":${this.published}`);
  }

  override flush(): void {
    if (this.monotonic() - this.publishedAt >= this.updateMs) this.publishTicker();
  }

  private publishTicker(): void {
    const ticker = this.market.tickerJson(this.now());
    if (ticker === this.published || ticker.equals(this.published)) return;
    this.published = ticker;
    this.publishedAt = this.monotonic();
    this.publishUpdate("UPDATE", this.market.sequence, `"data":${ticker}`);
  }
}
