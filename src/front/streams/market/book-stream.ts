import { BUY, SELL, type Side } from "../../../core/base/enums.ts";
import type { TimeMs } from "../../../core/base/units.ts";
import type { SymbolMarket } from "../../exchange/symbol-market.ts";
import { bookChecksum, type LevelText, levelsJson } from "../../json/market-json.ts";
import { ReplayBuffer } from "../base/replay-buffer.ts";
import { type Publish, Stream, type Subscriber } from "../base/stream.ts";

/**
 * The best levels of a book: a delta is the difference between what members were last shown and what is there now, so
 * whoever applies them holds exactly the best `depth` levels. A level that another one pushed out is removed like one
 * that emptied.
 */
export class BookStream extends Stream {
  private readonly market: SymbolMarket;
  private readonly depth: number;
  private readonly updateMs: number;
  private readonly monotonic: () => number;
  private bids: LevelText[];
  private asks: LevelText[];
  /** The book's sequence when it was last looked at; the stream's own is older when all changes lay deeper. */
  private seenSequence: number;
  /** When the book had changed last when it was last looked at. */
  private seenTime: TimeMs;
  private shownAt = 0;
  /** What a new member is sent, once somebody has asked for it: when many come at once, all get the same. */
  private snapshot: Buffer | null = null;

  /** At most one delta in `updateMs`; 0 = with every change. */
  constructor(
    topic: string,
    market: SymbolMarket,
    depth: number,
    updateMs: number,
    publish: Publish,
    monotonic: () => number,
  ) {
    const pace = updateMs === 0 ? "" : `,"updateMs":${updateMs}`;
    const head = `"channel":"orderbook","symbol":"${market.instrument.symbol}","depth":${depth}`;
    super(topic, head + pace, market.bookSequence, publish, new ReplayBuffer());
    this.market = market;
    this.depth = depth;
    this.updateMs = updateMs;
    this.monotonic = monotonic;
    this.bids = market.levels(BUY, depth);
    this.asks = market.levels(SELL, depth);
    this.seenSequence = market.bookSequence;
    this.seenTime = market.bookTime;
  }

  /** At the stream's pace: whoever joins sees what the others were last shown. */
  override subscribe(member: Subscriber, resume: number | null): void {
    this.flush();
    const missed = resume === null ? null : this.messagesAfter(resume);
    if (missed !== null) return this.resume(member, missed);
    this.snapshot ??= Buffer.from(this.snapshotText(this.body(levelsJson(this.bids), levelsJson(this.asks))));
    this.sendPrintedSnapshot(member, this.snapshot);
  }

  override flush(): void {
    if (this.seenSequence === this.market.bookSequence) return;
    if (this.updateMs > 0) {
      const now = this.monotonic();
      if (now - this.shownAt < this.updateMs) return;
      this.shownAt = now;
    }
    this.publishChanges();
  }

  /** Brings the members to the book as it is. */
  private publishChanges(): void {
    this.seenSequence = this.market.bookSequence;
    this.seenTime = this.market.bookTime;
    this.snapshot = null;
    const bids = this.market.levels(BUY, this.depth);
    const asks = this.market.levels(SELL, this.depth);
    const bidChanges = difference(this.bids, bids, BUY);
    const requestChanges = difference(this.asks, asks, SELL);
    this.bids = bids;
    this.asks = asks;
    if (bidChanges !== "" || requestChanges !== "")
      this.publishUpdate("DELTA", this.seenSequence, this.body(`[${bidChanges}]`, `[${requestChanges}]`));
  }

  private body(bids: string, asks: string): string {
    const checksum = bookChecksum(this.bids, this.asks);
    return `"checksum":${checksum},"time":${this.seenTime},"bids":${bids},"asks":${asks}`;
  }
}

/** Two rows of levels, best first, to the levels that are new, other or (quantity "0") gone; best first. */
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
