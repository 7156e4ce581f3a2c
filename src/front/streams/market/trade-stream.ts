import type { PublicTrade } from "../../../core/market-data/public-trades.ts";
import type { Instrument } from "../../../core/protocol/instrument.ts";
import { publicTradeJson } from "../../json/market-json.ts";
import { type Publish, Stream, type Subscriber } from "../base/stream.ts";

const SNAPSHOT_TRADES = 100;

/** Which trades of a symbol a stream shows. */
export interface TradeSource {
  readonly channel: "trades" | "liquidations";
  readonly instrument: Instrument;
  /** At most `limit`, newest first. */
  recent(limit: number): PublicTrade[];
}

/** Public trades of a symbol, oldest first: the last hundred in a snapshot, then each. */
export class TradeStream extends Stream {
  private readonly source: TradeSource;
  /** Printed and not yet published. */
  private pending: string[] = [];
  private pendingSequence = 0;

  constructor(topic: string, source: TradeSource, publish: Publish) {
    const [last] = source.recent(1);
    super(topic, `"channel":"${source.channel}","symbol":"${source.instrument.symbol}"`, last?.sequence ?? 0, publish);
    this.source = source;
  }

  override subscribe(member: Subscriber, resume: number | null): void {
    this.flush();
    const missed = resume === null ? null : this.messagesAfter(resume);
    if (missed !== null) return this.resume(member, missed);
    this.sendSnapshot(member, this.body(this.source.recent(SNAPSHOT_TRADES)));
  }

  add(trade: PublicTrade): void {
    this.pending.push(publicTradeJson(this.source.instrument, trade));
    this.pendingSequence = trade.sequence;
  }

  /** In one message. Trades are remembered anyway, also before anybody listened. */
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
