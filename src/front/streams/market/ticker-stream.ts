import type { TimeMs } from "../../../core/base/units.ts";
import type { SymbolMarket } from "../../exchange/symbol-market.ts";
import { type Publish, Stream, type Subscriber } from "../base/stream.ts";

/** A symbol's ticker: whole in a snapshot, and whole again at most once in `updateMs` when something in it has moved. */
export class TickerStream extends Stream {
  private readonly market: SymbolMarket;
  private readonly updateMs: number;
  private readonly now: () => TimeMs;
  private readonly monotonic: () => number;
  private shown: Buffer;
  private shownAt: number;

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
    this.shownAt = monotonic();
    this.shown = market.tickerJson(now());
  }

  /** At the stream's pace: whoever joins sees what the others were last shown. */
  override subscribe(member: Subscriber): void {
    this.flush();
    this.sendSnapshot(member, `"data":${this.shown}`);
  }

  override flush(): void {
    if (this.monotonic() - this.shownAt >= this.updateMs) this.publishTicker();
  }

  private publishTicker(): void {
    const ticker = this.market.tickerJson(this.now());
    if (ticker === this.shown || ticker.equals(this.shown)) return;
    this.shown = ticker;
    this.shownAt = this.monotonic();
    this.publishUpdate("UPDATE", this.market.sequence, `"data":${ticker}`);
  }
}
