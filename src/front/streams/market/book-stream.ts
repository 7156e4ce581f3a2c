import { BUY, SELL, type Side } from "../../../core/base/enums.ts";
import type { TimeMs } from "../../../core/base/units.ts";
import type { SymbolMarket } from "../../exchange/symbol-market.ts";
import { bookChecksum, type LevelText, levelsJson } from "../../json/market-json.ts";
import type { Pace } from "../base/pace.ts";
import { ReplayBuffer } from "../base/replay-buffer.ts";
import { type Publish, Stream, type Subscriber } from "../base/stream.ts";

/**
 * The best levels of an order book. A delta is the difference between the last published levels and the current ones. A
 * client that applies all deltas has exactly the best `depth` levels. A level that falls below this depth is removed like
 * an empty one.
 */
export class BookStream extends Stream {
  private readonly market: SymbolMarket;
  private readonly depth: number;
  private readonly pace: Pace;
  private bids: LevelText[];
  private asks: LevelText[];
  /** The book's sequence at the last comparison. The stream's sequence is older when all changes were deeper in the book. */
  private comparedSequence: number;
  /** The time of the book's last change, at the last comparison. */
  private comparedTime: TimeMs;
  /** The printed snapshot, shared by subscribers that come at once. Null until one is needed. */
  private snapshot: Buffer | null = null;

  constructor(topic: string, market: SymbolMarket, depth: number, pace: Pace, publish: Publish) {
    const head = `"channel":"orderbook","symbol":"${market.instrument.symbol}","depth":${depth}`;
    super(topic, head + pace.field, market.bookSequence, publish, new ReplayBuffer());
    this.market = market;
    this.depth = depth;
    this.pace = pace;
    this.bids = market.levels(BUY, depth);
    this.asks = market.levels(SELL, depth);
    this.comparedSequence = market.bookSequence;
    this.comparedTime = market.bookTime;
  }

  /** A new subscriber gets the levels published last, so that it does not speed up the stream for the others. */
  override subscribe(subscriber: Subscriber, resume: number | null): void {
    this.flush();
    const missed = resume === null ? null : this.messagesAfter(resume);
    if (missed !== null) return this.resume(subscriber, missed);
    this.snapshot ??= Buffer.from(this.snapshotText(this.body(levelsJson(this.bids), levelsJson(this.asks))));
    this.sendPrintedSnapshot(subscriber, this.snapshot);
  }

  override flush(): void {
    if (this.comparedSequence !== this.market.bookSequence && this.pace.take()) this.publishChanges();
  }

  private publishChanges(): void {
    this.comparedSequence = this.market.bookSequence;
    this.comparedTime = this.market.bookTime;
    this.snapshot = null;
    const bids = this.market.levels(BUY, this.depth);
    const asks = this.market.levels(SELL, this.depth);
    const bidChanges = difference(this.bids, bids, BUY);
    const askChanges = difference(this.asks, asks, SELL);
    this.bids = bids;
    this.asks = asks;
    if (bidChanges !== "" || askChanges !== "")
      this.publishUpdate("DELTA", this.comparedSequence, this.body(`[${bidChanges}]`, `[${askChanges}]`));
  }

  private body(bids: string, asks: string): string {
    const checksum = bookChecksum(this.bids, this.asks);
    return `"checksum":${checksum},"time":${this.comparedTime},"bids":${bids},"asks":${asks}`;
  }
}

/** The levels that are new, changed or (quantity "0") removed, best first. Both arguments have the best level first. */
function difference(before: readonly LevelText[], after: readonly LevelText[], side: Side): string {
  let changes = "";
  let old = 0;
  let now = 0;
  while (old < before.length || now < after.length) {
    const was = before[old];
    const is = after[now];
    if (was?.tick === is?.tick) {
      if (was.lots !== is.lots) changes += `,${is.json}`;
      old++;
      now++;
    } else if (was === undefined || (is !== undefined && (side === BUY ? is.tick > was.tick : is.tick < was.tick))) {
      changes += `,${is.json}`;
      now++;
    } else {
      changes += `,["${was.price}","0"]`;
      old++;
    }
  }
  return changes.slice(1);
}
