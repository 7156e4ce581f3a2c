import type { SymbolMarket } from "../../exchange/symbol-market.ts";
import { type Publish, Stream, type Subscriber } from "../base/stream.ts";

interface RowStreamOptions {
  /** The first fields of every message: see Stream. */
  readonly head: string;
  /** One symbol, whose row is the data, or several, whose rows are a list. */
  readonly markets: SymbolMarket | readonly SymbolMarket[];
  /** At most one message in so many ms. */
  readonly updateMs: number;
  /** A symbol's row as JSON text. It is cached, so that asking often is cheap. */
  readonly rowOf: (market: SymbolMarket) => Buffer;
  readonly publish: Publish;
  readonly monotonic: () => number;
}

interface Row {
  readonly market: SymbolMarket;
  /** As published last. */
  text: Buffer;
}

/** A row of each symbol, such as its ticker: all in the snapshot, then those that have changed. */
export class RowStream extends Stream {
  private readonly options: RowStreamOptions;
  private readonly isList: boolean;
  private readonly rows: readonly Row[];
  private publishedAt: number;

  constructor(topic: string, options: RowStreamOptions) {
    const { head, rowOf, publish, monotonic } = options;
    const markets = [options.markets].flat() as readonly SymbolMarket[];
    super(topic, head, latestSequence(markets), publish);
    this.options = options;
    this.isList = Array.isArray(options.markets);
    this.rows = markets.map((market) => ({ market, text: rowOf(market) }));
    this.publishedAt = monotonic();
  }

  /** A new subscriber gets the rows published last, so that it does not speed up the stream for the others. */
  override subscribe(subscriber: Subscriber): void {
    this.flush();
    this.sendSnapshot(subscriber, this.body(this.rows));
  }

  override flush(): void {
    const { monotonic, updateMs, rowOf } = this.options;
    const now = monotonic();
    if (now - this.publishedAt < updateMs) return;
    const changed = this.rows.filter((row) => {
      const text = rowOf(row.market);
      if (text === row.text || text.equals(row.text)) return false;
      row.text = text;
      return true;
    });
    if (changed.length === 0) return;
    this.publishedAt = now;
    const sequence = latestSequence(changed.map(({ market }) => market));
    this.publishUpdate("UPDATE", Math.max(this.sequence, sequence), this.body(changed));
  }

  private body(rows: readonly Row[]): string {
    const texts = rows.map(({ text }) => text).join(",");
    return this.isList ? `"data":[${texts}]` : `"data":${texts}`;
  }
}

const latestSequence = (markets: readonly SymbolMarket[]): number =>
  Math.max(0, ...markets.map(({ sequence }) => sequence));
