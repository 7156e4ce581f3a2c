import type { PublicTrade } from "../../../core/market-data/public-trades.ts";
import type { Instrument } from "../../../core/protocol/instrument.ts";
import { publicTradeJson } from "../../json/market-json.ts";
import { type Publish, Stream, type Subscriber } from "../base/stream.ts";

const SNAPSHOT_TRADES = 100;

/** The trades of a symbol that a stream publishes. */
export interface TradeSource {
  readonly channel: "trades" | "liquidations";
  readonly instrument: Instrument;
  /** The newest trades, at most `limit`, newest first. */
  recent(limit: number): PublicTrade[];
}

/** Public trades of a symbol, oldest first: the last hundred in the snapshot, then each new one. */
export class TradeStream extends Stream {
  private readonly source: TradeSource;
  /** Printed, but not published yet. */
  private pending: string[] = [];
  private pendingSequence = 0;

  constructor(topic: string, source: TradeSource, publish: Publish) {
    const [last] = source.recent(1);
    super(topic, `"channel":"${source.channel}","symbol":"${source.instrument.symbol}"`, last?.sequence ?? 0, publish);
    this.source = source;
  }

  override subscribe(subscriber: Subscriber, resume: number | null): void {
    this.flush();
    const missed = resume === null ? null : this.messagesAfter(resume);
    if (missed !== null) return this.resume(subscriber, missed);
    this.sendSnapshot(subscriber, this.body(this.source.recent(SNAPSHOT_TRADES)));
  }

  add(trade: PublicTrade): void {
    this.pending.push(publicTradeJson(this.source.instrument, trade));
    this.pendingSequence = trade.sequence;
  }

  /** One message with all missed trades. The market keeps trades even without subscribers. */
  protected override messagesAfter(sequence: number): string[] | null {
    if (sequence >= this.sequence) return super.messagesAfter(sequence);
    const known = this.source.recent(Number.POSITIVE_INFINITY);
    const count = known.findIndex((trade) => trade.sequence <= sequence);
    if (count < 0) return null;
    return [this.messageText("UPDATE", this.sequence, sequence, this.body(known.slice(0, count)))];
  }

  private body(newestFirst: PublicTrade[]): string {
    const texts = newestFirst.map((trade) => publicTradeJson(this.source.instrument, trade));
    return `"data":[${texts.reverse().join(",")}]`;
  }

  override flush(): void {
    if (this.pending.length === 0) return;
    const data = this.pending.join(",");
    this.pending = [];
    this.publishUpdate("UPDATE", this.pendingSequence, `"data":[${data}]`);
  }
}
